"""What the report names beside its figures: the machine, and the versions of everything that was measured."""
import contextlib
import functools
import os
import pathlib
import platform
import re
import subprocess

BENCH = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {"Go": ["go", "version"], "GHC": ["ghc", "--numeric-version"], "GCC": ["g++", "--version"],
            "clang": ["clang++-19", "--version"], "Open MPI": ["mpirun.openmpi", "--version"],
            "MPICH": ["mpichversion"], "Rust": ["rustc", "--version"]}
PACKAGES = {"Boost": "libboost-dev", "Boost.Fiber": "libboost-fiber-dev", "CAF": "libcaf-dev", "oneTBB": "libtbb-dev",
            "OpenBLAS": "libopenblas-dev", "hpcc": "hpcc", "Jellyfish": "jellyfish", "libitm": "libitm1",
            "libc": "libc6", "Redis": "redis-tools"}  # which has the server, too: redis-check-rdb

# By system of a table: the versions that it depends on. Others are built from this tree by the compiler.
OF_SYSTEM = {"go": ["Go"], "ghc": ["GHC"], "openshmem": ["Open MPI"], "mpi_rma": ["Open MPI"], "mpi": ["Open MPI"],
             "libomp": ["clang"], "tbb": ["oneTBB"], "asio": ["Boost"], "boost_context": ["Boost"],
             "boost_fiber": ["Boost.Fiber"], "boost_spsc": ["Boost"], "openblas": ["OpenBLAS"], "threads": ["libc"],
             "redis": ["Redis"], "hpcc": ["hpcc"], "libitm": ["libitm"], "java": ["Java"], "loom": ["Java"],
             "article": ["Java"], "queue": ["Java"], "pekko": ["pekko-actor-typed", "Java"], "swapcontext": ["libc"],
             "disruptor": ["disruptor", "Java"], "jctools": ["jctools-core", "Java"], "caf": ["CAF"],
             "tokio": ["tokio", "Rust"], "jellyfish": ["Jellyfish"]}
OWN = {"shunt", "ceiling", "serial"}
OF_TRANSPORT = {"mpi": ["Open MPI"], "network": ["Open MPI"]}  # likewise, of our own rows


def names_of(system, transport):
    return OF_SYSTEM.get(system, []) + (OF_TRANSPORT.get(transport, []) if system in OWN else [])


def recorded_with(kinds, build, java):
    """{(system, transport): {name: version}}: what is put into such rows when they are measured."""
    here = dict(of_rivals(build, java))
    return {kind: {name: here[name] for name in names_of(*kind) if name in here} for kind in kinds}


def said(command):
    return what_is_said(tuple(command))


@functools.cache
def what_is_said(command):
    """The first line that a program says of itself; None: it is not here."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
        lines = (done.stdout or done.stderr).splitlines()
        return lines[0].strip() if lines and done.returncode == 0 else None
    return None


def package(name):
    return said(["dpkg-query", "-W", "-f", "${Version}", name])


def from_file(path, name):
    with contextlib.suppress(OSError):
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return None


def jars(build):
    """Rivals that are Java archives, from what the build fetched."""
    with contextlib.suppress(OSError):
        for jar in sorted(pathlib.Path(build).rglob("*.jar")):
            found = re.match(r"(pekko-actor-typed|disruptor|jctools-core)[_0-9.]*-(\d[\w.]*)\.jar", jar.name)
            if found:
                yield found[1], found[2]


def tokio():
    """What the rivals' lock file names."""
    with contextlib.suppress(OSError):
        text = (BENCH / "echo" / "tokio" / "Cargo.lock").read_text(encoding="utf-8")
        found = re.search(r'name = "tokio"\nversion = "([^"]+)"', text)
        return found and found[1]
    return None


def day_of(commit):
    """When a commit was made; "unknown" of what is none."""
    found = said(["git", "-C", str(BENCH), "show", "-s", "--format=%cs", commit.removesuffix("-dirty")])
    return found if found and re.fullmatch(r"\d{4}-\d\d-\d\d", found) else "unknown"


def of_machine():
    yield "processor", from_file("/proc/cpuinfo", "model name") or platform.machine()
    yield "cores that may be used", str(len(os.sched_getaffinity(0)))
    yield "memory", from_file("/proc/meminfo", "MemTotal") or "unknown"
    yield "kernel", platform.release()
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    with contextlib.suppress(OSError):
        yield "frequency governor", pathlib.Path(governor).read_text(encoding="utf-8").strip()


def of_rivals(build, java):
    for name, command in PROGRAMS.items():
        yield name, said(command) or "not here"
    yield "Java", said([java, "-version"]) if java else "not here"
    for name, debian in PACKAGES.items():
        yield name, package(debian) or "not here"
    yield "tokio", tokio() or "not here"
    yield from dict(jars(build)).items()


class Record:
    """Where rows come from: when, how many samples, on what machine, beside which versions of the rivals."""

    def __init__(self, build, java):
        self.versions = dict(of_rivals(build, java))
        self.machine = [*of_machine(), *self.versions.items()]
        self.days = {}

    def day(self, commit):
        if commit not in self.days:
            self.days[commit] = day_of(commit)
        return self.days[commit]

    def of(self, rows):
        """In words; of no rows: that there are none."""
        if not rows:
            return "nothing recorded."
        counts = [sum(v is not None for v in row["samples"]) for row in rows]
        samples = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
        return (f"{samples} samples a row; recorded: {self.dates(rows)}; {each(map(machine_of, rows))}"
                f"{distance_of(rows)}. {self.rivals_of(rows)}")

    def dates(self, rows):
        """By commit, from the first repetition to the last."""
        by_commit = {}
        for row in rows:
            date = row["machine"].get("date") or []
            by_commit.setdefault(row.get("commit", "unknown"), []).extend([date] if isinstance(date, str) else date)
        return each(self.date(commit, sorted(dates)) for commit, dates in by_commit.items())

    def date(self, commit, dates):
        short = commit[:12] + ("-dirty" if commit.endswith("-dirty") else "")
        if not dates:
            return f"date unknown, at commit {short} (made {self.day(commit)})"
        return f"{dates[0]}{f' to {dates[-1]}' if dates[-1] != dates[0] else ''}, at commit {short}"

    def rivals_of(self, rows):
        found = {}  # of each name, the versions that its rows have; None: a row that was recorded without
        for row in rows:
            for name in names_of(row["system"], row["params"].get("transport")):
                found.setdefault(name, set()).add(row.get("versions", {}).get(name))
        rivals = any(row["system"] not in OWN for row in rows)
        if not found:
            return "Rivals are built from this tree." if rivals else "No rivals."
        whose = "rivals" if rivals else "what it runs on"
        return f"Versions of {whose}: {'; '.join(f'{name}: {self.recorded(name, found[name])}' for name in found)}."

    def recorded(self, name, versions):
        known = " and ".join(sorted(versions - {None}))
        if None not in versions:
            return known
        here = self.versions.get(name, "unknown")  # which need not be that of the rows
        unknown = f"unknown when recorded, {here} where this page was made"
        return f"{known} and {unknown}" if known else unknown


def each(texts):
    return " and ".join(sorted(dict.fromkeys(texts)))


def machine_of(row):
    machine = row["machine"]
    return f"{machine.get('cpu') or 'processor unknown'}, {machine.get('cores') or 'unknown'} cores, kernel " \
           f"{machine.get('kernel') or 'unknown'}, {machine.get('compiler') or 'compiler unknown'}"


def distance_of(rows):
    near = [d for row in rows for d in row["machine"].get("core_round_trip_ns", []) if d is not None]
    return f", {min(near):.0f} to {max(near):.0f} ns between cores" if near else ", unknown distance between cores"
