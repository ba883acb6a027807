"""The selector study's tables, measured anew: table `study` of bench.py.

Figure 3 a to g are seven applications at the study's sizes, for each number of PEs that --pes names; table 1 is 2^23
reads and as many updates of each PE; table 2 counts source lines; the geometric means are over the seven applications.

Source: Paul, Hayashi, Chen, Sarkar, "A productive and scalable actor-based programming system for PGAS applications",
arXiv:2107.05516. What it published stands beside what is measured: other machines, so only shapes compare.
"""

import csv
import io
import math
import pathlib
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEMS = ["openshmem", "mpi_rma", "mpi", "shunt"]
SEVEN = ["histogram", "index_gather", "permute_matrix", "random_permutation", "topological_sort", "transpose",
         "triangle"]
# Ways to write all seven: system, and its variant by application; "*" for all others.
WAYS = {
    "openshmem blocking": ("openshmem", {"histogram": "", "triangle": "word", "*": "blocking"}),
    "openshmem nbi": ("openshmem", {"histogram": "", "*": "nbi"}),
    "mpi_rma": ("mpi_rma", {"*": ""}),
    "mpi": ("mpi", {"*": ""}),
    "shunt lambda": ("shunt", {"*": "lambda"}),
    "shunt class": ("shunt", {"*": "class"}),
}
RIVALS = ["openshmem blocking", "openshmem nbi", "mpi_rma", "mpi"]
FORMS = ["shunt lambda", "shunt class"]
# Table 1, seconds for 2^23 reads and 2^23 updates of each of 2,048 PEs; None: not available.
PUBLISHED_TIMES = {"OpenSHMEM": (35.5, None), "OpenSHMEM NBI": (4.2, 4.3), "UPC": (22.6, 23.9), "UPC NBI": (19.7, None),
                   "MPI3 Open MPI": (25.8, 88.9), "MPI3 cray-mpich": (8.3, ">300"), "Charm++ TRAM": (21.3, 9.7),
                   "Conveyors": (2.3, 0.5)}
PUBLISHED_LINES = {"UPC": [18, 16, 37, 41, 72, 43, 43], "OpenSHMEM": [19, 17, 51, 43, 92, 50, 49],
                   "Conveyors": [30, 40, 108, 111, 148, 83, 61], "selector": [21, 25, 78, 99, 130, 69, 53]}
PUBLISHED_MEANS = [("OpenSHMEM / selector", 19.83), ("UPC / selector", 25.59), ("OpenSHMEM / Conveyors", 21.52),
                   ("UPC / Conveyors", 27.77), ("selector / Conveyors", 1.09), ("lambda form / class form", 2.0)]


def inputs(quick, pes):
    """(table, application, params, options of the programs), in the study's order."""
    scale = 10 if quick else 1
    updates, rows, entries, few = 10_000_000 // scale, 100_000 // scale, 1_000_000 // scale, 10_000 // scale
    for n in pes:
        for study, count in [("figure 3", updates), ("table 1", 2 ** 23 // scale)]:
            yield ("histogram", {"study": study, "pes": n, "updates_per_pe": count, "table_per_pe": 1_000},
                   ["--updates", count, "--table", 1_000])
            yield ("index_gather", {"study": study, "pes": n, "reads_per_pe": count, "table_per_pe": 100_000},
                   ["--updates", count, "--table", 100_000])
        for what, r, z in [("permute_matrix", rows, 10), ("random_permutation", entries, 0), ("darts", entries, 0),
                           ("topological_sort", rows, 10), ("transpose", rows, 10)]:
            yield ("bale", {"study": "figure 3", "pes": n, "what": what, "rows_per_pe": r, "nonzeros_per_row": z},
                   ["--what", what, "--rows", r, "--row-nonzeros", z])
        yield ("triangle", {"study": "figure 3", "pes": n, "graph": "er", "rows_per_pe": few,
                            "nonzeros_per_lower_row": 35},
               ["--graph", "er", "--rows", few, "--row-nonzeros", 35])


def application(row):
    return row.params["what"] if row.table == "bale" else row.table


def way(row):
    """The way whose row this is; None: a variant that is no way to write all seven."""
    for name, (system, variants) in WAYS.items():
        if row.system == system and row.variant == variants.get(application(row), variants.get("*")):
            return name
    return None


# --- times ---


class Times:
    """Of one number of PEs and one part of the study: seconds, by application and way, a number a repetition."""

    def __init__(self, rows, part, pes):
        self.values = {}
        for row in rows:
            if row.params["study"] != part or row.params["pes"] != pes or row.absent or row.problem or not row.samples:
                continue
            for each in self.all_ways(row, way(row)):
                self.values[application(row), self.over(each, row)] = row.values("seconds")

    @staticmethod
    def all_ways(row, name):
        """The histogram's updates never wait: one program stands for both ways of OpenSHMEM."""
        both = row.system == "openshmem" and row.table == "histogram"
        return ["openshmem blocking", "openshmem nbi"] if both else [name]

    @staticmethod
    def over(name, row):
        return f"{name} over MPI" if row.params.get("transport") == "mpi" else name

    def ways(self):
        known = [over for name in WAYS for over in (name, f"{name} over MPI")]
        return [name for name in known if any(key[1] == name for key in self.values)]

    def median(self, app, name):
        values = self.values.get((app, name))
        return statistics.median(values) if values else None

    def ratio(self, app, name, base):
        """The median of the ratios within one repetition: how many times as long `name` takes."""
        pairs = zip(self.values.get((app, name), []), self.values.get((app, base), []))
        ratios = [mine / its for mine, its in pairs if mine is not None and its]
        return statistics.median(ratios) if ratios else None

    def best_rival(self, app):
        return min((name for name in RIVALS if self.median(app, name)), default=None,
                   key=lambda name: self.median(app, name))

    def mean_ratio(self, name, base):
        """(geometric mean over the applications that both have, the applications that are missing)"""
        ratios, missing = [], []
        for app in SEVEN:
            found = self.ratio(app, self.best_rival(app) if name == "best rival" else name, base)
            ratios.append(found) if found else missing.append(app)
        return geometric_mean(ratios), missing


def geometric_mean(numbers):
    return math.exp(statistics.fmean(math.log(x) for x in numbers)) if numbers else None


def cell(value, digits=4):
    return "-" if value is None else value if isinstance(value, str) else f"{value:.{digits}g}"


def print_columns(lines, out):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip(),
              file=out)


def show_times(rows, pes, out):
    times = Times(rows, "figure 3", pes)
    ways = times.ways()
    print(f"\nfigure 3, seconds, medians, {pes} PEs", file=out)
    apps = [app for app in [*SEVEN, "darts"] if any(times.median(app, name) for name in ways)]
    print_columns([["", *ways]] + [[app, *(cell(times.median(app, name)) for name in ways)] for app in apps], out)

    times_1 = Times(rows, "table 1", pes)
    count = next(row.params["updates_per_pe"] for row in rows
                 if row.table == "histogram" and row.params["study"] == "table 1")
    print(f"\ntable 1, seconds for {count:,} reads and as many updates of each of {pes} PEs; published: of 2,048",
          file=out)
    lines = [[name, *(cell(times_1.median(app, name)) for app in ["index_gather", "histogram"])]
             for name in times_1.ways()]
    published = [[f"{name}, published", *map(cell, both)] for name, both in PUBLISHED_TIMES.items()]
    print_columns([["", "reads", "updates"], *lines, *published], out)

    print(f"\ngeometric means of ratios of times over the seven applications, {pes} PEs", file=out)
    lines = []
    for name in [*RIVALS, "best rival"]:
        for base in FORMS:
            for over in ["", " over MPI"]:
                mean, missing = times.mean_ratio(name, base + over)
                if mean is not None:
                    lines.append([f"{name} / {base}{over}", cell(mean, 3), of_seven(missing)])
    for over in ["", " over MPI"]:
        mean, missing = times.mean_ratio("shunt lambda" + over, "shunt class" + over)
        if mean is not None:
            lines.append([f"shunt lambda / shunt class{over}", cell(mean, 3), of_seven(missing)])
    lines += [[f"{name}, published, 2,048 PEs", cell(value), ""] for name, value in PUBLISHED_MEANS]
    print_columns(lines, out)


def of_seven(missing):
    return "" if not missing else f"of {7 - len(missing)}: without {', '.join(missing)}"


# --- lines ---

# (file, name of the part between its marks; "": all of it), by way and application. One file stands for all ways that
# are one function over several interfaces.
def sources():
    for app in SEVEN:
        for form in ["lambda", "class", "natural"]:
            yield f"shunt {form}", app, f"apps/bale/{app}_{form}.hpp", ""
    for app in ["permute_matrix", "random_permutation", "topological_sort", "transpose"]:
        for name in ["openshmem blocking", "openshmem nbi", "mpi_rma"]:
            yield name, app, f"bench/bale/one_sided/{app}.hpp", ""
        yield "mpi", app, "bench/bale/mpi.cpp", app
    for app in ["histogram", "index_gather"]:
        yield "mpi_rma", app, f"bench/{app}/mpi_rma.cpp", "mpi_rma"
    for name in ["blocking", "nbi"]:
        yield f"openshmem {name}", "histogram", "bench/histogram/openshmem.c", "openshmem"
        yield f"openshmem {name}", "index_gather", "bench/index_gather/openshmem.c", name
    for name, part in [("openshmem blocking", "word"), ("openshmem nbi", "rows"), ("mpi_rma", "rows")]:
        yield name, "triangle", "bench/triangle/one_sided.hpp", part


def part_of(text, name):
    """What stands between the lines with `kernel: name` and `end of kernel`."""
    if not name:
        return text
    lines, found, inside = text.splitlines(), [], False
    for line in lines:
        if line.strip().strip("/* ") == f"kernel: {name}":
            inside = True
        elif "end of kernel" in line:
            inside = False
        elif inside:
            found.append(line)
    if not found:
        raise ValueError(f"no kernel: {name}")
    return "\n".join(found) + "\n"


def count_lines(root=ROOT, cloc="cloc"):
    """{(way, application): lines of code}"""
    with tempfile.TemporaryDirectory() as folder:
        pieces = {}
        for name, app, path, part in sources():
            file = pathlib.Path(folder) / f"{len(pieces)}{pathlib.Path(path).suffix}"
            file.write_text(part_of((root / path).read_text(), part))
            pieces[file.name] = (name, app)
        said = subprocess.run([cloc, "--quiet", "--csv", "--by-file", "--skip-uniqueness", folder],
                              capture_output=True, text=True, check=True).stdout
        counted = {}
        for line in csv.DictReader(io.StringIO(said.strip())):
            key = pieces.get(pathlib.Path(line["filename"] or "").name)
            if key:
                counted[key] = int(line["code"])
        return counted


def show_lines(out, counted=None):
    print("\ntable 2, source lines of the kernels, by cloc", file=out)
    if counted is None:
        if not shutil.which("cloc"):
            print("absent: table 2: no cloc (Debian: cloc)", file=out)
            return
        counted = count_lines()
    lines = [["", *SEVEN]]
    names = [*FORMS, "shunt natural", *RIVALS]
    lines += [[name, *(str(counted.get((name, app), "-")) for app in SEVEN)] for name in names]
    lines += [[f"{name}, published", *map(str, numbers)] for name, numbers in PUBLISHED_LINES.items()]
    print_columns(lines, out)


def show(rows, out):
    for pes in dict.fromkeys(row.params["pes"] for row in rows):
        show_times(rows, pes, out)
    show_lines(out)
