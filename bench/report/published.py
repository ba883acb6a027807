"""What the five studies published, table by table, and which rows of today's tables stand beside it.

Transcribed from the texts; what is in pictures only is said in words, as claims. A value is a number, a pair (value,
spread), or None where the study has none.

Sources: Vostokin, "Templet", arXiv:1702.05463; Paul et al., arXiv:2107.05516; "Railways", InfoQ; "STM Haskell under
GHC's scheduler"; "Coroutines in data acquisition" (slides).
"""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Asked:
    """The row of bench.py's tables that has all parameters of a published one, and no others."""

    table: str
    metric: str
    system: str
    variant: str
    params: dict
    free: tuple = ()  # parameters that say how long a run is, not what it does


@dataclasses.dataclass(frozen=True)
class Share:
    """A hundred times the one over the other, repetition by repetition."""

    of: Asked
    base: Asked


@dataclasses.dataclass(frozen=True)
class Today:
    """Which rows of today stand beside a published table."""

    columns: list  # may name systems that the study did not have
    ask: object  # (axis value, column) -> Asked, Share, or a text: why nothing of today can stand there
    scale: object = lambda value, at: value  # to the study's unit
    more_rows: list = dataclasses.field(default_factory=list)  # axis values that the study did not have
    lines_are_systems: bool = False  # else columns are
    why: str = ""


def of(table, metric, systems, params, free=(), absent=None, **other):
    """Systems by column, (system, variant); `params`: axis value -> what the row has, or why there is none; `absent`:
    by column, why that system is not measured."""
    def ask(at, column):
        if column not in systems:
            return absent[column]
        wanted = params(at)
        return wanted if isinstance(wanted, str) else Asked(table, metric, *systems[column], wanted, free)
    return Today([*(absent or {}), *systems], ask, **other)


@dataclasses.dataclass(frozen=True)
class Published:
    name: str  # "Table 1"
    question: str
    unit: str
    axis: str
    columns: list
    rows: dict  # axis value -> values, by column
    machine: str
    how: str
    today: Today | None = None
    more_is_better: bool = False
    note: str = ""
    not_comparable: str = ""  # why no figure of another machine can be held against it


@dataclasses.dataclass(frozen=True)
class Claim:
    """What a study says of its pictures, and how today's rows are asked."""

    text: str
    ask: object  # rows -> (True, False or None: unknown; what was found)


@dataclasses.dataclass(frozen=True)
class Study:
    key: str
    title: str
    source: str
    tables: list
    claims: list = dataclasses.field(default_factory=list)


class Rows:
    """The newest row of each question, of the files that `bench --json` wrote."""

    def __init__(self, folder):
        self.by_key = {}
        for path in sorted(folder.glob("*.json")):
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                key = (row["table"], row["metric"], row["system"], row["variant"], self.text(row["params"]))
                self.by_key.pop(key, None)  # the newest is the last
                self.by_key[key] = row

    @staticmethod
    def text(params):
        return json.dumps(params, sort_keys=True)

    def all(self):
        return list(self.by_key.values())

    def find(self, asked):
        """(row, "") or (None, why there is none)."""
        if isinstance(asked, str):
            return None, asked
        if isinstance(asked, Share):
            return self.share(asked)
        same = [row for row in self.by_key.values() if (row["table"], row["metric"], row["system"], row["variant"])
                == (asked.table, asked.metric, asked.system, asked.variant)]
        for row in reversed(same):  # of runs that differ in length only, the newest
            if {k: v for k, v in row["params"].items() if k not in asked.free} == asked.params:
                return row, ""
        return None, self.why_not(asked, same)

    def why_not(self, asked, same):
        """What is missing: the parameters, the system, or the table."""
        name = " ".join(filter(None, [asked.system, asked.variant]))
        if same:
            return f"`{name}` is recorded in table `{asked.table}`, but not with {list_of(asked.params)}"
        if any(row["table"] == asked.table for row in self.by_key.values()):
            return f"no {asked.metric} of `{name}` is recorded in table `{asked.table}`"
        return f"no run of table `{asked.table}` is recorded"

    def share(self, asked):
        (of_it, why), (base, why_no_base) = self.find(asked.of), self.find(asked.base)
        if not of_it or not base:
            return None, why or why_no_base
        if of_it["machine"] != base["machine"]:
            return None, f"`{asked.of.system}` and `{asked.base.system}` are recorded in different runs"
        shares = [100 * a / b if a is not None and b else None for a, b in zip(of_it["samples"], base["samples"])]
        return of_it | {"samples": shares}, ""


def list_of(params):
    return ", ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
                     for name, value in params.items())


# --- Templet ---------------------------------------------------------------------------------------------------------

HEAT_COLUMNS = ["Java", "C++", "Akka", "Templet", "OpenMP"]
HEAT = {400: [1.79, 1.357, .8, .42, .40], 500: [3.5, 3.028, 1.2, .92, .9], 600: [6.1, 5.238, 1.8, 1.81, 1.77],
        700: [9.8, 7.37, 2.7, 3.01, 2.92], 800: [14.6, 12.46, 3.7, 4.60, 4.52], 900: [20.9, 17.73, 5.4, 6.5, 6.4],
        1000: [28.7, 21.09, 7.6, 9.0, 8.9]}
HEAT_SYSTEMS = {"Java": ("java", ""), "C++": ("serial", ""), "Akka": ("pekko", ""), "Templet": ("templet", ""),
                "OpenMP": ("openmp", "active"), "Shunt": ("shunt", ""), "Shunt, typed actors": ("shunt", "typed")}
HEAT_TODAY = of("heat", "seconds", HEAT_SYSTEMS, lambda h: {"workers": 2, "rows": h, "columns": 2 * h, "steps": 2 * h})

def templet_share(h, column):
    return Share(HEAT_TODAY.ask(h, column), HEAT_TODAY.ask(h, "Templet"))


TEMPLET = Study(
    "templet", "Templet: a language extension for parallel programs of actors", "arXiv:1702.05463", [
        Published("Table 1", "What does the heat equation cost, on two cores?", "s", "H (W = T = 2H)",
                  HEAT_COLUMNS, HEAT, "Intel i3-3220T, 2 cores", "19 runs, 90 % confidence", HEAT_TODAY,
                  note="Akka stands for Pekko, its successor, today."),
        Published("Table 2", "How long do the others take, of Templet's time? Less is faster", "%", "H (W = T = 2H)",
                  ["Akka", "OpenMP"], {400: [190, 95], 500: [130, 99], 600: [99, 98], 700: [90, 97], 800: [80, 98],
                                       900: [83, 98], 1000: [84, 99]}, "Intel i3-3220T, 2 cores", "from table 1",
                  Today(["Akka", "OpenMP", "Shunt"], templet_share),
                  note="The study calls it efficiency. Today's are medians of the ratios within a repetition."),
    ])

# --- HClib-Actor -----------------------------------------------------------------------------------------------------

TABLE_1 = {"OpenSHMEM": [35.5, None], "OpenSHMEM NBI": [4.2, 4.3], "UPC": [22.6, 23.9], "UPC NBI": [19.7, None],
           "MPI3, Open MPI": [25.8, 88.9], "MPI3, cray-mpich": [8.3, ">300"], "Charm++ TRAM": [21.3, 9.7],
           "Conveyors": [2.3, 0.5]}
HERE = " (here, 2 PEs)"
STUDY_SYSTEMS = {"OpenSHMEM": ("openshmem", "blocking"), "OpenSHMEM NBI": ("openshmem", "nbi"),
                 "MPI3, Open MPI": ("mpi_rma", ""), "Shunt": ("shunt", "lambda")}
OF_TABLE_1 = {"reads": ("index_gather", {"reads_per_pe": 2 ** 23, "table_per_pe": 100_000}),
              "updates": ("histogram", {"updates_per_pe": 2 ** 23, "table_per_pe": 1_000})}
FAR_PES = "2,048 PEs on 64 nodes are not here; lines below are the same programs with 2 PEs"
CORI = ("It is of 2,048 PEs on 64 nodes, and of two cores there are two PEs; of the study's systems UPC, Charm++ and "
        "Conveyors are in no package of Debian 12.")
SEVEN = ["histogram", "index_gather", "permute", "random perm.", "toposort", "transpose", "triangle"]


def ask_of_table_1(line, column):
    if not line.endswith(HERE):
        return FAR_PES
    table, size = OF_TABLE_1[column]
    name, variant = STUDY_SYSTEMS[line.removesuffix(HERE)]
    params = {"study": "table 1", "pes": 2} | size | ({"transport": "threads"} if name == "shunt" else {})
    if (name, column) == ("openshmem", "updates"):
        variant = ""  # updates never wait: one program stands for both ways
    return Asked(table, "seconds", name, variant, params)


SELECTORS = Study(
    "selectors", "HClib-Actor: a productive and scalable actor-based programming system for PGAS applications",
    "arXiv:2107.05516", [
        Published("Table 1", "What do 2^23 reads and 2^23 updates of each PE cost?", "s", "system",
                  ["reads", "updates"], TABLE_1, "Cori, 2,048 PEs on 64 nodes", "mean of 5",
                  Today(["reads", "updates"], ask_of_table_1, more_rows=[name + HERE for name in STUDY_SYSTEMS],
                        lines_are_systems=True),
                  note="Lines of 2 PEs are table `study`'s.",
                  not_comparable=CORI),
        Published("Table 2", "How many lines does each application take?", "lines", "system", SEVEN,
                  {"UPC": [18, 16, 37, 41, 72, 43, 43], "OpenSHMEM": [19, 17, 51, 43, 92, 50, 49],
                   "Conveyors": [30, 40, 108, 111, 148, 83, 61], "selector": [21, 25, 78, 99, 130, 69, 53]},
                  "none", "cloc", Today(SEVEN, lambda line, column: "lines are counted, not recorded: `./shunt bench "
                                     "study` prints those of today's programs", lines_are_systems=True),
                  not_comparable="No results hold counts of lines; `./shunt bench study` prints them."),
        Published("Geometric means", "What are the ratios of times, over the seven applications?", "times", "ratio",
                  ["ratio"], {"UPC / Conveyors": [27.77], "OpenSHMEM / Conveyors": [21.52], "UPC / selector": [25.59],
                              "OpenSHMEM / selector": [19.83], "selector / Conveyors": [1.09],
                              "lambda form / class form": [2.0]}, "Cori, 2,048 PEs on 64 nodes", "mean of 5",
                  Today(["ratio"], lambda line, column: "2,048 PEs are not here; `./shunt bench study` prints the "
                        "means with 2"), more_is_better=True, not_comparable=CORI),
        Published("Figure 3, a to g", "How do seven applications scale?", "s", "-", [], {},
                  "Cori, up to 2,048 PEs on 64 nodes", "mean of 5",
                  note="The figures are pictures, whose values the text does not state. Table `study` runs the sizes "
                       "of each PE: 10,000,000 updates of 1,000 entries; 10,000,000 reads of 100,000; 100,000 rows "
                       "with 10 non-zeros to permute, to transpose and to sort; 1,000,000 entries of a permutation; "
                       "10,000 rows with 35 non-zeros of the triangles' graph."),
    ])

# --- railways --------------------------------------------------------------------------------------------------------

RAIL = {"railway": ("article", ""), "Shunt": ("shunt", "two")}
RAIL_SYSTEMS = RAIL | {"Disruptor": ("disruptor", ""), "LinkedBlockingQueue": ("queue", "")}
GOODS = ("goods",)  # the article does not say how many


def rail(producers, consumers, trains):
    return lambda capacity: {"producers": producers, "consumers": consumers, "capacity": capacity, "trains": trains}


def of_seven(at):
    return dict(zip(["trains", "capacity"], map(int, at.split(" x "))), producers=1, consumers=7)


def of_one_good(trains):
    return rail(1, 1, trains)(1)


def on_rails(params, systems=None, **other):
    return of("railway", "million_per_s", systems or RAIL, params, GOODS, **other)


def a_train(capacity_of):
    """From million goods a second to ns a train, as the article has it."""
    return lambda value, at: 1e3 * capacity_of(at) / value


def rail_tables(name, question, axis, values, params, capacity_of, note=""):
    """Two tables of the same rows: `values` has the rate and the time of a train."""
    about = {"machine": "not stated", "how": "single runs"}
    rates = {at: [rate] for at, (rate, _) in values.items()}
    times = {at: [time] for at, (_, time) in values.items()}
    yield Published(name, question, "million/s", axis, ["railway"], rates, today=on_rails(params), more_is_better=True,
                    note=note, **about)
    yield Published(f"{name}: latency", "How many ns lie between two trains?", "ns", axis, ["railway"], times,
                    today=on_rails(params, scale=a_train(capacity_of)), **about,
                    note="The article calls the time of a train its latency: the goods of a train over the rate.")


ONE_TRAIN = {1: (5.190883, 192.6), 2: (10.28282, 194.5), 32: (104.878614, 305.1), 256: (344.61464, 742.9),
             2048: (608.112493, 3367.8), 32768: (767.028751, 42720.7)}
TWO_TRAINS = {1: (7.492684, 133.5), 2: (14.754786, 135.5), 32: (174.227656, 183.7), 256: (613.555475, 417.2),
              2048: (940.1449, 2178.4), 32768: (797.806764, 41072.6)}
ONE_GOOD = {2: (10.917951, 91.6), 32: (31.23331, 32.0), 256: (42.791962, 23.4), 1024: (53.220057, 18.8),
            32768: (71.812166, 13.9)}
SEVEN_CONSUMERS = {"256 x 32": (116.604397, 274.4), "32 x 256": (432.055469, 592.5)}
NO_LOOP = ("the article's loop is two objects of one thread that call each other; table `railway`'s loads and reads "
           "trains, so its figure is another one's")
THREE = {"one at a time": {"Disruptor": [11.47, 11.28, 11.29, 11.25], "LinkedBlockingQueue": [4.55, 4.51, 4.10, 4.12]},
         "one at a time, another series": {"Disruptor": [11.49, 11.05, 11.14],
                                           "LinkedBlockingQueue": [4.55, 4.65, 4.40]},
         "batches of 10": {"Disruptor": [116.0, 128.2, 101.3, 98.7]}, "trains of 3": {"railway": 162.597109}}
CAPACITY_OF_THREE = {"one at a time": 1, "batches of 10": 10, "trains of 3": 3}
COLUMNS_OF_THREE = ["railway", "Disruptor", "LinkedBlockingQueue"]


def of_three(how):
    if how not in CAPACITY_OF_THREE:
        return "today's row is that of the other series"
    return rail(3, 1, 1_024)(CAPACITY_OF_THREE[how])


def ask_of_bounds(line, column):
    if line.startswith("one thread"):
        return NO_LOOP
    if column == "loop":
        return "the loop passes no ball"
    system = {"LinkedBlockingQueue": "queue", "Shunt": "shunt"}[column]
    return Asked("pingpong", "million_per_s", system, "", {"workers": 2, "form": "strict"}, ("balls",))


RAILWAYS = Study(
    "railways", "Railways: a pattern for passing batches between threads", "InfoQ", [
        *rail_tables("One train", "How many goods a second, by capacity?", "capacity", ONE_TRAIN, rail(1, 1, 1),
                     lambda capacity: capacity),
        *rail_tables("Two trains", "The same with two trains", "capacity", TWO_TRAINS, rail(1, 1, 2),
                     lambda capacity: capacity),
        *rail_tables("Trains of one good", "The same, by the number of trains", "trains", ONE_GOOD, of_one_good,
                     lambda _: 1),
        *rail_tables("Seven consumers", "One producer, seven consumers that each see all", "trains x capacity",
                     SEVEN_CONSUMERS, of_seven, lambda at: int(at.split(" x ")[1]),
                     note="Which of the two is the capacity follows from the article's times of a train."),
        *rail_tables("The best", "One producer, one consumer: the highest rate", "capacity",
                     {2048: (1569.884271, 1300)}, lambda _: "the article does not say with how many trains",
                     lambda capacity: capacity,
                     note="The capacity follows from the time of a train, 1.3 us."),
        Published("One thread, and a queue", "What bounds it on either side?", "million/s", "what",
                  ["loop", "LinkedBlockingQueue"], {"one thread, that calls itself": [2681.850373, None],
                                                    "a ball to and fro": [None, .5]}, "not stated", "single runs",
                  Today(["loop", "LinkedBlockingQueue", "Shunt"], ask_of_bounds), True,
                  note="The ball is table `pingpong`'s, form `strict`, between 2 workers; today's count is of balls "
                       "that came back. The article does not say whether one way counts as an operation."),
        Published("Three producers", "Three producers, one consumer", "million/s", "how", COLUMNS_OF_THREE,
                  {how: [found.get(column) for column in COLUMNS_OF_THREE] for how, found in THREE.items()},
                  "not stated", "one, three and four runs, each shown",
                  on_rails(of_three, RAIL_SYSTEMS), True,
                  note="The railway's trains carry 3 goods: 162,597,109 goods in 54,199,036 trains. How many trains, "
                       "and places of a ring, there were, the article does not say: today's are 1,024."),
        Published("Three producers: latency", "How many ns lie between two trains?", "ns", "how", ["railway"],
                  {"trains of 3": [18.5]}, "not stated", "single run",
                  on_rails(of_three, scale=a_train(lambda _: 3))),
    ])

# --- transactional memory --------------------------------------------------------------------------------------------


CONFIGURATIONS = {"two": "slices, all cores", "two_off": "no slices, all cores", "one": "slices, one core",
                  "one_off": "no slices, one core"}


SIZES = {"stm-si": {"increments": 10_000_000}, "stm-ll": {"keys": 256, "lookups": 0, "operations": 100_000}}


def series(rows, table, metric, system, variant):
    """By the number of threads, the medians of rows of the study's size."""
    found = {n: rows.find(Asked(table, metric, system, variant, {"threads": n} | SIZES[table]))[0]
             for n in [1, 2, 4, 8, 16, 32]}
    return {n: row["median"] for n, row in found.items() if row}


def said(values, digits=3):
    return ", ".join(f"{n}: {value:.{digits}g}" for n, value in sorted(values.items()))


def never_beats_one(system, variant):
    def ask(rows):
        seconds = series(rows, "stm-si", "seconds", system, variant)
        if len(seconds) < 2 or 1 not in seconds:
            return None, "not measured"
        return min(seconds.values()) >= 0.97 * seconds[1], f"seconds by threads: {said(seconds)}"
    return ask


def nearly_constant(table, metric, system, variant):
    def ask(rows):
        values = series(rows, table, metric, system, variant)
        if len(values) < 2:
            return None, "not measured"
        return max(values.values()) <= 1.25 * min(values.values()), f"by threads: {said(values)}"
    return ask


def aborts_fall(system, variant):
    def ask(rows):
        values = series(rows, "stm-si", "aborts_per_commit", system, variant)
        if 8 not in values or max(values) == 8:
            return None, "not measured"
        return values[max(values)] < values[8], f"aborts a commit, by threads: {said(values)}"
    return ask


def extreme(table, metric, system, wanted, which, at):
    """Whether configuration `wanted` is the best (least time) or the worst one (`which`: min or max) at every number of
    threads from 2 on that `at` names. Within 3 % of it counts."""
    names = {"ghc": dict(zip(CONFIGURATIONS, CONFIGURATIONS)),
             "shunt": {"two": "sliced", "two_off": "off", "one": "sliced_one", "one_off": "off_one"}}[system]

    def ask(rows):
        by_name = {c: series(rows, table, metric, system, v) for c, v in names.items()}
        threads = [n for n in sorted(set.intersection(*(set(v) for v in by_name.values()))) if n > 1 and at(n)]
        if not threads:
            return None, "not measured"
        found = {n: which(by_name, key=lambda c, n=n: by_name[c][n]) for n in threads}
        right = all(abs(by_name[wanted][n] / by_name[found[n]][n] - 1) <= 0.03 for n in threads)
        return right, f"{'least' if which is min else 'most'} time, by threads: " + ", ".join(
            f"{n}: {CONFIGURATIONS[found[n]]} ({by_name[found[n]][n]:.3g}; {CONFIGURATIONS[wanted]} "
            f"{by_name[wanted][n]:.3g})" for n in threads)
    return ask


TRANSACTIONS = Study(
    "transactions", "STM Haskell under GHC's scheduler", "GHC 8.6.3, stm 2.5.0", [
        Published("Figures 1 and 2", "What does the scheduler do to transactions?", "claims", "-", [], {},
                  "Intel i9-7900X, 10 cores", "30 runs, 1 to 32 threads",
                  note="The figures are pictures; what the text says of them is asked below, of GHC and of Shunt, "
                       "whose fibers have time slices of 20 ms in the variants `sliced`, also amid transactions. The "
                       "study does not name its flag for no slices: -C0 and -V0 end a slice at each block of the "
                       "heap, -C1000 (`off`) really has none. Cores were limited to the number of threads, which on "
                       "this machine's two makes no difference; asked instead is one core.")],
    [Claim("One shared integer: no number of threads beats one (GHC, slices, all cores)",
           never_beats_one("ghc", "two")),
     Claim("The same for GHC without slices", never_beats_one("ghc", "two_off")),
     Claim("The same for Shunt, adaptive", never_beats_one("shunt", "adaptive")),
     *(Claim(f"One shared integer: without slices the time is nearly constant ({name})",
             nearly_constant("stm-si", "seconds", system, variant))
       for name, system, variant in [("GHC -C1000", "ghc", "two_off"), ("GHC -V0", "ghc", "two_V0"),
                                     ("GHC -C0", "ghc", "two_C0"), ("Shunt, `off`", "shunt", "off")]),
     *(Claim(f"One shared integer: fewest cores and no slices are best ({name})",
             extreme("stm-si", "seconds", system, "one_off", min, lambda n: True))
       for name, system in [("GHC", "ghc"), ("Shunt", "shunt")]),
     *(Claim(f"One shared integer: aborts fall from 8 threads on ({name})", aborts_fall(system, variant))
       for name, system, variant in [("GHC, slices, all cores", "ghc", "two"), ("GHC -V0", "ghc", "two_V0"),
                                     ("Shunt, `sliced`", "shunt", "sliced"), ("Shunt, `off`", "shunt", "off")]),
     *(Claim(f"Sorted list: slices and all cores are best up to 8 threads ({name})",
             extreme("stm-ll", "ns_per_operation", system, "two", min, lambda n: n <= 8))
       for name, system in [("GHC", "ghc"), ("Shunt", "shunt")]),
     *(Claim(f"Sorted list: slices and the fewest cores are worst ({name})",
             extreme("stm-ll", "ns_per_operation", system, "one", max, lambda n: True))
       for name, system in [("GHC", "ghc"), ("Shunt", "shunt")]),
     *(Claim(f"Sorted list: without slices the time is nearly constant ({name})",
             nearly_constant("stm-ll", "ns_per_operation", system, variant))
       for name, system, variant in [("GHC -C1000", "ghc", "two_off"), ("GHC -V0", "ghc", "two_V0"),
                                     ("Shunt, `off`", "shunt", "off")])])

# --- data acquisition ------------------------------------------------------------------------------------------------

SWITCHES = {100: [(12980, 540), (1900, 20), (18187, 219), (2306, 50)],
            1000: [(11420, 694), (1775, 20), (17934, 332), (2300, 27)],
            5000: [(5875, 183), (1703, 30), (12892, 339), (1554, 37)],
            10000: [(4459, 162), (1924, 235), (8307, 80), (1016, 29)],
            20000: [(3604, 93), (1863, 217), (7045, 72), (753, 28)],
            30000: [(3031, 94), (1772, 182), (6391, 94), (556, 16)],
            40000: [(2653, 87), (1606, 194), (5790, 67), (436, 12)],
            50000: [(2315, 60), (1503, 157), (5292, 122), (361, 8)]}
MEMORY = {100: [18, 130, 3.040, 34], 1000: [22, 161, 3.105, 35], 5000: [32, 187, 3.156, 37],
          10000: [37, 193, 3.308, 40], 20000: [45, 196, 3.320, 49], 30000: [49, 197, 3.350, 56],
          40000: [51, 200, 3.390, 63], 50000: [57, 202, 3.407, 72]}
FIBER_COLUMNS = ["Huawei JDK", "Loom", "Go", "threads"]
FIBER_SYSTEMS = {"Loom": ("loom", ""), "Go": ("go", ""), "threads": ("threads", "")}
NO_HUAWEI = {"Huawei JDK": "Huawei's JDK with coroutines is in no package of Debian 12"}

ACQUISITION = Study(
    "acquisition", "Coroutines in data acquisition", "slides, in Russian", [
        Published("Switches", "How many switches a second, by the number of coroutines?", "thousand/s", "coroutines",
                  FIBER_COLUMNS, SWITCHES, "Intel i7-8700", "mean and spread of 100 runs",
                  of("switch", "ns_per_switch",
                     FIBER_SYSTEMS | {"Shunt": ("shunt", ""), "Shunt, compact": ("shunt", "compact")},
                     lambda n: {"fibers": n, "order": "fifo"}, absent=NO_HUAWEI, scale=lambda ns, n: 1e6 / ns), True),
        Published("Memory", "How much memory, by the number of parked coroutines?", "MB", "coroutines",
                  FIBER_COLUMNS, MEMORY, "Intel i7-8700", "100 runs",
                  of("memory", "process_bytes",
                     FIBER_SYSTEMS | {"Shunt": ("shunt", "default"), "Shunt, compact": ("shunt", "compact")},
                     lambda n: {"fibers": n}, absent=NO_HUAWEI, scale=lambda whole, n: whole / 1e6),
                  note="The slides print Go's with a decimal comma: 3,040 is read as 3.040, though 68 bytes each "
                       "cannot be. Theirs is the whole process; what a fiber adds to it, bytes_per_fiber, is in table "
                       "`memory` below, and is no figure to be set beside these."),
        Published("Kernels", "A product of matrices, 6,000 x 7,000, and a Fourier transform", "s", "kernel",
                  ["threads", "coroutines"], {"matrix": [(45.6, 1.8), (24.0, 5.6)], "DFT": [(.0772, .0003),
                                                                                         (.0774, .0004)]},
                  "Intel Xeon 6130", "mean and spread",
                  of("matmul", "seconds", {"threads": ("threads", ""), "Shunt": ("shunt", "fibers")},
                     lambda at: {"workers": 2, "what": "tiles", "rows": 6000, "columns": 7000} if at == "matrix" else
                     "the slides do not say how long the transformed rows are; table `dft` has 4,096",
                     absent={"coroutines": "theirs are Java's of Huawei's JDK; fibers of Shunt stand for them"}),
                  note="Of `shunt` the variant `fibers`, a fiber a part, on 2 workers; the slides do not say how many "
                       "theirs were."),
    ])

STUDIES = [TEMPLET, SELECTORS, RAILWAYS, TRANSACTIONS, ACQUISITION]
