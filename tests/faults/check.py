#!/usr/bin/env python3
"""Jobs that go wrong: each ends within bounds, says what happened in one line, and leaves no process behind.

  check.py jobs JOB [NAME LAUNCHER...]     faults in a job of fault_job.cpp: in one process, or under a launcher whose
                                           next word is the number of ranks; NAME: openmpi or mpich
  check.py files SHUNT                     graphs that cannot be read, by `shunt run triangle`

Limits are guards against hanging; nothing here measures time.
"""
import gzip
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid

GUARD = 60.0  # seconds: hung
LINGER = 10.0  # seconds until every process of an ended job is gone

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


class Job:
    """A running job; its output is read line by line, so that a test can act amid it."""

    def __init__(self, words, marker):
        self.marker = marker
        self.lines = []
        self.changed = threading.Condition()
        self.ended = False
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace", start_new_session=True)
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

    def wait(self):
        """Exit status and text; None: it hung, and has been killed."""
        try:
            status = self.process.wait(GUARD)
        except subprocess.TimeoutExpired:
            status = None
        if status is not None:
            end = time.monotonic() + LINGER
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


def expect(name, job, message, statuses=None):
    """The job failed, said `message` and nothing else of its own, and is gone."""
    status, text, left = job.wait()
    check(status is not None, f"{name}: hangs", text)
    check(not left, f"{name}: leaves processes behind: {left}", text)
    if status is None:
        return
    good = status != 0 if statuses is None else status in statuses
    check(good, f"{name}: exit status {status}", text)
    own = [line for line in text.splitlines() if line.startswith("fault_job: ")]
    check(len(set(own)) == 1, f"{name}: {len(set(own))} messages, not one", text)
    check(len(own) > 0 and all(re.search(message, line) for line in own), f"{name}: not the message {message!r}", text)


def jobs(program, mpi, launcher):
    def start(kind, ranks, pes, *options, wrapped=False):
        marker = f"marker-{uuid.uuid4()}"
        words = list(launcher)
        if launcher:
            words.append(str(ranks))
        if wrapped:
            words.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ranks", "under_shell.sh"))
        words += [program, kind, "--pes", str(pes), "--transport", "mpi" if launcher else "threads"]
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
        if not launcher:
            continue

        lost = ranks - 1
        range_of = rf"PE {last}" if pes == ranks else rf"PEs \d+\.\.{last}"
        # MPICH's launcher ends a job 20 ms after one of its own processes has gone: beneath a shell it does not see it.
        wrapped = mpi == "mpich"
        expect(name + "exit", start("exit", ranks, pes, wrapped=wrapped), rf"rank {lost} \({range_of}\) ended")

        for how, said, options in ((signal.SIGKILL, "ended", ()), (signal.SIGSTOP, "silent for [12]", ("--deadline", "2"))):
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
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=GUARD)

        for name, content in (("good.txt", good), ("good.mtx", market), ("good.txt.gz", gzip.compress(good))):
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
        out = run(folder)
        check(out.returncode == 2 and folder in out.stderr, "a folder: not refused by name", out.stdout + out.stderr)


def main():
    what, program, *rest = sys.argv[1:]
    if what == "files":
        files(program)
    else:
        jobs(program, rest[0] if rest else "threads", rest[1:])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
