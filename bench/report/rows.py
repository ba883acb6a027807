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
            return self.share(asked)
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

    def share(self, asked):
        (of_it, why), (base, why_no_base) = self.find(asked.of), self.find(asked.base)
        if not of_it or not base:
            return None, why or why_no_base
        if of_it["machine"] != base["machine"]:
            return None, f"`{asked.of.system}` and `{asked.base.system}` are recorded in different runs"
        shares = [100 * a / b if a is not None and b else None for a, b in zip(of_it["samples"], base["samples"])]
        return of_it | {"samples": shares}, ""

    def mean_ratio(self, asked):
        each = []
        for of, base in zip(asked.of, asked.base):
            (of_it, why), (base_of_it, why_no_base) = self.find(of), self.find(base)
            if not of_it or not base_of_it:
                return None, why or why_no_base
            each.append([a / b if a is not None and b else None
                         for a, b in zip(of_it["samples"], base_of_it["samples"])])
        means = [None if None in ratios else study.geometric_mean(ratios) for ratios in zip(*each)]
        return of_it | {"samples": means}, ""

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
