"""Pictures for the page: SVG as text, to be put into it."""
import io
import itertools
import math
import re

import matplotlib
from matplotlib.colors import TABLEAU_COLORS
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import LogLocator, NullLocator
from matplotlib.transforms import Bbox

MARKS = "osD^vPX*<>hd"
COLOURS = list(TABLEAU_COLORS.values())
OURS = "#c2185b"
SIZE, SMALL = 9, 7  # points: most texts; names of lines and of systems
NUMBERS = .95  # inches: an axis's numbers, and its name
matplotlib.rcParams.update({"svg.fonttype": "path", "font.size": SIZE, "axes.spines.top": False,
                            "axes.spines.right": False, "axes.titley": 1.0, "svg.hashsalt": "shunt"})


def inches(texts, size):
    """Of the widest."""
    font = FontProperties(size=size)
    points = (text_to_path.get_text_width_height_descent(text, font, False)[0] for text in set(texts))
    return max(points, default=0) / 72


def as_svg(figure, left=NUMBERS, right=.1, below=.5, above=.1):
    """\param left, right, below, above  inches around the axes. matplotlib finds them too (bbox_inches="tight"), but
    draws the picture twice for that."""
    width, height = figure.get_size_inches()
    axes, text = figure.subplotpars, io.StringIO()
    edges = Bbox([[axes.left * width - left, axes.bottom * height - below],
                  [axes.right * width + right, axes.top * height + above]])
    figure.savefig(text, format="svg", bbox_inches=edges, metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg"):]


def beside_legend(axes, names):
    """A legend at the right of the axes. \return the inches that it takes at the right, and below the axes' top"""
    axes.legend(fontsize=SMALL, loc="upper left", bbox_to_anchor=(1, 1))
    return inches(names, SMALL) + .55, .17 * len(names) + .2


def height_of_axes(figure):
    return (figure.subplotpars.top - figure.subplotpars.bottom) * figure.get_size_inches()[1]


def log_scale(axes, name, values):
    """Without minor ticks, each of which takes as long to draw as a line."""
    axes.set(**{f"{name}scale": "log"})
    axis = getattr(axes, f"{name}axis")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(values) / min(values) < 100 else (1,)))
    axis.set_minor_locator(NullLocator())


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
    figure = Figure(figsize=(8, 3.2))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, series, title in zip(panels, [published, today], ["published", "today"]):
        draw_lines(axes, series)
        axes.set_title(title)
        axes.set_xlabel(axis)
        axes.grid(alpha=.3)
        xs = [p[0] for points in series.values() for p in points]
        if xs and min(xs) > 0 and max(xs) / min(xs) > 30:
            log_scale(axes, "x", xs)
        if series:
            axes.legend(fontsize=SMALL)
        else:
            axes.text(.5, .5, "not measured", ha="center", va="center", transform=axes.transAxes)
    panels[0].set_ylabel(unit)
    values = [p[1] for points in [*published.values(), *today.values()] for p in points if p[1] > 0]
    if is_wide(values):
        log_scale(panels[0], "y", values)
    return as_svg(figure, above=.3)


def is_wide(values):
    return bool(values) and max(values) / min(values) > 20


def dots(groups, unit):
    """groups: question -> {system: (middle, low, high)}: a line a question, a mark a system. \\return SVG"""
    names = list(dict.fromkeys(itertools.chain.from_iterable(groups.values())))
    figure = Figure(figsize=(8, max(1.6, .32 * len(groups) + .9)))
    axes = figure.subplots()
    for number, name in enumerate(names):
        at = [(y, systems[name]) for y, systems in enumerate(groups.values()) if name in systems]
        middle = [v[0] for _, v in at]
        spread = [[max(v[0] - v[1], 0) for _, v in at], [max(v[2] - v[0], 0) for _, v in at]]
        axes.errorbar(middle, [y for y, _ in at], xerr=spread, fmt=MARKS[number % len(MARKS)], ms=4, capsize=2, lw=1,
                      color=colour(name, number), label=name)
    axes.set_yticks(range(len(groups)), list(groups), fontsize=SMALL)
    axes.invert_yaxis()
    values = [v[0] for systems in groups.values() for v in systems.values() if v[0] > 0]
    if is_wide(values):
        log_scale(axes, "x", values)
    axes.set_xlabel(unit)
    axes.grid(alpha=.3)
    right, legend = beside_legend(axes, names)
    below = max(.5, legend - height_of_axes(figure))
    return as_svg(figure, left=inches(groups, SMALL) + .2, right=right, below=below)


def bars(groups, unit):
    """groups: name -> {column: value}, for what was only published. \\return SVG"""
    columns = list(dict.fromkeys(itertools.chain.from_iterable(groups.values())))
    figure = Figure(figsize=(8, 2.8))
    axes = figure.subplots()
    width = .8 / max(len(columns), 1)
    for number, column in enumerate(columns):
        axes.bar([x + number * width for x in range(len(groups))],
                 [groups[name].get(column, math.nan) for name in groups], width, label=column,
                 color=colour(column, number))
    axes.set_xticks([x + .4 - width / 2 for x in range(len(groups))], list(groups), rotation=30, ha="right",
                    fontsize=SMALL)
    axes.set_ylabel(unit)
    right, legend = beside_legend(axes, columns)
    name = inches(groups, SMALL)
    below = max(name * math.sin(math.radians(30)) + .3, legend - height_of_axes(figure))
    return as_svg(figure, left=max(NUMBERS, name * math.cos(math.radians(30))), right=right, below=below)
