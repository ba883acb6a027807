#!/usr/bin/env python3
"""Jobs that are killed and restarted have the answer of one that was not.

  kill_and_restart.py [--runs N] [--seed S] JOB [LAUNCHER...]

A run starts JOB (checkpoint_job.cpp), kills one of its ranks by SIGKILL at a random moment, and starts it again from
its last checkpoint: with as many PEs, and 1, 2 or 3 ranks under a launcher whose next word is their number. Without a
launcher each has one process. After one to three kills it may end, and its hash is compared with that of a job that
nothing has disturbed. One run in four waits for a whole generation before it kills, and one in four stops by SIGTERM or
SIGUSR2 instead, once. A job that begins where a whole generation lies must say that it goes on from it, and one that
begins where none lies must not.
"""
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GUARD = 120.0  # seconds: hung
PES = 6


def processes_of(marker):
    """The job's processes, launchers not among them: those of its program with the marker in their command line."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read()
            with open(f"/proc/{name}/comm", encoding="utf-8") as file:
                program = file.read()
            with open(f"/proc/{name}/stat", "rb") as file:
                state = file.read().rsplit(b")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in words and program.startswith("checkpoint_job") and state not in (b"Z", b"X"):
            found.append(int(name))
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Trial:
    def __init__(self, job, launcher, dice, length):
        self.job, self.launcher, self.dice, self.length = job, launcher, dice, length
        self.folder = tempfile.mkdtemp(prefix="shunt-checkpoints-")
        self.told = []  # what has been done, for a failure
        self.kills = self.restored = 0
        self.wrong = ""

    def words(self, ranks, more):
        words = [self.job, "--pes", str(PES), "--deadline", "5", *more]
        return words if not self.launcher else [*self.launcher, str(ranks), *words]

    def generations(self):
        """By number, ascending: whether its files have all PEs."""
        found = {}
        for folder in glob.glob(self.folder + "/all/walk.*/"):
            number = re.search(r"/walk\.(\d+)/$", folder)
            names = glob.glob(folder + "pes-*")  # the folder may be removed meanwhile: then it has none
            files = [re.search(r"/pes-(\d+)-(\d+)$", name) for name in names]
            if number:
                found[int(number[1])] = sum(int(f[2]) - int(f[1]) + 1 for f in files if f) == PES
        return dict(sorted(found.items()))

    def has_generation(self):
        return any(self.generations().values())

    def too_many(self):
        """The last two whole generations may be there, and after them what a kill has left unfinished."""
        there = self.generations()
        last_whole = [n for n, whole in there.items() if whole][-2:]
        return [n for n in there if last_whole and n <= last_whole[-1] and n not in last_whole]

    def start(self, number=None, after=0.0, more=(), settled=False):
        """Runs the job; sends a signal after a time, counted from the first whole generation on if `settled`. Returns
        (status, output); status None: it was killed or hung."""
        whole = self.has_generation()
        ranks = self.dice.choice((1, 2, 3)) if self.launcher else 1
        workers = self.dice.choice((1, 2))
        self.told.append(f"{ranks} ranks of {workers} workers, signal {number} after {after:.3f} s")
        words = self.words(ranks, ["--workers", str(workers), *more])
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", start_new_session=True) as process:
            killed = False
            if number is not None:
                wait_end = time.monotonic() + GUARD
                while settled and process.poll() is None and time.monotonic() < wait_end:
                    if self.has_generation():
                        break
                    time.sleep(0.002)
                time.sleep(after)
                # On a busy machine a launcher may need longer than that to start them.
                while (not (there := processes_of(self.folder)) and process.poll() is None and
                       time.monotonic() < wait_end):
                    time.sleep(0.002)
                if there:
                    send(self.dice.choice(there), number)
                    killed = number == signal.SIGKILL
                    self.kills += killed
            # A launcher may hang after the loss of a rank: its job is over when its processes are.
            end = time.monotonic() + GUARD
            while process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
                if killed and not processes_of(self.folder):
                    end = min(end, time.monotonic() + 10)
            hung = process.poll() is None
            if hung:
                for pid in processes_of(self.folder):
                    send(pid, signal.SIGKILL)
                os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
        self.told.extend("   | " + line for line in text.splitlines())
        went_on = "restored at step" in text
        self.restored += went_on
        # Before a kill there may be no time to say so.
        if went_on != whole and (went_on or not killed) and not self.wrong:
            self.wrong = f"went on from a checkpoint: {went_on}; a whole one was there: {whole}"
        if hung and not killed:
            self.told.append("hung")
        end = time.monotonic() + GUARD
        while (left := processes_of(self.folder)) and time.monotonic() < end:
            for pid in left:
                send(pid, signal.SIGKILL)
            time.sleep(0.002)
        return process.returncode, text

    def sooner(self):
        """A job that has ended before its signal is no trial: it begins anew, with a signal that comes sooner."""
        shutil.rmtree(self.folder + "/all", ignore_errors=True)
        self.length *= 0.7

    def kill(self, wanted, more, settled):
        """Jobs that are killed, so many."""
        for _ in range(20):
            if self.kills == wanted:
                return
            before = self.kills
            self.start(signal.SIGKILL, self.dice.uniform(0 if settled else 0.2, 1) * self.length, more, settled)
            if self.kills == before:
                self.sooner()

    def stop(self, more):
        """A job that a signal stops. Returns what went wrong; empty: nothing."""
        number, name = self.dice.choice(((signal.SIGTERM, "TERM"), (signal.SIGUSR2, "USR2")))
        for _ in range(20):
            status, text = self.start(number, self.dice.uniform(0, 1) * self.length,
                                      [*more, "--checkpoint-signal", name], settled=True)
            if (status == 85) != ("stopped by a signal, after a checkpoint" in text):
                return f"status {status}, and the line of a stop: {status != 85}"
            if status == 85:
                return "" if self.has_generation() else "stopped without a whole generation"
            self.sooner()
        return "every job had ended before its signal came"

    def run(self, wanted, how):
        """how: "any", killed at any time; "settled", after a whole generation; "stop", by a signal. Returns what went
        wrong; empty: nothing."""
        every = self.dice.choice(("0ms", "1ms", "20ms"))
        checked = ["--checkpoint", self.folder + "/all", "--every", every, "--restart", "auto"]
        if how == "stop":
            if why := self.stop(checked):
                return why
        else:
            self.kill(self.dice.choice((1, 2, 3)), checked, how == "settled")
            if self.kills == 0:
                return "every job had ended before it could be killed"
        status, text = self.start(more=checked)
        if self.wrong:
            return self.wrong
        if how != "any" and "restored at step" not in text:
            return "has not gone on from a checkpoint"
        hashes = re.findall(r"hash (\w+)", text)
        if status != 0 or hashes != [wanted]:
            return f"status {status}, hash {hashes}, wanted {wanted}"
        return f"kept {too_many} too many: {self.generations()}" if (too_many := self.too_many()) else ""

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    words = sys.argv[1:]
    runs, seed = 200, int.from_bytes(os.urandom(4), "little")
    while words and words[0] in ("--runs", "--seed"):
        if words[0] == "--runs":
            runs = int(words[1])
        else:
            seed = int(words[1])
        del words[:2]
    job, launcher = words[0], words[1:]
    calm = Trial(job, launcher, random.Random(seed), 0)
    begun = time.monotonic()
    status, text = calm.start(more=["--checkpoint", calm.folder + "/all", "--every", "1ms"])
    length = time.monotonic() - begun
    hashes = re.findall(r"hash (\w+)", text)
    plain = calm.start()[1]
    calm.remove()
    if status != 0 or len(hashes) != 1 or f"hash {hashes[0]}" not in plain:
        print("\n".join(calm.told) + "\nthe undisturbed job has failed")
        return 1
    failed = kills = restored = stops = 0
    for n in range(runs):
        trial = Trial(job, launcher, random.Random(seed * 1000 + n), length * 1.1)
        how = ("any", "settled", "any", "stop")[n % 4]
        why = trial.run(hashes[0], how)
        kills, restored = kills + trial.kills, restored + trial.restored
        stops += how == "stop" and not why
        if why:
            failed += 1
            print(f"FAIL run {n} of seed {seed}: {why}\n" + "\n".join(trial.told))
        trial.remove()
    print(f"kill_and_restart: {runs - failed} of {runs} runs have the hash {hashes[0]} of an undisturbed one "
          f"(seed {seed}): {kills} kills, {stops} stops, {restored} jobs went on from a checkpoint")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
