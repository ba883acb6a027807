#!/usr/bin/env python3
"""One turn of table key_value: starts a server, lets redis-benchmark ask it, and prints a line for each sample.

    drive.py SYSTEM SERVER BENCHMARK --what set|get --connections N --pipeline N --rounds REQUESTS
             [--variant one|two] [--samples N] [--warmup N]

SYSTEM: shunt (SERVER is examples/key_value.cpp, with one or two workers) or redis (SERVER is redis-server, or the same
file under another name; it keeps nothing on the disk). redis-benchmark checks no answer, only that each is one. So
before and after its run this script sends 2,002 requests at once, and compares each byte that comes back.

Exit: 0 right; 1 a wrong answer, or a server that does not serve.
"""
import argparse
import csv
import json
import socket
import subprocess
import sys
import time

WORKERS = {"one": "1", "two": "2"}
KEYS = "10000"
SECONDS = 100  # for one run of redis-benchmark


def wrong(what):
    print(f"key_value: wrong answer: {what}", file=sys.stderr)
    sys.exit(1)


def server_command(options, port):
    if options.system == "shunt":
        return [options.server, f"127.0.0.1:{port}", WORKERS[options.variant]]
    return ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def connect(port):
    """Waits until the server listens."""
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.01)
    print("key_value: the server does not listen", file=sys.stderr)
    sys.exit(1)


def encode(*words):
    return f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in words)


def check(port):
    """Many requests at once, answered in order."""
    count = 1000
    requests = b"".join(encode("SET", f"check:{i}", f"value {i}") + encode("GET", f"check:{i}") for i in range(count))
    requests += encode("GET", "check:none") + encode("DEL", *(f"check:{i}" for i in range(count // 2)))
    wanted = b"".join(b"+OK\r\n" + f"${len(str(i)) + 6}\r\nvalue {i}\r\n".encode() for i in range(count))
    wanted += b"$-1\r\n" + f":{count // 2}\r\n".encode()
    with connect(port) as peer:
        peer.sendall(requests)
        got = b""
        while len(got) < len(wanted):
            some = peer.recv(65536)
            if not some:
                break
            got += some
    if got != wanted:
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        wrong(f"{got[at:at + 20]!r} instead of {wanted[at:at + 20]!r}")


def ask(options, port):
    """Seconds that redis-benchmark took for all requests."""
    command = [options.benchmark, "-h", "127.0.0.1", "-p", port, "-t", options.what, "--csv", "-r", KEYS,
               "-P", options.pipeline, "-c", options.connections, "-n", options.rounds]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SECONDS, check=False)
    rows = [row for row in csv.reader(done.stdout.splitlines()) if row and row[0] == options.what.upper()]
    if done.returncode != 0 or len(rows) != 1:
        lines = (done.stderr + done.stdout).strip().splitlines()
        wrong(f"redis-benchmark: {lines[-1] if lines else 'nothing'}")
    return options.rounds / float(rows[0][1])


def main():
    parser = argparse.ArgumentParser()
    for name in ["system", "server", "benchmark"]:
        parser.add_argument(name)
    parser.add_argument("--what", choices=["set", "get"], required=True)
    parser.add_argument("--variant", choices=sorted(WORKERS), default="two")
    for name in ["connections", "pipeline", "rounds"]:
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=1)
    options = parser.parse_args()
    port = free_port()
    with subprocess.Popen(server_command(options, port), executable=options.server,
                          stdout=subprocess.DEVNULL) as server:
        try:
            check(port)
            for turn in range(options.warmup + options.samples):
                seconds = ask(options, port)
                if turn < options.warmup:
                    continue
                check(port)
                print(json.dumps({"seconds": seconds, "checked": True}))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
