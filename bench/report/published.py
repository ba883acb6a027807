"""What the five studies published, table by table, and which rows of today's tables stand beside it.

Transcribed from the texts; what is in pictures only is said in words, as claims. A value is a number, a pair (value,
spread), or None where the study has none.

Sources: Vostokin, "Templet", arXiv:1702.05463; Paul et al., arXiv:2107.05516; "Railways", InfoQ; "STM Haskell under
GHC's scheduler"; "Coroutines in data acquisition" (slides).
"""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Today:
    """Which rows of bench.py's tables stand beside a published table."""

    columns: list  # may name systems that the study did not have
    find: object  # (rows, axis value, column) -> a row, or None
    scale: object = lambda value, at: value  # to the study's unit
    more_rows: list = dataclasses.field(default_factory=list)  # axis values that the study did not have
    why: str = ""  # what is missing, and why


def of(table, metric, systems, params, **other):
    """Systems by column, (system, variant); `params`: axis value -> what selects the row; None: there is none."""
    def find(rows, at, column):
        wanted = params(at)
        return rows.find(table, metric, *systems[column], wanted) if wanted and column in systems else None
    return Today(list(systems), find, **other)


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
                self.by_key[key] = row

    @staticmethod
    def text(params):
        return json.dumps(params, sort_keys=True)

    def all(self):
        return list(self.by_key.values())

    def find(self, table, metric, system, variant, wanted):
        """None: there is none. Parameters that `wanted` does not name do not matter."""
        exact = self.by_key.get((table, metric, system, variant, self.text(wanted)))
        if exact:
            return exact
        for (t, m, s, v, _), row in self.by_key.items():
            if (t, m, s, v) == (table, metric, system, variant) and wanted.items() <= row["params"].items():
                return row
        return None


# --- Templet ---------------------------------------------------------------------------------------------------------

HEAT_COLUMNS = ["Java", "C++", "Akka", "Templet", "OpenMP"]
HEAT = {400: [1.79, 1.357, .8, .42, .40], 500: [3.5, 3.028, 1.2, .92, .9], 600: [6.1, 5.238, 1.8, 1.81, 1.77],
        700: [9.8, 7.37, 2.7, 3.01, 2.92], 800: [14.6, 12.46, 3.7, 4.60, 4.52], 900: [20.9, 17.73, 5.4, 6.5, 6.4],
        1000: [28.7, 21.09, 7.6, 9.0, 8.9]}
HEAT_SYSTEMS = {"Java": ("java", ""), "C++": ("serial", ""), "Akka": ("pekko", ""), "Templet": ("templet", ""),
                "OpenMP": ("openmp", "active"), "Shunt": ("shunt", ""), "Shunt, typed actors": ("shunt", "typed")}
HEAT_TODAY = of("heat", "seconds", HEAT_SYSTEMS, lambda h: {"workers": 2, "rows": h, "columns": 2 * h, "steps": 2 * h})

TEMPLET = Study(
    "templet", "Templet: a language extension for parallel programs of actors", "arXiv:1702.05463", [
        Published("Table 1", "What does the heat equation cost, on two cores?", "s", "H (W = T = 2H)",
                  HEAT_COLUMNS, HEAT, "Intel i3-3220T, 2 cores", "19 runs, 90 % confidence", HEAT_TODAY,
                  note="Akka stands for Pekko, its successor, today."),
        Published("Table 2", "How long do the others take, of Templet's time? Less is faster", "%", "H (W = T = 2H)",
                  ["Akka", "OpenMP"], {400: [190, 95], 500: [130, 99], 600: [99, 98], 700: [90, 97], 800: [80, 98],
                                       900: [83, 98], 1000: [84, 99]}, "Intel i3-3220T, 2 cores", "from table 1",
                  note="The study calls it efficiency. Today's follow from table 1."),
    ])

# --- HClib-Actor -----------------------------------------------------------------------------------------------------

TABLE_1 = {"OpenSHMEM": [35.5, None], "OpenSHMEM NBI": [4.2, 4.3], "UPC": [22.6, 23.9], "UPC NBI": [19.7, None],
           "MPI3, Open MPI": [25.8, 88.9], "MPI3, cray-mpich": [8.3, None], "Charm++ TRAM": [21.3, 9.7],
           "Conveyors": [2.3, 0.5]}
STUDY_SYSTEMS = {"OpenSHMEM": ("openshmem", "blocking"), "OpenSHMEM NBI": ("openshmem", "nbi"),
                 "MPI3, Open MPI": ("mpi_rma", ""), "Shunt": ("shunt", "lambda")}
OF_TABLE_1 = {"reads": ("index_gather", "reads_per_pe"), "updates": ("histogram", "updates_per_pe")}


def find_in_table_1(rows, system, column):
    table, count = OF_TABLE_1[column]
    if system not in STUDY_SYSTEMS:
        return None
    name, variant = STUDY_SYSTEMS[system]
    if (name, column) == ("openshmem", "updates"):
        variant = ""  # updates never wait: one program stands for both ways
    return rows.find(table, "seconds", name, variant, {"study": "table 1", "pes": 2, count: 2 ** 23})


SELECTORS = Study(
    "selectors", "HClib-Actor: a productive and scalable actor-based programming system for PGAS applications",
    "arXiv:2107.05516", [
        Published("Table 1", "What do 2^23 reads and 2^23 updates of each PE cost?", "s", "system",
                  ["reads", "updates"], TABLE_1, "Cori, 2,048 PEs on 64 nodes", "mean of 5",
                  Today(["reads", "updates"], find_in_table_1, more_rows=["Shunt"],
                        why="UPC, Charm++ and Conveyors are in no package of Debian 12."),
                  note="MPI3 with cray-mpich: more than 300 s of updates. Another kind of machine; here the same "
                       "programs run with 2 PEs on two cores, as table `study`."),
        Published("Table 2", "How many lines does each application take?", "lines", "system",
                  ["histogram", "index_gather", "permute", "random perm.", "toposort", "transpose", "triangle"],
                  {"UPC": [18, 16, 37, 41, 72, 43, 43], "OpenSHMEM": [19, 17, 51, 43, 92, 50, 49],
                   "Conveyors": [30, 40, 108, 111, 148, 83, 61], "selector": [21, 25, 78, 99, 130, 69, 53]},
                  "-", "cloc", note="`./shunt bench study` counts today's lines."),
        Published("Geometric means", "How many times as fast as UPC and OpenSHMEM, over the seven applications?",
                  "times", "system", ["UPC", "OpenSHMEM"],
                  {"Conveyors": [27.77, 21.52], "selector": [25.59, 19.83]}, "Cori, 2,048 PEs on 64 nodes",
                  "mean of 5", more_is_better=True),
    ])

# --- railways --------------------------------------------------------------------------------------------------------

RAIL_SYSTEMS = {"railway": ("article", ""), "Disruptor": ("disruptor", ""), "LinkedBlockingQueue": ("queue", ""),
                "Shunt": ("shunt", "two")}


def rail(producers, consumers, trains):
    return lambda capacity: {"producers": producers, "consumers": consumers, "capacity": capacity, "trains": trains}


def of_seven(at):
    return dict(zip(["trains", "capacity"], map(int, at.split(" x "))), producers=1, consumers=7)


def a_train(capacity_of):
    """From million goods a second to ns a train, as the article has it."""
    return lambda value, at: 1e3 * capacity_of(at) / value


ONE_TRAIN = {1: [5.190883], 2: [10.28282], 32: [104.878614], 256: [344.61464], 2048: [608.112493], 32768: [767.028751]}
TWO_TRAINS = {1: [7.492684], 2: [14.754786], 32: [174.227656], 256: [613.555475], 2048: [940.1449],
              32768: [797.806764]}
MANY_TRAINS = {2: [10.917951], 32: [31.23331], 256: [42.791962], 1024: [53.220057], 32768: [71.812166]}

RAILWAYS = Study(
    "railways", "Railways: a pattern for passing batches between threads", "InfoQ", [
        Published("One train", "How many goods a second, by capacity?", "million/s", "capacity", ["railway"],
                  ONE_TRAIN, "not stated", "single runs",
                  of("railway", "million_per_s", RAIL_SYSTEMS, rail(1, 1, 1)), True),
        Published("Two trains", "The same with two trains", "million/s", "capacity", ["railway"], TWO_TRAINS,
                  "not stated", "single runs", of("railway", "million_per_s", RAIL_SYSTEMS, rail(1, 1, 2)), True),
        Published("Trains of one good", "The same, by the number of trains", "million/s", "trains", ["railway"],
                  MANY_TRAINS, "not stated", "single runs",
                  of("railway", "million_per_s", RAIL_SYSTEMS,
                     lambda n: {"producers": 1, "consumers": 1, "capacity": 1, "trains": n}), True),
        Published("Seven consumers", "One producer, seven consumers that each see all", "million/s",
                  "trains x capacity", ["railway"], {"32 x 256": [432.055469], "256 x 32": [116.604397]}, "not stated",
                  "single runs",
                  of("railway", "million_per_s", RAIL_SYSTEMS, of_seven), True,
                  note="Which of the two is the capacity follows from the article's times of a train."),
        *(Published(f"{name}: latency", "How many ns lie between two trains?", "ns", "capacity", ["railway"],
                    dict(zip(ONE_TRAIN, ([v] for v in values))), "not stated", "single runs",
                    of("railway", "million_per_s", RAIL_SYSTEMS, rail(1, 1, trains),
                       scale=a_train(lambda capacity: capacity)),
                    note="The article calls the time of a train its latency: the goods of a train over the rate.")
          for name, trains, values in [("One train", 1, [192.6, 194.5, 305.1, 742.9, 3367.8, 42720.7]),
                                       ("Two trains", 2, [133.5, 135.5, 183.7, 417.2, 2178.4, 41072.6])]),
        Published("Trains of one good: latency", "The same, by the number of trains", "ns", "trains", ["railway"],
                  dict(zip(MANY_TRAINS, ([v] for v in [91.6, 32.0, 23.4, 18.8, 13.9]))), "not stated", "single runs",
                  of("railway", "million_per_s", RAIL_SYSTEMS,
                     lambda n: {"producers": 1, "consumers": 1, "capacity": 1, "trains": n},
                     scale=a_train(lambda _: 1))),
        Published("Seven consumers: latency", "The same, with seven consumers", "ns", "trains x capacity", ["railway"],
                  {"32 x 256": [592.5], "256 x 32": [274.4]}, "not stated", "single runs",
                  of("railway", "million_per_s", RAIL_SYSTEMS, of_seven,
                     scale=a_train(lambda at: int(at.split(" x ")[1])))),
        Published("One thread, and a queue", "What bounds it on either side?", "million/s", "what",
                  ["loop", "LinkedBlockingQueue"], {"one thread counts": [2681.850373, None],
                                                    "a ball to and fro": [None, .5]}, "not stated", "single runs",
                  of("railway", "million_per_s", {"loop": ("loop", ""), "Shunt": ("shunt", "two")},
                     lambda at: {"producers": 1, "consumers": 1, "capacity": 2048, "trains": 8}
                     if at == "one thread counts" else None,
                     why="The ball to and fro through two queues has no row: what it asks, a hand-over that waits for "
                         "the answer, is one train of one good. Today's loop loads and reads 2,048 numbers."), True),
        Published("Three producers", "Three producers, one consumer", "million/s", "how",
                  ["railway", "Disruptor", "LinkedBlockingQueue"],
                  {"one at a time": [None, 11.47, 4.55], "batches of 10": [None, 116.0, None],
                   "trains": [162.597109, None, None]}, "not stated", "single runs",
                  of("railway", "million_per_s", RAIL_SYSTEMS,
                     lambda at: {"producers": 3, "consumers": 1, "trains": 1_024,
                                 "capacity": {"one at a time": 1, "batches of 10": 10, "trains": 3}[at]}),
                  True, note="The first of four runs; of all four Disruptor's has 11.25 to 11.49, its batches 98.7 to "
                             "128.2, the queue 4.10 to 4.65. The article's trains carry 3 goods."),
    ])

# --- transactional memory --------------------------------------------------------------------------------------------


CONFIGURATIONS = {"two": "slices, all cores", "two_off": "no slices, all cores", "one": "slices, one core",
                  "one_off": "no slices, one core"}


def series(rows, table, metric, system, variant):
    """By the number of threads, the medians; of the sorted list those of the study's number of operations. Of a table
    that was recorded in two sizes, the larger one."""
    size = {"stm-si": "increments", "stm-ll": "operations"}[table]
    found = [row for row in rows.all() if size in row["params"]
             and (row["table"], row["metric"], row["system"], row["variant"]) == (table, metric, system, variant)]
    most = max((row["params"][size] for row in found), default=0)
    return {row["params"]["threads"]: row["median"] for row in found if row["params"][size] == most}


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
OUR_FIBERS = {"Shunt": ("shunt", ""), "Shunt, compact": ("shunt", "compact")}
OUR_PARKED = {"Shunt": ("shunt", "default"), "Shunt, compact": ("shunt", "compact")}
FIBER_SYSTEMS = {"Loom": ("loom", ""), "Go": ("go", ""), "threads": ("threads", "")}

ACQUISITION = Study(
    "acquisition", "Coroutines in data acquisition", "slides, in Russian", [
        Published("Switches", "How many switches a second, by the number of coroutines?", "thousand/s", "coroutines",
                  FIBER_COLUMNS, SWITCHES, "Intel i7-8700", "mean and spread of 100 runs",
                  of("switch", "ns_per_switch", FIBER_SYSTEMS | OUR_FIBERS,
                     lambda n: {"fibers": n, "order": "fifo"}, scale=lambda ns, n: 1e6 / ns), True),
        Published("Memory", "How much memory, by the number of parked coroutines?", "MB", "coroutines",
                  FIBER_COLUMNS, MEMORY, "Intel i7-8700", "100 runs",
                  of("memory", "bytes_per_fiber", FIBER_SYSTEMS | OUR_PARKED,
                     lambda n: {"fibers": n}, scale=lambda each, n: each * n / 1e6),
                  note="The slides print Go's with a decimal comma: 3,040 is read as 3.040, though 68 bytes each "
                       "cannot be. Today's is what the fibers add to the process, theirs the whole process."),
        Published("Kernels", "A product of matrices, 6,000 x 7,000, and a Fourier transform", "s", "kernel",
                  ["threads", "coroutines"], {"matrix": [(45.6, 1.8), (24.0, 5.6)], "DFT": [(.0772, .0003),
                                                                                         (.0774, .0004)]},
                  "Intel Xeon 6130", "mean and spread",
                  of("matmul", "seconds", {"threads": ("threads", ""), "coroutines": ("shunt", "fibers"),
                                           "Shunt": ("shunt", "")},
                     lambda at: {"matrix": {"workers": 2, "what": "tiles", "rows": 6000, "columns": 7000}}.get(at),
                     why="The slides do not say how long the transformed rows are: table `dft` has 4,096.")),
    ])

STUDIES = [TEMPLET, SELECTORS, RAILWAYS, TRANSACTIONS, ACQUISITION]
