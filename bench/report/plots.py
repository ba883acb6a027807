"""Pictures for the page: SVG as text, to be put into it."""
import io
import itertools
import math
import re

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  after the choice of a backend without a display

MARKS = "osD^vPX*<>hd"
COLOURS = pyplot.get_cmap("tab10").colors
OURS = "#c2185b"
matplotlib.rcParams.update({"svg.fonttype": "path", "font.size": 9, "axes.spines.top": False,
                            "axes.spines.right": False, "svg.hashsalt": "shunt"})


def as_svg(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg"):]


def with_ids_of(prefix, svg):
    """Ids are one name space over a page, and matplotlib gives the same ones in each picture: a prefix tells them
    apart. Ids that nothing refers to go."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg))
    svg = re.sub(r' id="([^"]*)"', lambda m: f' id="{prefix}{m[1]}"' if m[1] in used else "", svg)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}", svg)


def colour(name, number):
    return OURS if name.startswith("Shunt") or name.startswith("shunt") else COLOURS[number % len(COLOURS)]


def draw_lines(axes, series):
    """series: name -> [(x, middle, low, high)]"""
    for number, (name, points) in enumerate(series.items()):
        points = sorted(points)
        x, y = [p[0] for p in points], [p[1] for p in points]
        spread = [[max(p[1] - p[2], 0) for p in points], [max(p[3] - p[1], 0) for p in points]]
        axes.errorbar(x, y, yerr=spread, label=name, color=colour(name, number), capsize=2, lw=1.2,
                      marker=MARKS[number % len(MARKS)], ms=4)


def beside(published, today, axis, unit):
    """Two panels of one shape: what was published, and what is measured today. \\return SVG"""
    figure, panels = pyplot.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    for axes, series, title in zip(panels, [published, today], ["published", "today"]):
        draw_lines(axes, series)
        axes.set_title(title)
        axes.set_xlabel(axis)
        axes.grid(alpha=.3)
        xs = [p[0] for points in series.values() for p in points]
        if xs and min(xs) > 0 and max(xs) / min(xs) > 30:
            axes.set_xscale("log")
        if series:
            axes.legend(fontsize=7)
        else:
            axes.text(.5, .5, "not measured", ha="center", va="center", transform=axes.transAxes)
    panels[0].set_ylabel(unit)
    if is_wide(list(published.values()) + list(today.values())):
        panels[0].set_yscale("log")
    return as_svg(figure)


def is_wide(all_points):
    values = [p[1] for points in all_points for p in points if p[1] > 0]
    return bool(values) and max(values) / min(values) > 20


def dots(groups, unit):
    """groups: question -> {system: (middle, low, high)}: a line a question, a mark a system. \\return SVG"""
    names = list(dict.fromkeys(itertools.chain.from_iterable(groups.values())))
    figure, axes = pyplot.subplots(figsize=(8, max(1.6, .32 * len(groups) + .9)))
    for number, name in enumerate(names):
        at = [(y, systems[name]) for y, systems in enumerate(groups.values()) if name in systems]
        middle = [v[0] for _, v in at]
        spread = [[max(v[0] - v[1], 0) for _, v in at], [max(v[2] - v[0], 0) for _, v in at]]
        axes.errorbar(middle, [y for y, _ in at], xerr=spread, fmt=MARKS[number % len(MARKS)], ms=4, capsize=2, lw=1,
                      color=colour(name, number), label=name)
    axes.set_yticks(range(len(groups)), list(groups), fontsize=7)
    axes.invert_yaxis()
    values = [v[0] for systems in groups.values() for v in systems.values() if v[0] > 0]
    if values and max(values) / min(values) > 20:
        axes.set_xscale("log")
    axes.set_xlabel(unit)
    axes.grid(alpha=.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return as_svg(figure)


def bars(groups, unit):
    """groups: name -> {column: value}, for what was only published. \\return SVG"""
    columns = list(dict.fromkeys(itertools.chain.from_iterable(groups.values())))
    figure, axes = pyplot.subplots(figsize=(8, 2.8))
    width = .8 / max(len(columns), 1)
    for number, column in enumerate(columns):
        axes.bar([x + number * width for x in range(len(groups))],
                 [groups[name].get(column, math.nan) for name in groups], width, label=column,
                 color=colour(column, number))
    axes.set_xticks([x + .4 - width / 2 for x in range(len(groups))], list(groups), rotation=30, ha="right", fontsize=7)
    axes.set_ylabel(unit)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return as_svg(figure)
