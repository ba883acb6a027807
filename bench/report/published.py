"""What the five studies published, table by table, and which rows of today's tables stand beside it.

Transcribed from the texts; what is in pictures only is said in words, as claims. A value is a number, a pair (value,
spread), or None where the study has none.

Sources: Vostokin, "Templet", arXiv:1702.05463; Paul et al., arXiv:2107.05516; "Railways", InfoQ; "STM Haskell under
GHC's scheduler"; "Coroutines in data acquisition" (slides).
"""
from report.rows import Asked, Lines, MeanRatio, Share
from report.studies import Published, Study, Today, of
from report.transactions import TRANSACTIONS
from study import tables as selectors

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
OF_TABLE_1 = {"reads": ("index_gather", "ns_per_read", {"reads_per_pe": 2 ** 23, "table_per_pe": 100_000}),
              "updates": ("histogram", "ns_per_update", {"updates_per_pe": 2 ** 23, "table_per_pe": 1_000})}
FAR_PES = "2,048 PEs on 64 nodes are not here; lines below are the same programs with 2 PEs"
REGISTRY = "in a registry from which it could be built unattended (Debian, Maven, crates.io, the Go proxy)"
CORI = ("It is of 2,048 PEs on 64 nodes, and of two cores there are two PEs; of the study's systems UPC, Charm++ and "
        f"Conveyors have no rows: none of them is {REGISTRY}.")
SEVEN = ["histogram", "index_gather", "permute", "random perm.", "toposort", "transpose", "triangle"]
APPLICATIONS = dict(zip(SEVEN, selectors.SEVEN))


def ask_of_table_1(line, column):
    if not line.endswith(HERE):
        return FAR_PES
    table, metric, size = OF_TABLE_1[column]
    name, variant = STUDY_SYSTEMS[line.removesuffix(HERE)]
    params = {"study": "table 1", "pes": 2} | size | ({"transport": "threads"} if name == "shunt" else {})
    if (name, column) == ("openshmem", "updates"):
        variant = ""  # updates never wait: one program stands for both ways
    return Asked(table, metric, name, variant, params)


WAYS = {"Shunt": "shunt lambda", "Shunt, class form": "shunt class", "OpenSHMEM": "openshmem blocking",
        "OpenSHMEM NBI": "openshmem nbi", "MPI3, Open MPI": "mpi_rma", "MPI by hand": "mpi"}
SIZES_OF_FIGURE_3 = {application: (table, params | {"transport": "threads"})
                     for table, params, _ in selectors.inputs(False, [2]) if params["study"] == "figure 3"
                     for application in [params.get("what", table)]}
SECONDS = {"histogram": ("ns_per_update", "updates_per_pe"), "index_gather": ("ns_per_read", "reads_per_pe")}
NO_SUCH_PROGRAM = "that program is not written so"


def ask_of_figure_3(line, column):
    application = APPLICATIONS[line]
    table, params = SIZES_OF_FIGURE_3[application]
    system, variants = selectors.WAYS[WAYS[column]]
    if system == "mpi" and application in ["histogram", "index_gather", "triangle"]:
        return NO_SUCH_PROGRAM
    params = {name: value for name, value in params.items() if system == "shunt" or name != "transport"}
    return Asked(table, SECONDS.get(application, ("seconds", ""))[0], system,
                 variants.get(application, variants.get("*")), params)


def seconds_of_figure_3(value, line):
    """Two applications are recorded as the time of one update or read."""
    table, params = SIZES_OF_FIGURE_3[APPLICATIONS[line]]
    return value * params[SECONDS[table][1]] / 1e9 if table in SECONDS else value


MEANS_HERE = {f"OpenSHMEM / Shunt{HERE}": ("OpenSHMEM", "Shunt"),
              f"OpenSHMEM NBI / Shunt{HERE}": ("OpenSHMEM NBI", "Shunt"),
              f"MPI3, Open MPI / Shunt{HERE}": ("MPI3, Open MPI", "Shunt"),
              f"lambda form / class form{HERE}": ("Shunt", "Shunt, class form")}


def ask_of_means(line, _):
    if line not in MEANS_HERE:
        return FAR_PES
    of, base = MEANS_HERE[line]
    return MeanRatio([ask_of_figure_3(app, of) for app in SEVEN], [ask_of_figure_3(app, base) for app in SEVEN])


LINES_HERE = {"Shunt (natural form)": "shunt natural", "Shunt's lambda form": "shunt lambda",
              "Shunt's class form": "shunt class", "OpenSHMEM, blocking, here": "openshmem blocking",
              "OpenSHMEM, NBI, here": "openshmem nbi", "MPI3, here": "mpi_rma", "MPI by hand, here": "mpi"}


def ask_of_lines(line, column):
    if line not in LINES_HERE:
        return "the study's own program; today's are counted in the lines below"
    return Lines(LINES_HERE[line], APPLICATIONS[column])


SELECTORS = Study(
    "selectors", "HClib-Actor: a productive and scalable actor-based programming system for PGAS applications",
    "arXiv:2107.05516", [
        Published("Table 1", "What do 2^23 reads and 2^23 updates of each PE cost?", "s", "system",
                  ["reads", "updates"], TABLE_1, "Cori, 2,048 PEs on 64 nodes", "mean of 5",
                  Today(["reads", "updates"], ask_of_table_1, lambda ns, _: ns * 2 ** 23 / 1e9,
                        more_rows=[name + HERE for name in STUDY_SYSTEMS], lines_are_systems=True),
                  note="Lines of 2 PEs are table `study`'s.",
                  not_comparable=CORI),
        Published("Table 2", "How many lines does each application take?", "lines", "system", SEVEN,
                  {"UPC": [18, 16, 37, 41, 72, 43, 43], "OpenSHMEM": [19, 17, 51, 43, 92, 50, 49],
                   "Conveyors": [30, 40, 108, 111, 148, 83, 61], "selector": [21, 25, 78, 99, 130, 69, 53]},
                  "none", "cloc", Today(SEVEN, ask_of_lines, more_rows=list(LINES_HERE), lines_are_systems=True,
                                        record="counted by cloc when this page was made."),
                  note="The study counted kernels. Shunt's files are counted whole, the others' of today between the "
                       "marks of a kernel; one file serves OpenSHMEM and MPI3 where they differ only in their calls."),
        Published("Geometric means", "What are the ratios of times, over the seven applications?", "times", "ratio",
                  ["ratio"], {"UPC / Conveyors": [27.77], "OpenSHMEM / Conveyors": [21.52], "UPC / selector": [25.59],
                              "OpenSHMEM / selector": [19.83], "selector / Conveyors": [1.09],
                              "lambda form / class form": [2.0]}, "Cori, 2,048 PEs on 64 nodes", "mean of 5",
                  Today(["ratio"], ask_of_means, more_rows=list(MEANS_HERE), lines_are_systems=True),
                  more_is_better=True, not_comparable=CORI,
                  note="A geometric mean, since the study gives one; the ratios are the table below."),
        Published("Figure 3, a to g", "What do the seven applications cost at the study's sizes of each PE?", "s",
                  "application", [], {}, "Cori, up to 2,048 PEs on 64 nodes", "mean of 5",
                  Today(list(WAYS), ask_of_figure_3, seconds_of_figure_3, more_rows=SEVEN), not_comparable=CORI,
                  note="The figures are pictures, whose values the text does not state. Today's are of 2 PEs: "
                       "10,000,000 updates of 1,000 entries; 10,000,000 reads of 100,000; 100,000 rows with 10 "
                       "non-zeros to permute, to transpose and to sort; 1,000,000 entries of a permutation; 10,000 "
                       "rows with 35 non-zeros of the triangles' graph. MPI by hand gathers whole parts and sends them "
                       "at once, which the study has not."),
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
NO_LOOP = ("the article's loop is two objects of one thread, whose calls a compiler inlines: an addition is left of "
           "each ball, which a C++ compiler does away with as well. What one thread does alone with trains is table "
           "`railway`'s `loop`")
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
                     {2048: (1569.884271, 1300)}, rail(1, 1, 8), lambda capacity: capacity,
                     note="The capacity follows from the time of a train, 1.3 us. The article does not say with how "
                          "many trains: today's are 8."),
        Published("One thread, and a queue", "What bounds it on either side?", "million/s", "what",
                  ["loop", "LinkedBlockingQueue"], {"one thread, that calls itself": [2681.850373, None],
                                                    "a ball to and fro": [None, .5]}, "not stated", "single runs",
                  Today(["loop", "LinkedBlockingQueue", "Shunt"], ask_of_bounds), True,
                  note="The ball is table `pingpong`'s, form `strict`, between 2 workers; today's count is of balls "
                       "that came back. The article does not say whether one way counts as an operation. Of a queue "
                       "each ball wakes a thread that sleeps in the kernel, twice: why that takes so much longer here "
                       "than on the article's machine has not been profiled."),
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
MOST_THREADS = 32_768  # kernel.pid_max where it is not raised


def too_many_threads(n, column):
    if column != "threads" or n <= MOST_THREADS:
        return ""
    return f"Linux numbers {MOST_THREADS:,} threads (kernel.pid_max)"


NO_HUAWEI = {"Huawei JDK": f"Huawei's JDK with coroutines is not {REGISTRY}"}

KERNEL_SYSTEMS = {"threads": ("threads", ""), "Shunt": ("shunt", "fibers")}


def ask_of_kernels(line, column):
    if column == "coroutines":
        return "theirs are Java's of Huawei's JDK; fibers of Shunt stand for them"
    if line == "DFT":
        return Asked("dft", "seconds", *KERNEL_SYSTEMS[column], {"workers": 2, "rows": 4096, "columns": 4096})
    return Asked("matmul", "seconds", *KERNEL_SYSTEMS[column],
                 {"workers": 2, "what": "tiles", "rows": 6000, "columns": 7000})


ACQUISITION = Study(
    "acquisition", "Coroutines in data acquisition", "slides, in Russian", [
        Published("Switches", "How many switches a second, by the number of coroutines?", "thousand/s", "coroutines",
                  FIBER_COLUMNS, SWITCHES, "Intel i7-8700", "mean and spread of 100 runs",
                  of("switch", "ns_per_switch",
                     FIBER_SYSTEMS | {"Shunt": ("shunt", ""), "Shunt, compact": ("shunt", "compact")},
                     lambda n: {"fibers": n, "order": "fifo"}, absent=NO_HUAWEI, scale=lambda ns, n: 1e6 / ns,
                     why_none=too_many_threads), True),
        Published("Memory", "How much memory, by the number of parked coroutines?", "MB", "coroutines",
                  FIBER_COLUMNS, MEMORY, "Intel i7-8700", "100 runs",
                  of("memory", "process_bytes",
                     FIBER_SYSTEMS | {"Shunt": ("shunt", "default"), "Shunt, compact": ("shunt", "compact")},
                     lambda n: {"fibers": n}, absent=NO_HUAWEI, scale=lambda whole, n: whole / 1e6,
                     why_none=too_many_threads),
                  note="The slides print Go's with a decimal comma: 3,040 is read as 3.040, though 68 bytes each "
                       "cannot be. Theirs is the whole process; what a fiber adds to it, bytes_per_fiber, is in table "
                       "`memory` below, and is no figure to be set beside these."),
        Published("Kernels", "A product of matrices, 6,000 x 7,000, and a Fourier transform", "s", "kernel",
                  ["threads", "coroutines"], {"matrix": [(45.6, 1.8), (24.0, 5.6)], "DFT": [(.0772, .0003),
                                                                                         (.0774, .0004)]},
                  "Intel Xeon 6130", "mean and spread",
                  Today(["coroutines", *KERNEL_SYSTEMS], ask_of_kernels),
                  note="Of `shunt` the variant `fibers`, a fiber a part, on 2 workers; the slides do not say how many "
                       "theirs were, nor how long the rows of their transform: today's has 4,096 rows of 4,096."),
    ])

STUDIES = [TEMPLET, SELECTORS, RAILWAYS, TRANSACTIONS, ACQUISITION]
