"""What the report names beside its figures: the machine, and the versions of everything that was measured."""
import contextlib
import os
import pathlib
import platform
import re
import subprocess

PROGRAMS = {"Go": ["go", "version"], "GHC": ["ghc", "--numeric-version"], "GCC": ["g++", "--version"],
            "clang": ["clang++-19", "--version"], "Open MPI": ["mpirun.openmpi", "--version"],
            "MPICH": ["mpichversion"], "redis-server": ["redis-server", "--version"], "Rust": ["rustc", "--version"]}
PACKAGES = {"Boost": "libboost-dev", "Boost.Fiber": "libboost-fiber-dev", "CAF": "libcaf-dev", "oneTBB": "libtbb-dev",
            "OpenBLAS": "libopenblas-dev", "hpcc": "hpcc", "libitm": "libitm1", "libc": "libc6"}


def said(command):
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
    yield from dict(jars(build)).items()
