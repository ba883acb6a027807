"""The page: every published table beside today's, then all of today's tables. One file, which needs no network."""
import collections
import datetime
import itertools
import json
import math
import pathlib
import statistics

import jinja2
import markupsafe

import slow_rows
from report import plots
from report.published import STUDIES
from report.samples import CONFIDENCE, summary

HERE = pathlib.Path(__file__).resolve().parent
LINES_OF_A_PICTURE = 24


def number(value):
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return f"{number(value[0])} ± {number(value[1])}"
    if isinstance(value, str):
        return value
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"


def interval(value, low, high):
    return number(value) if low == high else f"{number(value)} ({number(low)} to {number(high)})"


# --- published tables ------------------------------------------------------------------------------------------------


def middle(value):
    return value[0] if isinstance(value, tuple) else value


def published_points(table):
    series = collections.defaultdict(list)
    for at, values in table.rows.items():
        for column, value in zip(table.columns, values):
            if value is not None:
                spread = value[1] if isinstance(value, tuple) else 0
                series[column].append((at, middle(value), middle(value) - spread, middle(value) + spread))
    return dict(series)


def today_cells(table, rows):
    """(axis value, column) -> (median, low, high), in the study's unit; and what tells the run in which that was."""
    cells, runs = {}, {}
    if table.today is None:
        return cells, runs
    for at in [*table.rows, *table.today.more_rows]:
        for column in table.today.columns:
            row = table.today.find(rows, at, column)
            if row:
                s = summary(row["samples"])
                low, high = sorted(table.today.scale(v, at) for v in (s.low, s.high))
                cells[at, column] = table.today.scale(s.median, at), low, high
                runs[at, column] = row["machine"]
    return cells, runs


def verdict(table, cells, runs):
    """How today's Shunt stands to the best of the study's systems, where both were measured in one run; two medians
    whose intervals meet are not told apart."""
    if not table.rows:
        return "not comparable", "The study has pictures; its claims are below."
    by_system = table.today is not None and "Shunt" in table.today.more_rows  # then a line is a system
    ours, rivals = {}, collections.defaultdict(list)
    for (at, column), value in cells.items():
        question, system = (column, at) if by_system else (at, column)
        if system == "Shunt":
            ours[question] = value, runs[at, column]
        elif not system.startswith("Shunt"):
            rivals[question].append((value, runs[at, column]))
    ratios, faster, slower = [], 0, 0
    best = max if table.more_is_better else min
    for question, (mine, run) in ours.items():
        its = best((v for v, other in rivals[question] if other == run), default=None, key=lambda v: v[0])
        if its is None:
            continue
        ratios.append(mine[0] / its[0] if table.more_is_better else its[0] / mine[0])
        apart = mine[1] > its[2] or mine[2] < its[1]
        faster += apart and ratios[-1] > 1
        slower += apart and ratios[-1] < 1
    if not ratios:
        return "not comparable", "Nothing of it has been measured here beside a rival."
    text = (f"Shunt over the best of the others, both of today and of one run: {min(ratios):.2f} to {max(ratios):.2f}, "
            f"median {statistics.median(ratios):.2f} (more is better). Of {len(ratios)} lines Shunt is ahead in "
            f"{faster}, behind in {slower}; in {len(ratios) - faster - slower} the intervals meet.")
    word = "not reached in all lines" if slower else "exceeded" if faster == len(ratios) else "reproduced"
    return word, text


def table_of(table, rows):
    cells, runs = today_cells(table, rows)
    word, reason = verdict(table, cells, runs)
    today_columns = sorted(table.today.columns if table.today else [], key=lambda c: c != "Shunt")  # ours first
    heads = [{"text": f"{c}, published", "ours": False} for c in table.columns] + [
        {"text": f"{c}, today", "ours": c == "Shunt"} for c in today_columns]
    lines = []
    for at in [*table.rows, *(table.today.more_rows if table.today else [])]:
        values = table.rows.get(at, [None] * len(table.columns))
        lines.append([number(at), *map(number, values),
                      *(interval(*cells[at, c]) if (at, c) in cells else "–" for c in today_columns)])
    return {"name": table.name, "question": table.question, "machine": table.machine, "how": table.how,
            "note": table.note, "why": table.today.why if table.today else "", "axis": table.axis, "unit": table.unit,
            "heads": heads, "lines": lines, "verdict": {"word": word, "reason": reason},
            "plot": plot_of(table, cells)}


def plot_of(table, cells):
    if not table.rows:
        return ""
    if all(isinstance(at, int) for at in table.rows):
        today = collections.defaultdict(list)
        for (at, column), v in cells.items():
            today[column].append((at, *v))
        return plots.beside(published_points(table), dict(today), table.axis, table.unit)
    groups = {number(at): {f"{c}, published": middle(v) for c, v in zip(table.columns, values) if v is not None}
              for at, values in table.rows.items()}
    for (at, column), v in cells.items():
        groups.setdefault(number(at), {})[f"{column}, today"] = v[0]
    return plots.bars(groups, table.unit)


def claim_of(claim, rows):
    answer, found = claim.ask(rows)
    return {"text": claim.text, "answer": {True: "true", False: "not true", None: "unknown"}[answer], "found": found}


# --- all tables ------------------------------------------------------------------------------------------------------


def label(params):
    return ", ".join(f"{v}" if isinstance(v, str) else f"{k} {number(v)}" for k, v in params.items())


def system_of(row):
    return " ".join(filter(None, [row["system"], row["variant"], row["params"].get("transport", "")]))


def question_of(row):
    return label({k: v for k, v in row["params"].items() if k != "transport"})


def of_best_rival(row, peers):
    rivals = [p for p in peers if p["system"] not in slow_rows.NO_RIVALS and p["machine"] == row["machine"]]  # one run
    if not rivals or row["metric"] in slow_rows.NOT_COMPARED or row["system"] != "shunt":
        return "–"
    return f"{slow_rows.speed(row) / max(map(slow_rows.speed, rivals)):.2f}"


def parts_of(questions):
    """Pictures that fit on a printed page, of about the same number of lines."""
    number = math.ceil(len(questions) / LINES_OF_A_PICTURE)
    size = math.ceil(len(questions) / number)
    return [questions[begin:begin + size] for begin in range(0, len(questions), size)]


def own_table(name, question, rows, absent):
    mine = [row for row in rows.all() if row["table"] == name]
    out = {"name": name, "question": question, "lines": [], "plots": [], "absent": "; ".join(absent)}
    if not mine:
        why = "; ".join(absent) or "there is no file of it"
        return out | {"why": why, "samples": "no samples", "machine": "–", "age": "–"}
    by_question = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in mine:
        by_question[row["metric"]][question_of(row)][system_of(row)] = row
    for metric, groups in by_question.items():
        points = {}
        for asked, systems in groups.items():
            points[asked] = {}
            for system, row in systems.items():
                s = summary(row["samples"])
                points[asked][system] = (s.median, s.low, s.high)
                out["lines"].append([asked, system, metric, number(s.median), number(s.low), number(s.high),
                                     len(s.samples), len(s.outliers), of_best_rival(row, systems.values())])
        unit = next(iter(next(iter(groups.values())).values()))["unit"]
        out["plots"] += [{"metric": metric, "svg": plots.dots(dict(part), f"{metric} ({unit})")}
                         for part in parts_of(list(points.items()))]
    counts = [len(row["samples"]) for row in mine]
    cpus = sorted({row["machine"]["cpu"] for row in mine})
    commits = sorted({row["commit"][:12] + ("-dirty" if row["commit"].endswith("-dirty") else "") for row in mine})
    near = [d for row in mine for d in row["machine"]["core_round_trip_ns"] if d is not None]
    between = f", {min(near):.0f} to {max(near):.0f} ns between cores" if near else ""
    return out | {"samples": f"{min(counts)} to {max(counts)} samples a row", "machine": ", ".join(cpus) + between,
                  "age": "measured at " + ", ".join(commits)}


# --- the whole -------------------------------------------------------------------------------------------------------


def slow_lines(folder, causes):
    """Those behind a rival first, then those that are only far from the ceiling; each the slowest first."""
    found = slow_rows.slow(slow_rows.newest(folder))
    behind = {name: (one[0] or 1) < slow_rows.BEHIND for name, one in found.items()}
    return [{"name": name, "of_rival": slow_rows.share(found[name][0]), "rival": found[name][1] or "none",
             "of_ceiling": slow_rows.share(found[name][2]), "cause": causes.get(name) or "unknown"}
            for name in sorted(found, key=lambda name: (not behind[name], found[name][0] if behind[name] else 0))]


def content(rows, folder, questions, absent, machine):
    """What the page shows, as plain data. \\param absent  by table, why systems are missing"""
    causes = json.loads(slow_rows.LIST.read_text(encoding="utf-8"))
    return {"made": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "confidence": CONFIDENCE, "slow": slow_lines(folder, causes),
            "studies": [{"key": s.key, "title": s.title, "source": s.source,
                         "tables": [table_of(t, rows) for t in s.tables],
                         "claims": [claim_of(c, rows) for c in s.claims]} for s in STUDIES],
            "tables": [own_table(name, question, rows, absent.get(name, [])) for name, question in questions.items()],
            "machine": machine}


def html(content_of_page):
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    numbers = itertools.count(1)
    environment.filters["in_place"] = lambda svg: markupsafe.Markup(plots.with_ids_of(f"p{next(numbers)}-", svg))
    return environment.get_template("page.html").render(content_of_page)
