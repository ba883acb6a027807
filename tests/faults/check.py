#!/usr/bin/env python3
"""Jobs that go wrong: each ends within bounds, says what happened in one line, and leaves no process behind.

  check.py jobs JOB [NAME LAUNCHER...]     faults in a job of fault_job.cpp: in one process, or under a launcher whose
                                           next word is the number of ranks; NAME: openmpi, mpich or shmem
  check.py files SHUNT                     graphs that cannot be read, by `shunt run triangle`
  check.py timed [--trials N] [--seed S] JOB NAME LAUNCHER...
                                           N jobs (20), each with a fault of one rank at a random moment from its main()
                                           to its end; a job states a deadline, and is measured against it
  check.py timed --one TEXT JOB NAME LAUNCHER...
                                           one such job again, as a failure printed it

But for `timed`, limits are guards against hanging, and nothing here measures time.
"""
import gzip
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

GUARD = 180.0  # seconds: hung
LINGER = 10.0  # seconds until a launcher whose job is over counts as hung
GONE = 25.0  # seconds until every process of an ended job is gone: fewer than under_shell.sh waits

failed = 0
passed = 0


def check(good, what, shown=""):
    global failed, passed
    if good:
        passed += 1
        return
    failed += 1
    print(f"FAIL {what}")
    for line in shown.splitlines():
        print(f"     | {line}")
    sys.stdout.flush()


def left_behind(marker):
    """Processes whose command line has the marker."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read()
            with open(f"/proc/{name}/stat", "rb") as file:
                state = file.read().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in words and state not in (b"Z", b"X"):
            found.append(int(name))
    return found


def is_rank(pid):
    """Whether it is a process of the job, and not of its launcher, whose command line has the marker too."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().startswith("fault_job")
    except OSError:
        return False


class Job:
    """A running job; its output is read line by line, so that a test can act amid it."""

    def __init__(self, words, marker, environment=None):
        self.marker = marker
        self.ended_at = None
        self.hung = False  # the launcher, when its job was over
        self.lines = []
        self.changed = threading.Condition()
        self.ended = False
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace", start_new_session=True, env=environment)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def await_lines(self, pattern, count):
        """The first `count` matches; fewer if the job ends, or hangs."""
        end = time.monotonic() + GUARD
        with self.changed:
            while True:
                found = [m for m in (re.search(pattern, line) for line in self.lines) if m]
                left = end - time.monotonic()
                if len(found) >= count or self.ended or left <= 0:
                    return found[:count]
                self.changed.wait(left)

    def launcher_hangs(self):
        """Open MPI 4's launcher hangs where a rank ends just as it opens its connection to it, and now and then after
        it has named the first rank that failed: it has said that the job is over, and every process of the job has
        ended."""
        with self.changed:
            if not any(re.search("PMIX ERROR: UNREACHABLE|The first process to do so was:", line)
                       for line in self.lines):
                return False
        return not any(is_rank(pid) for pid in left_behind(self.marker))

    def wait(self):
        """Exit status and text; None: it hung, and has been killed."""
        end = time.monotonic() + GUARD
        status = None
        while status is None and time.monotonic() < end:
            try:
                status = self.process.wait(1.0)
                self.ended_at = time.monotonic()
            except subprocess.TimeoutExpired:
                if not self.launcher_hangs():
                    self.ended_at = None
                    continue
                if self.ended_at is None:
                    self.ended_at = time.monotonic()  # of the job
                elif time.monotonic() - self.ended_at > LINGER:
                    self.hung = True
                    for pid in left_behind(self.marker):  # the launcher, and what it was started by
                        try:
                            os.kill(pid, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
                    status = self.process.wait()
        if status is not None:
            end = time.monotonic() + GONE
            while left_behind(self.marker) and time.monotonic() < end:
                time.sleep(0.05)
        left = left_behind(self.marker)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.reader.join()
        return status, "\n".join(self.lines), left


def expect(name, job, message, statuses=None, alike=True):
    """The job failed, said `message` and nothing else of its own, and is gone. Not alike: ranks differ in details."""
    status, text, left = job.wait()
    check(status is not None, f"{name}: hangs", text)
    check(not left, f"{name}: leaves processes behind: {left}", text)
    if status is None:
        return
    good = status != 0 if statuses is None else status in statuses
    check(good, f"{name}: exit status {status}", text)
    own = [line for line in text.splitlines() if line.startswith("fault_job: ")]
    check(len(set(own)) == 1 or not alike, f"{name}: {len(set(own))} messages, not one", text)
    check(len(own) > 0 and all(re.search(message, line) for line in own), f"{name}: not the message {message!r}", text)


def jobs(program, mpi, launcher):
    transport = "threads" if not launcher else "shmem" if mpi == "shmem" else "mpi"
    beginning = "shmem_init" if mpi == "shmem" else "MPI_Init"

    def start(kind, ranks, pes, *options, wrapped=False):
        marker = f"marker-{uuid.uuid4()}"
        words = list(launcher)
        if launcher:
            words.append(str(ranks))
        if wrapped:
            words.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ranks", "under_shell.sh"))
        words += [program, kind, "--pes", str(pes), "--transport", transport]
        words += ["--train", "1k", *options, marker]
        return Job(words, marker)

    shapes = [(2, 2), (2, 6), (4, 4)] if launcher else [(1, 2), (1, 6)]
    for ranks, pes in shapes:
        name = f"{mpi}, {ranks} ranks, {pes} PEs, "
        last = pes - 1

        status, text, left = start("good", ranks, pes).wait()
        check(status == 0 and not left, name + f"good: exit status {status}", text)
        check(text.count("ended well") == 1, name + "good: did not end well", text)

        expect(name + "handler", start("handler", ranks, pes),
               rf"PE {last}: handler .*post_office.* threw: letter 77 is on fire$")
        expect(name + "program", start("program", ranks, pes), rf"PE {last}: out of stamps$")
        expect(name + "budget", start("budget", ranks, pes, "--budget", "128k"),
               rf"PE {last}: handler .*post_office.*raise --budget")
        if last > 0:
            expect(name + "disagree", start("disagree", ranks, pes),
                   r"PEs disagree: .*(barrier\(\).*finish\(\)|finish\(\).*barrier\(\))")
            for kind in ("fewer", "more", "caught"):
                expect(name + kind, start(kind, ranks, pes),
                       r"PEs disagree: .*(barrier\(\).*at the end|at the end.*barrier\(\))")
        if not launcher:
            continue

        lost = ranks - 1
        range_of = rf"PE {last}" if pes == ranks else rf"PEs \d+\.\.{last}"
        # MPICH's launcher ends a job 20 ms after one of its own processes has gone: beneath a shell it does not see it.
        wrapped = mpi == "mpich"
        expect(name + "exit", start("exit", ranks, pes, wrapped=wrapped), rf"rank {lost} \({range_of}\) ended")
        expect(name + "exit(0)", start("exit0", ranks, pes),
               rf"rank {lost} \({range_of}\) called exit\(0\) amid the job")
        expect(name + "quick_exit", start("quick", ranks, pes),
               rf"rank {lost} \({range_of}\) called quick_exit\(\) amid the job")
        # MPICH's launcher ends the others within a millisecond, and its own status is then the 0 of the one that is
        # gone: nothing in a process can tell (docs/manual/trouble.md, Faults).
        if mpi != "mpich":
            expect(name + "_Exit(0)", start("gone", ranks, pes), rf"rank {lost} \({range_of}\) ended")

        # Nothing but time can tell: MPI is not there yet.
        start_limits = ("--deadline", "1", "--start-deadline", "8")
        expect(name + f"stopped before {beginning}", start("halt", ranks, pes, *start_limits),
               rf"^fault_job: rank {lost} \(process \d+\) is stopped; rank \d has waited in {beginning} for ",
               alike=False)
        # Open MPI's launcher may be faster, and says it in its own words; one time in ten, of Debian's 4.1.4, it prints
        # nothing at all. Then its exit status is all that there is.
        status, text, left = start("early", ranks, pes, *start_limits).wait()
        check(status not in (None, 0) and not left,
              name + f"exit(0) before {beginning}: exit status {status}, left {left}", text)
        silent = mpi != "mpich" and not text.strip()
        named = re.search(rf"^fault_job: rank {lost} has ended; rank \d has waited in {beginning} for |"
                          rf"due to process rank {lost} .*exiting improperly", text, re.MULTILINE | re.DOTALL)
        check(silent or named,
              name + f"exit(0) before {beginning}: does not name the rank", text)

        for how, said, options in ((signal.SIGKILL, "ended", ()),
                                   (signal.SIGSTOP, "silent for [12]", ("--deadline", "2"))):
            job = start("endless", ranks, pes, *options, wrapped=wrapped)
            found = job.await_lines(r"rank (\d+) process (\d+)", ranks)
            ranks_to_pids = {int(m.group(1)): int(m.group(2)) for m in found}
            check(len(ranks_to_pids) == ranks, name + f"{how.name}: not all ranks came up", "\n".join(job.lines))
            if lost in ranks_to_pids:
                os.kill(ranks_to_pids[lost], how)
            else:
                job.process.kill()
            expect(name + how.name, job, rf"rank {lost} \({range_of}\) {said}")


def files(shunt):
    with tempfile.TemporaryDirectory() as folder:
        def put(name, content):
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(content)
            return path

        good = b"0 1\n1 2\n2 0\n2 3\n"
        market = b"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 4\n2 1\n3 1\n3 2\n4 3\n"
        packed = gzip.compress(good * 1000)

        def run(path):
            return subprocess.run([shunt, "run", "triangle", "--graph", path, "--pes", "3"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                  timeout=GUARD)

        mark = b"\xef\xbb\xbf"
        for name, content in (
                ("good.txt", good), ("good.mtx", market), ("good.txt.gz", gzip.compress(good)),
                ("crlf.txt", good.replace(b"\n", b"\r\n")), ("crlf.mtx", market.replace(b"\n", b"\r\n")),
                ("bom.txt", mark + good), ("bom.mtx", mark + market),
                ("joined.txt.gz", gzip.compress(good[:6]) + gzip.compress(good[6:])),
                ("padded.txt.gz", gzip.compress(good) + bytes(512)),
                ("bomb.txt.gz", gzip.compress(good + b"# nothing\n" * 1_000_000)),
                ("header.txt", b"4 4\n" + good),
                ("bale.mtx",
                 market.replace(b"MatrixMarket", b"MasterMarket").replace(b"pattern symmetric", b"position"))):
            out = run(put(name, content))
            check(out.returncode == 0 and re.search(r"triangles +1\b", out.stdout), f"{name}: {out.returncode}",
                  out.stdout + out.stderr)

        bad = (
            ("missing.txt", None, r"missing\.txt"),
            ("empty.txt", b"", r"empty\.txt"),
            ("word.txt", b"0 1\n1 2\n2 zwei\n", r"word\.txt:3"),
            ("one_number.txt", b"# a comment\n0 1\n5\n", r"one_number\.txt:3"),
            ("negative.txt", b"0 1\n-1 2\n", r"negative\.txt:2"),
            ("large.txt", b"0 1\n1 99999999999999999999999\n", r"large\.txt:2"),
            ("binary.bin", bytes(range(256)) * 20, r"binary\.bin"),
            ("utf16.txt", good.decode().encode("utf-16"), r"utf16\.txt:1: found UTF-16"),
            ("utf16_bare.txt", good.decode().encode("utf-16-be"), r"utf16_bare\.txt:1: .*NUL"),
            ("cr.txt", good.replace(b"\n", b"\r"), r"cr\.txt:1: .*a CR within a line"),
            ("line.txt.gz", gzip.compress(b"1" * (8 << 20)), r"line\.txt\.gz:1: found a line of more than"),
            ("rubbish.txt.gz", gzip.compress(good) + b"rubbish", r"rubbish\.txt\.gz:5: .*not gzip"),
            ("rows.mtx", market.replace(b"4 4 4", b"1000000000 1000000000 4"),
             r"rows\.mtx:2: found a matrix of 1000000000"),
            ("cut.txt.gz", packed[:len(packed) // 2], r"cut\.txt\.gz"),
            ("corrupt.txt.gz", packed[:20] + bytes([packed[20] ^ 0xff]) + packed[21:], r"corrupt\.txt\.gz"),
            ("cut.mtx", market[:-4], r"cut\.mtx"),
            ("range.mtx", market.replace(b"4 3\n", b"9 3\n"), r"range\.mtx:6"),
            ("square.mtx", market.replace(b"4 4 4", b"4 5 4"), r"square\.mtx:2"),
            ("banner.mtx", market.replace(b"coordinate", b"coordinates"), r"banner\.mtx:1"),
        )
        for name, content, place in bad:
            path = os.path.join(folder, name) if content is None else put(name, content)
            out = run(path)
            text = out.stdout + out.stderr
            check(out.returncode == 2, f"{name}: exit status {out.returncode}, not 2", text)
            check(len(text.splitlines()) == 1, f"{name}: not one line", text)
            check(re.search(place, text), f"{name}: does not name {place}", text)
        # A pipe with a name is read like a file, once.
        fifo = os.path.join(folder, "fifo")
        os.mkfifo(fifo)
        writer = threading.Thread(target=lambda: open(fifo, "wb").write(good))
        writer.start()
        out = run(fifo)
        writer.join()
        check(out.returncode == 0 and re.search(r"triangles +1\b", out.stdout), "a FIFO: not read",
              out.stdout + out.stderr)
        out = run(folder)
        check(out.returncode == 2 and folder in out.stderr, "a folder: not refused by name", out.stdout + out.stderr)


# --- faults at any moment ---

# What a job states (seconds): silence, and the time to come together or to part. A rank whose fault is silence is named
# within one of them, whichever is longer, of watched time.
STATED_SILENCE = 2
STATED_START = 5
# What stands beside it in the sum: a rank says what all know 1.5 s after the rank before it, at most twice; PEs have
# 3 s to unwind; the launchers take a second or two to end processes; the rest is for a machine that does other work,
# too: watched time runs slower than the clock where processes do not get their turn.
BESIDE = 15.0
FAULTS = ("kill", "stop", "exit0", "exit1", "abort", "throw")


def shared_things():
    """Files of temporary folders and of shared memory, and segments: what a job may leave."""
    found = set()
    for folder in ("/tmp", "/dev/shm"):
        try:
            found.update(os.path.join(folder, name) for name in os.listdir(folder))
        except OSError:
            pass
    for kind in ("shm", "sem", "msg"):
        try:
            with open(f"/proc/sysvipc/{kind}", encoding="ascii") as table:
                for words in (line.split() for line in list(table)[1:]):
                    if kind != "shm" or words[6] == "0":  # attached: a running job's
                        found.add(f"{kind} {words[1]}")
        except OSError:
            pass
    return found


def timed(program, mpi, launcher, trials, seed, one):
    """Whatever happens to a rank, and whenever: the job ends in time, names the rank, and leaves nothing."""
    dice = random.Random(seed)
    environment = {**os.environ, "UNDER_SHELL_SECONDS": str(2 * STATED_START)}
    folder = ""

    def new_folder():
        """For MPI's own files: others' jobs use /tmp at the same time."""
        nonlocal folder
        folder = tempfile.mkdtemp(prefix="shunt-faults-")
        for name in ("TMPDIR", "OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_btl_vader_backing_directory"):
            environment[name] = folder


    def start(ranks, victim, fault, microseconds):
        marker = f"marker-{uuid.uuid4()}"
        inside = fault if fault in ("exit0", "exit1", "abort", "throw") else "none"
        environment["FAULT_JOB"] = f"{victim} {inside} {microseconds} 400000"
        words = [*launcher, str(ranks)]
        # MPICH's launcher ends a job as soon as one of its own processes has gone: beneath a shell the others have
        # time.
        if mpi == "mpich":
            words.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ranks", "under_shell.sh"))
        words += [program, "timed", "--pes", str(ranks), "--transport", "shmem" if mpi == "shmem" else "mpi",
                  "--train", "1k", "--deadline", str(STATED_SILENCE), "--start-deadline", str(STATED_START), marker]
        return Job(words, marker, environment)

    spans = {}  # by number of ranks: how long a job takes from a rank's main() to its end
    for number in range(trials):
        if one:
            ranks, victim, fault, microseconds = (int(w) if w.isdigit() else w for w in one.split())
        else:
            ranks = dice.choice((2, 3, 4))
            victim = dice.randrange(ranks)
            fault = dice.choice(FAULTS)
        new_folder()
        if ranks not in spans and not one:
            begun = time.monotonic()
            job = start(ranks, -1, "none", 0)
            job.await_lines(r"rank (\d+) process (\d+) at main", ranks)
            spans[ranks] = (-begun, time.monotonic() - begun)
            status, text, left = job.wait()
            spans[ranks] = time.monotonic() - begun - spans[ranks][1]
            check(status == 0 and not left, f"{mpi}, {ranks} ranks, no fault: status {status}, left {left}", text)
        if not one:
            microseconds = int(dice.uniform(0, 1.05 * spans[ranks]) * 1e6)
        name = f"{mpi}, trial {number}: {ranks} ranks, rank {victim}, {fault} after {microseconds / 1e6:.3f} s"
        again = f"again: --one '{ranks} {victim} {fault} {microseconds}'"

        before = shared_things()
        job = start(ranks, victim, fault, microseconds)
        happened = None  # when; None: it did not
        if fault in ("kill", "stop"):
            found = job.await_lines(rf"rank {victim} process (\d+) at main", 1)
            seen = time.monotonic()
            if found:
                pid = int(found[0].group(1))
                # Before it is reaped, the number is the rank's: its launcher waits for it, or a shell does.
                time.sleep(max(0.0, seen + microseconds / 1e6 - time.monotonic()))
                if is_job(pid, job.marker):
                    try:
                        os.kill(pid, signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
                        happened = time.monotonic()
                    except ProcessLookupError:
                        pass
        else:
            job.await_lines(rf"rank {victim} process (\d+) at main", 1)
            happened = time.monotonic() + microseconds / 1e6
        if fault == "stop" and happened is not None:
            # Once the others are out of MPI and have ended, none of them can name it; its launcher waits. Let it go on.
            others = [r for r in range(ranks) if r != victim]
            patience = time.monotonic() + max(STATED_SILENCE, STATED_START) + BESIDE
            while job.process.poll() is None and not job.launcher_hangs() and time.monotonic() < patience:
                text = "\n".join(job.lines)
                if all(f"rank {r} returned" in text for r in others):
                    try:
                        os.kill(pid, signal.SIGCONT)
                    except ProcessLookupError:
                        pass
                    happened = None
                    break
                time.sleep(0.05)
        status, text, left = job.wait()
        ended = job.ended_at
        shown = f"{again}\n{text}"
        check(status is not None, f"{name}: hangs", shown)
        check(not left, f"{name}: leaves processes behind: {left}", shown)
        # Another job on the machine may have made it, and will take it away.
        left_things = leftovers(before)
        patience = time.monotonic() + LINGER
        while left_things and time.monotonic() < patience:
            time.sleep(0.1)
            left_things &= leftovers(before)
        if fault in ("kill", "abort", "stop") or "while the job began or ended" in text:
            # Amid MPI_Init a rank of MPICH makes files whose names it takes away a little later. One that was killed
            # there cannot, nor can one that was stopped, or that called exit(): the launcher kills it, or it ends at
            # once, since MPI cannot be called amid MPI_Init.
            left_things = {t for t in left_things if not re.search("mpich_shar_tmp|ucx_shm_posix", t)}
        inside = [os.path.join(where, f) for where, _, files in os.walk(folder) for f in files]
        check(not left_things and (job.hung or not inside), f"{name}: leaves {sorted(left_things)} {inside[:5]}", shown)
        shutil.rmtree(folder)
        if job.hung:
            print(f"note {name}: every process of the job has ended, and its launcher hangs")
        if status is None:
            continue
        limit = max(STATED_SILENCE, STATED_START) + BESIDE
        if happened is not None and ended is not None:
            check(ended - happened <= limit, f"{name}: took {ended - happened:.1f} s, at most {limit:.0f} were stated",
                  shown)
        if status == 0:
            # Nothing had happened yet when the rank was done.
            done = len(set(re.findall(r"^rank (\d+) returned", text, re.MULTILINE)))
            check(done == ranks, f"{name}: status 0, and {done} ranks of {ranks} are done", shown)
        elif fault == "throw":
            check("out of stamps" in text, f"{name}: the exception is not shown", shown)
        else:
            # By us, or by a launcher that was faster: Open MPI's names ranks, MPICH's process numbers.
            pids = re.findall(rf"^rank {victim} process (\d+) at main", text, re.MULTILINE)
            known = [rf"rank {victim}\b(?! process \d+| returned)", rf",{victim}\]",
                     *(rf"PID {pid} RUNNING" for pid in pids),
                     # MPICH, when a rank is gone that MPI_Init needs: it ends the job itself, before any handler. UCX
                     # names the process or, in its mode for segments of System V or where it has waited in vain for
                     # the rank's answer, nothing that leads to it.
                     *(rf"open\(file_name=/proc/{pid}/fd/" for pid in pids),
                     r"shmat\(shmid=\d+\) failed: Invalid argument(?s:.*)Fatal error in internal_Init_thread",
                     r"Fatal error in internal_Init_thread(?s:.*)initial_address_exchange Endpoint timeout"]
            # Open MPI's, of a rank that has gone before it told the launcher of itself: one of the processes, unnamed.
            # No line of ours had a chance either: the rank's program had not begun.
            if not re.search(rf"^rank {victim} process \d+$", text, re.MULTILINE):
                known.append(r"Primary job  terminated normally, but 1 process returned\s+a non-zero exit code")
            # What happens to a rank that is done is its launcher's to tell; and to one that all others have outlived:
            # they return once the last collective call is over on all ranks, and then none waits for it.
            returned = f"rank {victim} returned" in text
            outlived = all(f"rank {r} returned" in text for r in range(ranks) if r != victim)
            check(returned or outlived or job.hung or any(re.search(k, text) for k in known),
                  f"{name}: does not name rank {victim}", shown)


def leftovers(before):
    """What is new, and a segment, or by its name of an MPI."""
    return {t for t in shared_things() - before
            if not t.startswith("/") or re.search(r"ompi|pmix|mpich|vader|hydra|ucx", os.path.basename(t))}


def is_job(pid, marker):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return marker.encode() in file.read()
    except OSError:
        return False


def timed_main(words):
    trials, seed, one = 20, None, None
    while words and words[0].startswith("--"):
        option, value, *words = words
        if option == "--trials":
            trials = int(value)
        elif option == "--seed":
            seed = int(value)
        elif option == "--one":
            one, trials = value, 1
        else:
            sys.exit(f"check.py timed: no option {option}")
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    program, mpi, *launcher = words
    print(f"seed {seed}")
    sys.stdout.flush()
    timed(program, mpi, launcher, trials, seed, one)


def main():
    if sys.argv[1:2] == ["timed"]:
        timed_main(sys.argv[2:])
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    what, program, *rest = sys.argv[1:]
    if what == "files":
        files(program)
    else:
        jobs(program, rest[0] if rest else "threads", rest[1:])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
