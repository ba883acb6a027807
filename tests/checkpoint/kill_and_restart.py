#!/usr/bin/env python3
"""Jobs that are killed and restarted have the answer of one that was not.

  kill_and_restart.py [--runs N] [--seed S] JOB [LAUNCHER...]

A run starts JOB (checkpoint_job.cpp), kills one of its ranks by SIGKILL at a random moment, and starts it again from
its last checkpoint: with as many PEs, and 1, 2 or 3 ranks under a launcher whose next word is their number. Without a
launcher each has one process. After one to three kills it may end, and its hash is compared with that of a job that
nothing has disturbed. One run in four stops by SIGTERM or SIGUSR2 instead, once.
"""
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

    def words(self, ranks, more):
        words = [self.job, "--pes", str(PES), "--deadline", "5", *more]
        return words if not self.launcher else [*self.launcher, str(ranks), *words]

    def start(self, number=None, after=0.0, more=()):
        """Runs the job; sends a signal after a time. Returns (status, output); status None: it was killed or hung."""
        ranks = self.dice.choice((1, 2, 3)) if self.launcher else 1
        workers = self.dice.choice((1, 2))
        self.told.append(f"{ranks} ranks of {workers} workers, signal {number} after {after:.3f} s")
        words = self.words(ranks, ["--workers", str(workers), *more])
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", start_new_session=True) as process:
            killed = False
            if number is not None:
                time.sleep(after)
                there = processes_of(self.folder)
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
        self.restored += "restored at step" in text
        if hung and not killed:
            self.told.append("hung")
        for pid in processes_of(self.folder):
            send(pid, signal.SIGKILL)
        return process.returncode, text

    def kill(self, wanted, more):
        """Jobs that are killed, so many. One that has ended before is no trial: it begins anew, killed sooner."""
        for _ in range(20):
            if self.kills == wanted:
                return
            before = self.kills
            self.start(signal.SIGKILL, self.dice.uniform(0.2, 1) * self.length, more)
            if self.kills == before:
                shutil.rmtree(self.folder + "/all", ignore_errors=True)
                self.length *= 0.7

    def run(self, wanted):
        """Returns what went wrong; empty: nothing."""
        every = self.dice.choice(("0ms", "1ms", "20ms"))
        checked = ["--checkpoint", self.folder + "/all", "--every", every, "--restart", "auto"]
        if self.dice.random() < 0.25:
            number, name = self.dice.choice(((signal.SIGTERM, "TERM"), (signal.SIGUSR2, "USR2")))
            status, text = self.start(number, self.dice.uniform(0.2, 1) * self.length,
                                      [*checked, "--checkpoint-signal", name])
            if status == 85 and "stopped by a signal, after a checkpoint" not in text:
                return "status 85 without its line"
        else:
            self.kill(self.dice.choice((1, 2, 3)), checked)
            if self.kills == 0:
                return "every job had ended before it could be killed"
        status, text = self.start(more=checked)
        hashes = re.findall(r"hash (\w+)", text)
        if status != 0 or hashes != [wanted]:
            return f"status {status}, hash {hashes}, wanted {wanted}"
        kept = [n for n in os.listdir(self.folder + "/all") if n.startswith("walk.") and "seen" not in n]
        return "" if len(kept) <= 2 else f"kept {kept}"

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
    failed = kills = restored = 0
    for n in range(runs):
        trial = Trial(job, launcher, random.Random(seed * 1000 + n), length * 1.1)
        why = trial.run(hashes[0])
        kills, restored = kills + trial.kills, restored + trial.restored
        if why:
            failed += 1
            print(f"FAIL run {n} of seed {seed}: {why}\n" + "\n".join(trial.told))
        trial.remove()
    print(f"kill_and_restart: {runs - failed} of {runs} runs have the hash {hashes[0]} of an undisturbed one "
          f"(seed {seed}): {kills} kills, {restored} jobs went on from a checkpoint")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
