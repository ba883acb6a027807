"""What the study of transactions says of its pictures, asked of today's rows; and its question, answered with them."""
from report.rows import Asked
from report.studies import Claim, Published, Study

SIZES = {"stm-si": {"increments": 10_000_000}, "stm-ll": {"keys": 256, "lookups": 0, "operations": 100_000}}
METRICS = {"stm-si": "seconds", "stm-ll": "ns_per_operation"}
FLAGS = {"off": "-C1000", "V0": "-V0", "C0": "-C0"}  # of GHC, without time slices
SLACK = 0.03  # nearer than that is no difference
CONSTANT = 1.25


def rows_by_threads(rows, table, metric, system, variant):
    """Of the study's size."""
    found = {n: rows.find(Asked(table, metric, system, variant, {"threads": n} | SIZES[table]))[0]
             for n in [1, 2, 4, 8, 16, 32]}
    return {n: row for n, row in found.items() if row}


def series(rows, table, metric, system, variant):
    """By the number of threads, the medians."""
    return {n: row["median"] for n, row in rows_by_threads(rows, table, metric, system, variant).items()}


def short(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def said(values):
    return ", ".join(f"{n}: {short(value)}" for n, value in sorted(values.items()))


def never_beats_one(system, variant):
    def ask(rows):
        seconds = series(rows, "stm-si", "seconds", system, variant)
        if len(seconds) < 2 or 1 not in seconds:
            return None, "not measured"
        return min(seconds.values()) >= (1 - SLACK) * seconds[1], f"seconds by threads: {said(seconds)}"
    return ask


def nearly_constant(table, system, variant):
    def ask(rows):
        values = series(rows, table, METRICS[table], system, variant)
        if len(values) < 2:
            return None, "not measured"
        several = [value for n, value in values.items() if n > 1]
        return max(values.values()) <= CONSTANT * min(values.values()), \
            f"by threads: {said(values)}; from 2 threads on the most is {max(several) / min(several):.2f} of the least"
    return ask


def aborts_fall(system, variant):
    def ask(rows):
        found = rows_by_threads(rows, "stm-si", "aborts_per_commit", system, variant)
        if 8 not in found or max(found) == 8:
            return None, "not measured"
        before, after = found[8], found[max(found)]
        text = f"aborts a commit, by threads: {said({n: row['median'] for n, row in found.items()})}"
        if before["min"] <= after["max"] and after["min"] <= before["max"]:
            return None, f"{text}; the ranges of 8 and {max(found)} threads overlap"
        return after["median"] < before["median"], text
    return ask


def configurations(system, flag=""):
    """The study's four: variant -> in words."""
    without = f"no slices{f' ({FLAGS[flag]})' if flag else ''}"
    names = {"ghc": ["two", f"two_{flag}", "one", f"one_{flag}"], "shunt": ["sliced", "off", "sliced_one", "off_one"]}
    return dict(zip(names[system], ["slices, all cores", f"{without}, all cores", "slices, one core",
                                    f"{without}, one core"]))


def extreme(table, system, flag, wanted, which, at):
    """Whether the `wanted`th of the four configurations is the best (least time) or the worst one (`which`: min or max)
    at every number of threads from 2 on that `at` names."""
    words = configurations(system, flag)
    wanted = list(words)[wanted]

    def ask(rows):
        by_name = {c: series(rows, table, METRICS[table], system, c) for c in words}
        threads = [n for n in sorted(set.intersection(*(set(v) for v in by_name.values()))) if n > 1 and at(n)]
        if not threads:
            return None, "not measured"
        found = {n: which(by_name, key=lambda c, n=n: by_name[c][n]) for n in threads}
        right = all(abs(by_name[wanted][n] / by_name[found[n]][n] - 1) <= SLACK for n in threads)
        return right, f"{'least' if which is min else 'most'} time, by threads: " + ", ".join(
            f"{n}: {words[found[n]]} ({short(by_name[found[n]][n])}; {words[wanted]} {short(by_name[wanted][n])})"
            for n in threads)
    return ask


class FourConfigurations:
    """What a number of threads takes under each of the study's four."""

    def __init__(self, rows, table, threads, system, flag):
        self.words = configurations(system, flag)
        self.times = {c: series(rows, table, METRICS[table], system, c).get(threads) for c in self.words}
        self.known = None not in self.times.values()

    def text(self, unit):
        return ", ".join(f"{short(self.times[c])} {unit} ({self.words[c]})" for c in self.words)

    def best(self):
        return min(self.times.values())

    def most_between(self, *pairs):
        """The largest ratio within the pairs of configurations, by their places among the four."""
        times = list(self.times.values())
        return max(max(times[a], times[b]) / min(times[a], times[b]) for a, b in pairs)

    def of_cores(self):
        return self.most_between((0, 2), (1, 3))

    def of_slices(self):
        return self.most_between((0, 1), (2, 3))


def by_cores_and_slices(rows, table, ghc_takes, unit):
    """One table's part of the answer, which begins with `ghc_takes`; empty where it is not recorded."""
    ghc, ours = FourConfigurations(rows, table, 2, "ghc", "off"), FourConfigurations(rows, table, 2, "shunt", "")
    adaptive = series(rows, table, METRICS[table], "shunt", "adaptive").get(2)
    if not ghc.known or not ours.known or not adaptive:
        return ""
    return (f"{ghc_takes} {ghc.text(unit)}; Shunt's fibers under the same four {ours.text(unit)}; and "
            f"Shunt as it comes {short(adaptive)} {unit}, with a scheduler that lets transactions that conflict run "
            f"one after the other. One core against all changes GHC's time up to {short(ghc.of_cores())} times and "
            f"Shunt's {short(ours.of_cores())} times, slices against none {short(ghc.of_slices())} and "
            f"{short(ours.of_slices())} times; that scheduler makes Shunt {short(ours.best() / adaptive)} times as "
            f"fast as the best of its own four, and {short(ghc.best() / adaptive)} times as fast as the best of GHC's.")


def by_aborts(rows):
    aborts = [series(rows, "stm-si", "aborts_per_commit", system, variant).get(8)
              for system, variant in [("ghc", "two"), ("ghc", "two_off"), ("shunt", "sliced"), ("shunt", "off"),
                                      ("shunt", "adaptive")]]
    if None in aborts:
        return ""
    slices, none, our_slices, our_none, adaptive = (f"{value:.2g}" for value in aborts)
    return (f"With 8 threads on the integer a commit costs GHC {slices} aborts with slices and {none} without, Shunt's "
            f"fibers {our_slices} and {our_none}, and {adaptive} as it comes.")


def what_the_scheduler_does(rows):
    """The study's question, with today's figures; empty where none are recorded."""
    return " ".join(filter(None, [
        by_cores_and_slices(rows, "stm-si", "When 2 threads add 10,000,000 times to one integer, GHC takes", "s"),
        by_cores_and_slices(rows, "stm-ll", "When 2 threads work on one sorted list, an operation of GHC takes", "ns"),
        by_aborts(rows)]))


NAMES_OF_GHC = [("GHC, slices", "ghc", "two"), *((f"GHC {flag}", "ghc", f"two_{v}") for v, flag in FLAGS.items())]
NAMES_OF_SHUNT = [("Shunt, slices", "shunt", "sliced"), ("Shunt, no slices", "shunt", "off")]
NO_SLICES = [*NAMES_OF_GHC[1:], NAMES_OF_SHUNT[1]]
EACH_FOUR = [*((f"GHC {flag}", "ghc", v) for v, flag in FLAGS.items()), ("Shunt", "shunt", "")]

TRANSACTIONS = Study(
    "transactions", "STM Haskell under GHC's scheduler", "GHC 8.6.3, stm 2.5.0", [
        Published("Figures 1 and 2", "What does the scheduler do to transactions?", "claims", "-", [], {},
                  "Intel i9-7900X, 10 cores", "30 runs, 1 to 32 threads", asks=("stm-si", "stm-ll"),
                  note="The figures are pictures; what the text says of them is asked below, of GHC and of Shunt, "
                       "whose fibers have time slices of 20 ms in the variants `sliced`, also amid transactions. The "
                       "study does not name its flag for no slices: -C0 and -V0 end a slice at each block of the "
                       "heap, -C1000 (`off`) really has none; all three are asked. The study limited cores to the "
                       "number of threads, which from 2 threads on is the same as all of this machine's two; asked "
                       "instead is one core.")],
    [*(Claim(f"One shared integer: no number of threads beats one ({name}, all cores)",
             never_beats_one(system, variant))
       for name, system, variant in [*NAMES_OF_GHC, *NAMES_OF_SHUNT, ("Shunt, adaptive", "shunt", "adaptive")]),
     *(Claim(f"One shared integer: without slices the time is nearly constant ({name})",
             nearly_constant("stm-si", system, variant)) for name, system, variant in NO_SLICES),
     *(Claim(f"One shared integer: fewest cores and no slices are best ({name})",
             extreme("stm-si", system, flag, 3, min, lambda n: True)) for name, system, flag in EACH_FOUR),
     *(Claim(f"One shared integer: aborts fall from 8 threads on ({name})", aborts_fall(system, variant))
       for name, system, variant in NAMES_OF_GHC + NAMES_OF_SHUNT),
     *(Claim(f"Sorted list: slices and all cores are best up to 8 threads ({name})",
             extreme("stm-ll", system, flag, 0, min, lambda n: n <= 8)) for name, system, flag in EACH_FOUR),
     *(Claim(f"Sorted list: slices and the fewest cores are worst ({name})",
             extreme("stm-ll", system, flag, 2, max, lambda n: True)) for name, system, flag in EACH_FOUR),
     *(Claim(f"Sorted list: without slices the time is nearly constant ({name})",
             nearly_constant("stm-ll", system, variant)) for name, system, variant in NO_SLICES)],
    what_the_scheduler_does,
    f"By medians. Nearly constant: from 1 to 32 threads at most {CONSTANT} times the least. Best, worst, beats: by "
    f"more than {SLACK:.0%}. Aborts fall: the ranges of the samples with 8 and with 32 threads do not overlap.")
