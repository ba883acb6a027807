"""The page: every published table beside today's, then all of today's tables. One file, which needs no network."""
import collections
import datetime
import itertools
import json
import math
import operator
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
    if isinstance(value, list):  # several runs
        return ", ".join(map(number, value))
    if isinstance(value, str):
        return value
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"


def interval(value, low, high):
    return number(value) if low == high else f"{number(value)} ({number(low)} to {number(high)})"


# --- published tables ------------------------------------------------------------------------------------------------


def middle(value):
    """What a plot has of it; nothing of a bound."""
    if isinstance(value, str):
        return math.nan
    return value[0] if isinstance(value, tuple) else statistics.median(value) if isinstance(value, list) else value


def published_points(table):
    series = collections.defaultdict(list)
    for at, values in table.rows.items():
        for column, value in zip(table.columns, values):
            if value is not None:
                spread = value[1] if isinstance(value, tuple) else 0
                series[column].append((at, middle(value), middle(value) - spread, middle(value) + spread))
    return dict(series)


class Cell:
    """A row of today in the study's unit."""

    def __init__(self, row, scale=lambda value, _: value, at=None):
        self.row = row
        self.values = [scale(v, at) if v else None for v in row["samples"]]
        self.known = any(v is not None for v in self.values)
        if self.known:
            s = summary(self.values)
            self.median, self.low, self.high = s.median, s.low, s.high

    def over(self, other, more_is_better):
        """The median of how many times as fast this is, repetition by repetition, and its interval; None: unknown."""
        pairs = [(a, b) for a, b in zip(self.values, other.values) if a is not None and b is not None]
        return summary([a / b if more_is_better else b / a for a, b in pairs]) if pairs else None


def axis_of(table):
    return [*table.rows, *(table.today.more_rows if table.today else [])]


def today_cells(table, rows):
    """(axis value, column) -> Cell, or why there is none."""
    cells = {}
    for at in axis_of(table) if table.today else []:
        for column in table.today.columns:
            row, why = rows.find(table.today.ask(at, column))
            cell = Cell(row, table.today.scale, at) if row else why
            cells[at, column] = cell if not row or cell.known else "its samples are unknown"
    return cells


def measured(cells):
    return {key: cell for key, cell in cells.items() if isinstance(cell, Cell)}


def is_ours(system):
    return system.partition(" (")[0] == "Shunt"


def against_the_best(table, cells):
    """By line (by column, where lines are systems): Shunt over that rival of the study, of the same run, over which it
    has the least: (summary of the ratios, rival). And how many figures of rivals are of other runs."""
    ours, rivals = {}, collections.defaultdict(dict)
    for (at, column), cell in measured(cells).items():
        question, system = (column, at) if table.today.lines_are_systems else (at, column)
        if is_ours(system):
            ours[question] = cell
        elif cell.row["system"] != "shunt":
            rivals[question][system] = cell
    found = {}
    for question, mine in ours.items():
        ratios = {name: mine.over(its, table.more_is_better) for name, its in rivals[question].items()
                  if its.row["machine"] == mine.row["machine"]}
        ratios = {name: ratio for name, ratio in ratios.items() if ratio}
        if ratios:
            best = min(ratios, key=lambda name: ratios[name].median)
            found[question] = ratios[best], best
    elsewhere = sum(its.row["machine"] != mine.row["machine"] for question, mine in ours.items()
                    for its in rivals[question].values())
    return found, elsewhere


def is_ahead(ratio):
    return len(ratio.samples) > 1 and ratio.low > 1


def is_behind(ratio):
    return len(ratio.samples) > 1 and ratio.high < 1


def counted_verdict(table, cells):
    """Of what no machine changes: today's Shunt beside what was published."""
    ours = {column: cell.median for (at, column), cell in cells.items() if is_ours(at) and isinstance(cell, Cell)}
    if not ours:
        return "not comparable", "Nothing of it has been counted here."
    least = {column: min(values[table.columns.index(column)] for values in table.rows.values()) for column in ours}
    fewer, more = (sum(compare(ours[c], least[c]) for c in ours) for compare in [operator.lt, operator.gt])
    text = (f"Shunt beside the least that was published: of {len(ours)} columns it has fewer in {fewer} and more in "
            f"{more}.")
    return "not reached in all lines" if more else "exceeded" if fewer == len(ours) else "reproduced", text


def verdict(table, found, elsewhere, cells):
    """How today's Shunt stands to the best of the study's systems, where both were measured in one run. A ratio whose
    interval holds 1, and a single repetition, tell nothing."""
    if not table.rows and not table.today:
        return "not comparable", "The study has pictures; its claims are below."
    if table.today.record:
        return counted_verdict(table, cells)
    ratios = [ratio for ratio, _ in found.values()]
    others = f" Figures of rivals that are of other runs, and are left out: {elsewhere}." if elsewhere else ""
    if not ratios:
        text = "Nothing of it has been measured here beside a rival of the study, in one run."
        return "not comparable", " ".join(filter(None, [table.not_comparable, text + others]))
    medians = [ratio.median for ratio in ratios]
    ahead, behind = sum(map(is_ahead, ratios)), sum(map(is_behind, ratios))
    few = sum(not ratio.certain for ratio in ratios)
    lines = "columns" if table.today.lines_are_systems else "lines"
    text = (f"Shunt over the best of the study's other systems, both of today, repetition by repetition: medians "
            f"{min(medians):.2f} to {max(medians):.2f} (more is better). Of {len(ratios)} {lines} that have both "
            f"({len(table.rows) or 'no'} lines are published) Shunt is ahead in {ahead} and behind in {behind}; in "
            f"{len(ratios) - ahead - behind} the interval holds 1.")
    if few:
        text += f" In {few} there are fewer than six repetitions, and the interval is the range."
    word = "not reached in all lines" if behind else "exceeded" if ahead == len(ratios) else "reproduced"
    if table.not_comparable:
        word, text = "not comparable", f"{table.not_comparable} {text}"
    return word, text + others


class Reasons:
    """Why cells are empty, each told once."""

    def __init__(self):
        self.texts = []

    def cell(self, why):
        if why not in self.texts:
            self.texts.append(why)
        return f"not measured ({self.texts.index(why) + 1})"


def row_of_today(cells):
    """What the rows of a line are, with the parameters that the study does not name."""
    return "; ".join(dict.fromkeys(f"{cell.row['table']}: {question_of(cell.row)}" for cell in cells)) or "–"


def table_of(table, rows, record):
    cells = today_cells(table, rows)
    found, elsewhere = against_the_best(table, cells) if table.today else ({}, 0)
    word, reason = verdict(table, found, elsewhere, cells)
    columns = sorted(table.today.columns if table.today else [], key=lambda c: c != "Shunt")  # ours first
    by_line = bool(columns) and not table.today.lines_are_systems
    heads = [{"text": f"{c}, published", "ours": False} for c in table.columns] + [
        {"text": f"{c}, today", "ours": c == "Shunt"} for c in columns]
    heads += [{"text": text, "ours": False} for text in ["Shunt over the best other", "today's row"] if by_line]
    lines, reasons = [], Reasons()
    for at in axis_of(table):
        values = table.rows.get(at, [None] * len(table.columns))
        line = [cells[at, c] for c in columns]
        texts = [interval(c.median, c.low, c.high) if isinstance(c, Cell) else reasons.cell(c) for c in line]
        if by_line:
            ratio, best = found.get(at, (None, ""))
            texts += [f"{interval(ratio.median, ratio.low, ratio.high)} of {best}" if ratio else "–",
                      row_of_today(c for c in line if isinstance(c, Cell))]
        lines.append([number(at), *map(number, values), *texts])
    used = [cell.row for cell in measured(cells).values()]
    return {"name": table.name, "question": table.question, "machine": table.machine, "how": table.how,
            "note": table.note, "why": table.today.why if table.today else "", "axis": table.axis, "unit": table.unit,
            "heads": heads, "lines": lines, "verdict": {"word": word, "reason": reason}, "reasons": reasons.texts,
            "record": record_of(table, used, rows, record), "plot": plot_of(table, measured(cells))}


def record_of(table, used, rows, record):
    if table.today and table.today.record and used:
        return table.today.record
    return record.of(used or [row for row in rows.all() if row["table"] in table.asks])


def plot_of(table, cells):
    if not table.rows and not cells:
        return ""
    if table.rows and all(isinstance(at, int) for at in table.rows):
        today = collections.defaultdict(list)
        for (at, column), c in cells.items():
            today[column].append((at, c.median, c.low, c.high))
        return plots.beside(published_points(table), dict(today), table.axis, table.unit)
    groups = {number(at): {f"{c}, published": middle(v) for c, v in zip(table.columns, values) if v is not None}
              for at, values in table.rows.items()}
    for (at, column), c in cells.items():
        groups.setdefault(number(at), {})[f"{column}, today"] = c.median
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
    """The median of the ratios within a repetition, where that is least."""
    if not slow_rows.is_compared(row) or row["system"] != "shunt":
        return "–"
    ratios = [slow_rows.within_repetitions(row, its) for its in peers if slow_rows.is_rival(its)]
    return min((f"{ratio:.2f}" for ratio in ratios if ratio), key=float, default="–")


def parts_of(questions):
    """Pictures that fit on a printed page, of about the same number of lines."""
    number = math.ceil(len(questions) / LINES_OF_A_PICTURE)
    size = math.ceil(len(questions) / max(number, 1)) or 1
    return [questions[begin:begin + size] for begin in range(0, len(questions), size)]


def own_table(name, question, rows, absent, record):
    mine = [row for row in rows.all() if row["table"] == name]
    out = {"name": name, "question": question, "lines": [], "plots": [], "absent": "; ".join(absent),
           "record": record.of(mine)}
    if not mine:
        return out | {"why": "; ".join(absent) or "there is no file of it"}
    by_question = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in mine:
        by_question[row["metric"]][question_of(row)][system_of(row)] = row
    for metric, groups in by_question.items():
        points = {}
        for asked, systems in groups.items():
            points[asked] = {}
            for system, row in systems.items():
                if all(v is None for v in row["samples"]):
                    out["lines"].append([asked, system, metric, *["unknown"] * 3, 0, 0, "–"])
                    continue
                s = summary(row["samples"])
                points[asked][system] = (s.median, s.low, s.high)
                out["lines"].append([asked, system, metric, number(s.median), number(s.low), number(s.high),
                                     len(s.samples), len(s.outliers), of_best_rival(row, systems.values())])
        unit = next(iter(next(iter(groups.values())).values()))["unit"]
        out["plots"] += [{"metric": metric, "svg": plots.dots(dict(part), f"{metric} ({unit})")}
                         for part in parts_of([(asked, systems) for asked, systems in points.items() if systems])]
    return out


# --- the whole -------------------------------------------------------------------------------------------------------


def slow_lines(folder, causes):
    """Those behind a rival first, then those that are only far from the ceiling; each the slowest first."""
    found = slow_rows.slow(slow_rows.newest(folder))
    behind = {name: (one[0] or 1) < slow_rows.BEHIND for name, one in found.items()}
    return [{"name": name, "of_rival": slow_rows.share(found[name][0]), "rival": found[name][1] or "none",
             "of_ceiling": slow_rows.share(found[name][2]), "cause": causes.get(name) or "unknown"}
            for name in sorted(found, key=lambda name: (not behind[name], found[name][0] if behind[name] else 0))]


def content(rows, folder, questions, absent, record):
    """What the page shows, as plain data. \param absent  by table, why systems are missing"""
    causes = json.loads(slow_rows.LIST.read_text(encoding="utf-8"))
    return {"made": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "confidence": CONFIDENCE, "slow": slow_lines(folder, causes),
            "studies": [{"key": s.key, "title": s.title, "source": s.source,
                         "tables": [table_of(t, rows, record) for t in s.tables],
                         "claims": [claim_of(c, rows) for c in s.claims], "how_asked": s.how_asked,
                         "answer": s.answer(rows)} for s in STUDIES],
            "tables": [own_table(name, question, rows, absent.get(name, []), record)
                       for name, question in questions.items()],
            "machine": record.machine}


def html(content_of_page):
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    numbers = itertools.count(1)
    environment.filters["in_place"] = lambda svg: markupsafe.Markup(plots.with_ids_of(f"p{next(numbers)}-", svg))
    return environment.get_template("page.html").render(content_of_page)
