"""The rows that `bench --json` has written, and how one of them, or what follows from several, is asked for."""
import dataclasses
import functools
import json
import shutil

from study import tables as study


@dataclasses.dataclass(frozen=True)
class Asked:
    """The row of bench.py's tables that has all parameters of a published one, and no others."""

    table: str
    metric: str
    system: str
    variant: str
    params: dict
    free: tuple = ()  # parameters that say how long a run is, not what it does
    why_none: str = ""  # why no such row is recorded, where that is known


@dataclasses.dataclass(frozen=True)
class Share:
    """A hundred times the one over the other, repetition by repetition."""

    of: Asked
    base: Asked


@dataclasses.dataclass(frozen=True)
class MeanRatio:
    """The geometric mean of the ratios of some rows over as many others, repetition by repetition."""

    of: list
    base: list


@dataclasses.dataclass(frozen=True)
class Lines:
    """The source lines of an application written in a way, counted now."""

    way: str
    application: str


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
            return self.ratio(asked.of, asked.base, 100)
        if isinstance(asked, MeanRatio):
            return self.mean_ratio(asked)
        if isinstance(asked, Lines):
            return self.lines(asked)
        same = [row for row in self.by_key.values() if (row["table"], row["metric"], row["system"], row["variant"])
                == (asked.table, asked.metric, asked.system, asked.variant)]
        for row in reversed(same):  # of runs that differ in length only, the newest
            if {k: v for k, v in row["params"].items() if k not in asked.free} == asked.params:
                return row, ""
        return None, asked.why_none or self.why_not(asked, same)

    def why_not(self, asked, same):
        """What is missing: the parameters, the system, or the table."""
        name = " ".join(filter(None, [asked.system, asked.variant]))
        if same:
            return f"`{name}` is recorded in table `{asked.table}`, but not with {list_of(asked.params)}"
        if any(row["table"] == asked.table for row in self.by_key.values()):
            return f"no {asked.metric} of `{name}` is recorded in table `{asked.table}`"
        return f"no run of table `{asked.table}` is recorded"

    def ratio(self, of, base, times=1):
        """The one row with its samples over the other's, repetition by repetition, or (None, why there is none)."""
        (of_it, why), (base_of_it, why_no_base) = self.find(of), self.find(base)
        if not of_it or not base_of_it:
            return None, why or why_no_base
        if of_it["machine"] != base_of_it["machine"]:
            return None, f"`{of.system}` and `{base.system}` are recorded in different runs"
        samples = [times * a / b if a is not None and b else None
                   for a, b in zip(of_it["samples"], base_of_it["samples"])]
        return of_it | {"samples": samples}, ""

    def mean_ratio(self, asked):
        ratios = [self.ratio(of, base) for of, base in zip(asked.of, asked.base)]
        for row, why in ratios:
            if not row:
                return None, why
            if row["machine"] != ratios[0][0]["machine"]:
                return None, "the applications are recorded in different runs"
        each = zip(*(row["samples"] for row, _ in ratios))
        return ratios[0][0] | {"samples": [None if None in one else study.geometric_mean(one) for one in each]}, ""

    @staticmethod
    def lines(asked):
        counted = lines_of_today()
        if counted is None:
            return None, "there is no cloc here (Debian: cloc)"
        if (asked.way, asked.application) not in counted:
            return None, "its program has no part of that name that could be counted"
        system, _, variant = asked.way.partition(" ")
        return {"table": "study", "metric": "lines", "system": system, "variant": variant, "machine": {},
                "params": {"application": asked.application}, "samples": [counted[asked.way, asked.application]]}, ""


@functools.cache
def lines_of_today():
    """Of table 2, by way and application; None: nothing here counts them."""
    return study.count_lines() if shutil.which("cloc") else None


def list_of(params):
    return ", ".join(f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}"
                     for name, value in params.items())
