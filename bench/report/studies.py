"""What a study is to the page: its published tables, what stands beside them today, and its claims."""
import dataclasses

from report.rows import Asked


@dataclasses.dataclass(frozen=True)
class Today:
    """Which rows of today stand beside a published table."""

    columns: list  # may name systems that the study did not have
    ask: object  # (axis value, column) -> Asked, Share, or a text: why nothing of today can stand there
    scale: object = lambda value, at: value  # to the study's unit
    more_rows: list = dataclasses.field(default_factory=list)  # axis values that the study did not have
    lines_are_systems: bool = False  # else columns are
    why: str = ""
    record: str = ""  # where the figures come from, if not from recorded rows


def of(table, metric, systems, params, free=(), absent=None, why_none=lambda at, column: "", **other):
    """Systems by column, (system, variant); `params`: axis value -> what the row has, or why there is none; `absent`:
    by column, why that system is not measured; `why_none`: (axis value, column) -> why no such row is recorded."""
    def ask(at, column):
        if column not in systems:
            return absent[column]
        wanted = params(at)
        if isinstance(wanted, str):
            return wanted
        return Asked(table, metric, *systems[column], wanted, free, why_none(at, column))
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
    asks: tuple = ()  # of a table of claims: the tables of today that they are asked of


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
    answer: object = lambda rows: ""  # rows -> the study's question, answered in words
    how_asked: str = ""  # what counts as true
