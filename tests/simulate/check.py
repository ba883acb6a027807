#!/usr/bin/env python3
"""Two ranks over shaped links: what they take, and what `shunt simulate` says that they take.

  tests/simulate/check.py [--build FOLDER] [--rates MBIT,...] [--delays MS,...] [--trains BYTES,...] [--apps NAME,...]
                          [--repeats N] [--json FILE] [--mutant costs|answer]

Run by hand, as root, with all that tests/lossy/check.py needs, and tc(8). The two hosts and the link between them are
that program's; the rate `none` is no limit. For each link `shunt calibrate` measures the line, by barriers, streams and
trains one by one. Where the first link has no limit, one point (the first application with the longest trains on that
link, without delay) is run to learn how much slower the hosts compute than the run that is recorded; it is none of
those that count, which are predicted blind. A line for each point; at the end the mean and the worst error, and
Kendall's tau of the order of the points. Goals: 10 %, 25 %, 0.9. With --mutant the model has no o_r and no G (costs),
or no R (answer; for trains of 65536 bytes): its error must be past the goals, or the program fails.
"""
import argparse
import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location("lossy", os.path.join(HERE, "../lossy/check.py"))
lossy = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lossy)

SIZES = {"histogram": ["--updates", "1000000"], "index_gather": ["--reads", "400000"],
         "topological_sort": ["--rows", "20000"]}
GOALS = {"mean": 0.10, "worst": 0.25, "tau": 0.9}
MTU = 9000
# By --mutant: what of the line the model is not told.
LEFT_OUT = {"costs": ["o_r_ns", "G_ns_a_byte"], "answer": ["R_ns"]}


def shape(hosts, network, rate, delay):
    """The way from one host to the other. TCP begins with an open window: how it opens one is no part of the model."""
    network.delay = delay / 1e3
    for host, space in hosts.spaces.items():
        words = ["ip", "netns", "exec", space, "tc", "qdisc"]
        subprocess.run([*words, "del", "dev", lossy.DEVICE, "root"], stderr=subprocess.DEVNULL, check=False)
        lossy.ip("-n", space, "link", "set", lossy.DEVICE, "mtu", str(MTU))
        peer = lossy.ADDRESSES["b" if host == "a" else "a"]
        lossy.ip("-n", space, "route", "replace", peer, "dev", lossy.DEVICE, "src", lossy.ADDRESSES[host],
                 "initcwnd", "1000", "initrwnd", "1000")
        for name, value in [("tcp_slow_start_after_idle", "0"), ("tcp_rmem", "4096 8388608 33554432"),
                            ("tcp_wmem", "4096 8388608 33554432")]:
            subprocess.check_call(["ip", "netns", "exec", space, "sysctl", "-qw", f"net.ipv4.{name}={value}"])
        if rate:
            subprocess.check_call([*words, "add", "dev", lossy.DEVICE, "root", "tbf", "rate", f"{rate}mbit",
                                   "burst", "64k", "limit", "16m"])


def over_the_link(hosts, command):
    code, text = lossy.wait(lossy.start("openmpi", hosts, command), hosts, lossy.GUARD)
    if code != 0:
        sys.exit(f"{' '.join(command)}: status {code}\n{text}\n{hosts.said(0)}{hosts.said(1)}")
    return text


def measured(hosts, shunt, app, train, repeats):
    command = [shunt, "run", app, *SIZES[app], "--pes", "2", "--transport", "mpi", "--train", str(train), "--json"]
    times = []
    for _ in range(repeats):
        line = next(l for l in over_the_link(hosts, command).splitlines() if l.startswith("{"))
        times.append(json.loads(line)["seconds"])
    return statistics.median(times)


def predicted(shunt, app, train, machine):
    done = subprocess.run([shunt, "simulate", app, *SIZES[app], "--machine", machine, "--pes", "2", "--train",
                           str(train), "--costs", "measured", "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["rows"][0]["time_ps"] / 1e12


def kendall_tau(pairs):
    """Of the order of the points, measured and predicted; pairs that differ by less than 2 % have no order."""
    kept = turned = 0
    for (a, b), (c, d) in itertools.combinations(pairs, 2):
        if abs(a - c) <= 0.02 * max(a, c):
            continue
        if (a - c) * (b - d) > 0:
            kept += 1
        else:
            turned += 1
    return (kept - turned) / max(1, kept + turned)


def describe(shunt, hosts, machine, compute):
    """Measures the line of the link as it is now, and writes the machine's description."""
    for more in (["--trains", "long"], ["--trains", "short", "--machine", machine],
                 ["--trains", "longest", "--machine", machine]):
        text = over_the_link(hosts, [shunt, "calibrate", "--rounds", "200", *more])
        text = text[text.index("{"):text.rindex("}") + 1]
        with open(machine, "w", encoding="ascii") as file:
            file.write(text)
    described = json.loads(text)
    described["compute"] = compute
    with open(machine, "w", encoding="ascii") as file:
        json.dump(described, file)
    return described["between_nodes"]


def rate_of(word):
    """In Mbit a second; 0 is none."""
    return 0 if word == "none" else int(word)


def learn_compute(hosts, network, shunt, app, train, machine, repeats):
    """The one point: how much longer these hosts compute than the run that is recorded."""
    shape(hosts, network, 0, 0)
    describe(shunt, hosts, machine, 1)
    here, there = measured(hosts, shunt, app, train, repeats), predicted(shunt, app, train, machine)
    compute = min(10, max(0.1, here / there))
    print(f"# one point: {app}, {train} bytes: measured {here:.4f} s, predicted {there:.4f} s; compute {compute:.2f}")
    return compute


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rates", default="none,100,1000", help="Mbit a second, or none")
    parser.add_argument("--delays", default="0,1,5", help="milliseconds, each way")
    parser.add_argument("--trains", default="1024,4096,16384,65536")
    parser.add_argument("--apps", default=",".join(SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", help="a line a point")
    parser.add_argument("--mutant", choices=LEFT_OUT)
    wanted = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("tests/simulate/check.py makes network namespaces: run it as root")
    shunt = os.path.abspath(os.path.join(wanted.build, "bin", "shunt"))
    hosts = lossy.Hosts()
    network = lossy.Network(hosts.spaces, 1)
    machine = hosts.path("machine.json")
    apps, trains = wanted.apps.split(","), [int(t) for t in wanted.trains.split(",")]
    rates, delays = [rate_of(r) for r in wanted.rates.split(",")], [float(d) for d in wanted.delays.split(",")]
    points, compute, learnt = [], 1, None
    if rates[0] == 0:
        compute = learn_compute(hosts, network, shunt, apps[0], trains[-1], machine, wanted.repeats)
        learnt = (0, 0.0, trains[-1], apps[0])
    print(f"{'Mbit':>5} {'ms':>4} {'train':>6} {'application':<18} {'measured':>10} {'predicted':>10} {'error':>7}")
    for rate, delay in itertools.product(rates, delays):
        shape(hosts, network, rate, delay)
        line = describe(shunt, hosts, machine, compute)
        if wanted.mutant:
            with open(machine, encoding="ascii") as file:
                described = json.load(file)
            described["between_nodes"].update({k: 0 for k in LEFT_OUT[wanted.mutant] if k in line})
            with open(machine, "w", encoding="ascii") as file:
                json.dump(described, file)
        print(f"# {rate or 'no'} Mbit, {delay:g} ms: " + ", ".join(f"{k} {v:g}" for k, v in line.items()))
        for train, app in itertools.product(trains, apps):
            if (rate, delay, train, app) == learnt:
                continue
            here, there = measured(hosts, shunt, app, train, wanted.repeats), predicted(shunt, app, train, machine)
            error = there / here - 1
            points.append((here, there))
            print(f"{rate or 'none':>5} {delay:>4g} {train:>6} {app:<18} {here:>10.4f} {there:>10.4f} {error:>+7.1%}",
                  flush=True)
            if wanted.json:
                with open(wanted.json, "a", encoding="ascii") as file:
                    file.write(json.dumps({"mbit": rate, "ms": delay, "train": train, "application": app,
                                           "measured_s": here, "predicted_s": there}) + "\n")
    errors = [abs(there / here - 1) for here, there in points]
    mean, worst, tau = statistics.mean(errors), max(errors), kendall_tau(points)
    good = mean <= GOALS["mean"] and worst <= GOALS["worst"] and tau >= GOALS["tau"]
    print(f"{len(points)} points: mean error {mean:.1%}, worst {worst:.1%}, Kendall's tau {tau:.2f}: "
          f"{'within' if good else 'past'} the goals")
    sys.exit(good if wanted.mutant else not good)


if __name__ == "__main__":
    main()
