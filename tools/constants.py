#!/usr/bin/env python3
"""Holds numbers in prose against the constants of the code that they state.

  tools/constants.py [ROOT]     a line a finding; exit 1 if there is one

Rules
  V1  In comments of src/ and in the pages beside the code, `name` (value) states a constant: one of that name, of the
      page's module if it has one, has that value. `switches_per_maintenance` (64)
  V2  Where a reader need not know the name, a row of STATED ties the sentence to the constant: the page has the
      sentence, and the number in its braces is the value of the expression.
A number may be a word up to twelve, and have a unit of bytes or of time.
"""
import collections
import re
import sys

import gates
import source

# (page, sentence with the number in braces, expression, files of its constants). In src/shunt where it starts with no
# other folder.
STATED = [
    ("actor/manager.hpp", "from each other worker {8,192} messages", "trains * messages_a_train",
     "actor/detail/outbox.cpp actor/detail/outbox.hpp"),
    ("actor/manager.hpp", "({512} for each worker", "2 * messages_a_train", "actor/detail/outbox.hpp"),
    ("actor/ref.hpp", "or after {512} messages", "most", "actor/detail/batch_length.hpp"),
    ("actor/ref.hpp", "of up to {256} messages", "messages_a_train", "actor/detail/outbox.hpp"),
    ("actor/ref.hpp", "Arguments of more than {40} bytes", "capacity", "actor/detail/envelope.hpp"),
    ("docs/manual/actors.md", "Up to {40} bytes of arguments", "capacity", "actor/detail/envelope.hpp"),
    ("docs/manual/actors.md", "or {256} messages are in the train", "messages_a_train", "actor/detail/outbox.hpp"),
    ("docs/manual/actors.md", "has handled {512} messages", "most", "actor/detail/batch_length.hpp"),
    ("docs/manual/actors.md", "worked for {20 microseconds}", "longest", "actor/detail/batch_length.hpp"),
    ("docs/manual/actors.md", "A mailbox holds {1,024} messages", "default_capacity", "actor/mailbox.hpp"),
    ("actor/DESIGN.md", "(workers - 1) * {32} trains * 256 messages", "trains", "actor/detail/outbox.cpp"),
    ("actor/DESIGN.md", "(workers - 1) * 32 trains * {256} messages", "messages_a_train", "actor/detail/outbox.hpp"),
    ("actor/DESIGN.md", "A train: {16 KiB}, 32 a dispatcher", "bytes_a_train", "actor/detail/outbox.hpp"),
    ("base/thread_cache.hpp", "slabs of {16 KiB}", "slab_bytes", "base/detail/slabs.hpp"),
    ("context/stack_pool.hpp", "any access: {17} pages", "widest", "context/stack_pool.cpp"),
    ("context/stack_pool.hpp", "of less than {256 KiB} an eighth", "usual", "context/stack_pool.cpp"),
    ("context/stack_pool.hpp", "whole pages and to {16 KiB}", "smallest", "context/stack_pool.cpp"),
    ("context/stack_pool.hpp", "during the last {64} calls", "trims_until_idle", "context/stack_pool.cpp"),
    ("context/stack_pool.hpp", "Of each size {4 MiB}", "warm_bytes", "context/stack_pool.cpp"),
    ("context/stack_pool.hpp", "and no more than {64}", "warm_at_most", "context/stack_pool.cpp"),
    ("context/DESIGN.md", "of {17} pages, or of an eighth", "widest", "context/stack_pool.cpp"),
    ("sched/runtime.hpp", "faults on any access: {68 KiB}", "widest * 4096", "context/stack_pool.cpp"),
    ("sched/runtime.hpp", "a stack of less than {256 KiB}", "usual", "context/stack_pool.cpp"),
    ("docs/manual/fibers.md", "faults on any access: {68 KiB}", "widest * 4096", "context/stack_pool.cpp"),
    ("docs/manual/fibers.md", "**Stacks** are {256 KiB}", "stack_bytes", "sched/runtime.hpp"),
    ("docs/manual/fibers.md", "| `stack_bytes` | {256 KiB} |", "stack_bytes", "sched/runtime.hpp"),
    ("docs/manual/fibers.md", "| `root_stack_bytes` | {8 MiB} |", "root_stack_bytes", "sched/runtime.hpp"),
    ("sched/fiber.hpp", "clock every {64} switches", "switches_per_maintenance", "sched/detail/worker.hpp"),
    ("sched/poller.hpp", "every {64} switches", "switches_per_maintenance", "sched/detail/worker.hpp"),
    ("sched/DESIGN.md", "every {512}, if there is no poller", "switches_per_maintenance * maintenances_per_loop",
     "sched/detail/worker.hpp"),
    ("sched/DESIGN.md", "that is alone counts as {eight}", "lone_yield_cost", "sched/detail/worker.hpp"),
    ("sched/DESIGN.md", "are ready lets {16} go first", "tasks_in_a_row", "sched/detail/worker.hpp"),
    ("pgas/options.hpp", "gives less than {1 KiB} a train", "useful_train", "pgas/detail/buffer_plan.cpp"),
    ("docs/manual/running.md", "may own, {16 MiB} by default", "default_budget", "pgas/options.hpp"),
    ("docs/manual/running.md", "every train can have at least {2 KiB}", "useful_plain_train",
     "pgas/detail/buffer_plan.cpp"),
    ("docs/manual/running.md", "trains would be below {1 KiB}", "useful_train", "pgas/detail/buffer_plan.cpp"),
    ("docs/manual/running.md", "On one host a train carries at most {16 KiB}", "usual_train", "pgas/options.hpp"),
    ("docs/manual/running.md", "a train may carry up to {63 KiB}", "long_train", "pgas/options.hpp"),
    ("docs/manual/trouble.md", "have not come to `run` within {10 s}", "time_to_agree", "pgas/report_failure.cpp"),
    ("docs/manual/running.md", "power of two of which {four} for each", "trains_a_buffer",
     "pgas/detail/buffer_plan.cpp"),
    ("docs/manual/running.md", "one for each into {8 MiB}", "open_trains", "pgas/detail/buffer_plan.cpp"),
    ("docs/manual/running.md", "not less than {512} bytes", "least_train", "pgas/detail/buffer_plan.cpp"),
    ("stm/tvar.hpp", "values of up to {32} bytes", "words_inline * 8", "stm/detail/engine/write_log.hpp"),
    ("docs/manual/transactions.md", "value of up to {32} bytes lies", "words_inline * 8",
     "stm/detail/engine/write_log.hpp"),
    ("stm/policies.hpp", "has lost {three} attempts", "attempts_at_once", "stm/detail/engine/transaction.hpp"),
    ("stm/policies.hpp", "has lost {eight} attempts", "attempts_before_irrevocable",
     "stm/detail/engine/transaction.hpp"),
    ("task/railway_options.hpp", "polls for some {20 us}", "spin_for", "task/detail/station_base.cpp"),
    ("task/railway_options.hpp", "has {8} bytes for each ns", "bytes_per_ns", "task/detail/train_shape.cpp"),
    ("task/railway_options.hpp", "a cache line, at most {16 KiB}", "max_train_bytes", "task/detail/train_shape.cpp"),
    ("docs/manual/railways.md", "for a train for some {20 microseconds}", "spin_for", "task/detail/station_base.cpp"),
    ("transport/DESIGN.md", "waits for the gate for {100 ms}", "gate_wait", "transport/network/liveness.cpp"),
    ("transport/DESIGN.md", "if that opens within {200 ms}", "abort_gate_limit", "transport/network/carrier.cpp"),
]
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "bytes": 1,
         "ns": 1, "us": 10**3, "microseconds": 10**3, "ms": 10**6, "milliseconds": 10**6, "s": 10**9}
WORDS = {word: n for n, word in enumerate("no one two three four five six seven eight nine ten eleven twelve".split())}
CONSTANT = re.compile(r"\b(?:constexpr|std::size_t|int|bool|nanoseconds)\s+(?:[\w:]+(?:<[\w:]+>)?\s+)*?(\w+)\s*"
                      r"(?:=\s*([^;,]+);|\{([^;{}]*(?:\{[^{}]*\}[^;{}]*)*)\};)")
PAIR = re.compile(r"`([a-z][a-z0-9_:]*)` \((\d[\d,']*(?:\.\d+)?(?: (?:%s))?)\)" % "|".join(UNITS))


def number(text):
    """The value of `8,192`, `64 KiB`, `three`; times are in nanoseconds."""
    first, _, unit = text.strip().partition(" ")
    if first in WORDS:
        return WORDS[first] * UNITS.get(unit, 1)
    value = float(first.replace(",", "").replace("'", ""))
    return value * UNITS.get(unit, 1)


def evaluate(expression, constants):
    """The value of an expression of C++, or None. `constants`: name to expressions, of which the first counts."""
    text = expression
    for _ in range(4):
        text = re.sub(r"\b[a-z_]\w*\b",
                      lambda m: f"({constants[m.group()][0]})" if m.group() in constants else m.group(), text)
    text = re.sub(r"(\d)'(?=\d)", r"\1", text)
    text = re.sub(r"\b(?:std::)?(?:size_t|u?int\d+_t|word|batch_key)\{", "(", text).replace("{", "(").replace("}", ")")
    text = re.sub(r"\b(0x[\da-fA-F]+|\d+(?:\.\d+)?)([uUlLzZ]+)\b", r"\1", text)
    text = re.sub(r"\b(\d+)(ns|us|ms|s)\b", lambda m: str(int(m.group(1)) * UNITS[m.group(2)]), text)
    if not re.fullmatch(r"[\d\s().+*/<-]+", text):
        return None
    try:
        return eval(text, {"__builtins__": {}})  # digits and operators only
    except (SyntaxError, ZeroDivisionError, TypeError):
        return None


def constants_of(text):
    """Constants, and members with a default value, of a file: name to expressions. Two structs may have one name."""
    found = collections.defaultdict(list)
    for match in CONSTANT.finditer(source.Source(text, keep_literals=True).code):
        expression = (match.group(2) or match.group(3) or "").strip()
        if "milliseconds" in match.group(0).split("{")[0]:
            expression = f"({expression}) * 1000000"
        found[match.group(1)].append(expression)
    return found


def values_of(expression, constants):
    """What an expression may be: of a name, each constant of that name."""
    found = [evaluate(each, constants) for each in constants.get(expression, [expression])]
    return [value for value in found if value is not None]


def place(path):
    return path if path.startswith(("docs/", "src/")) else "src/shunt/" + path


def flow(text):
    """The text with each run of blanks, line breaks and comment marks made one blank."""
    return re.sub(r"\s*\n\s*(?:///?<?|//!)?\s*|\s+", " ", text)


def check_stated(root, rows):
    for page, sentence, expression, files in rows:
        page = place(page)
        constants = {}
        for path in files.split():
            constants.update(constants_of(source.read(root, place(path))))
        stated = re.search(r"\{([^}]*)\}", sentence).group(1)
        values = values_of(expression, constants)
        if sentence.replace("{", "").replace("}", "") not in flow(source.read(root, page)):
            yield f"{page}: tools/constants.py ties a sentence that is not there: {sentence}"
        elif not values:
            yield f"tools/constants.py: {files} does not say what {expression} is"
        elif number(stated) not in values:
            yield f"{page}: `{sentence}`: {expression} is {' or '.join(map(str, values))}"


def check_pairs(root):
    """Yields (whether it holds, the finding) for each pair."""
    by_name = collections.defaultdict(list)  # name -> (module, value)
    for path in source.tracked(root, "src", suffixes=source.SUFFIXES):
        if not path.endswith(source.TESTS):
            constants = constants_of(source.read(root, path))
            for name in constants:
                by_name[name] += [(source.module_of(path), value) for value in values_of(name, constants)]
    for path in source.tracked(root, "src", suffixes=source.SUFFIXES + (".md",)):
        for line, text in enumerate(source.read(root, path).split("\n"), 1):
            for name, stated in PAIR.findall(text):
                known = by_name.get(name.split("::")[-1], [])
                own = [value for module, value in known if module == source.module_of(path)]
                values = own or [value for _, value in known]
                if not values:
                    yield False, f"{path}:{line}: there is no constant `{name}`"
                elif number(stated) not in values:
                    yield False, f"{path}:{line}: `{name}` is {' or '.join(map(str, values))}, not {stated}"
                else:
                    yield True, ""


def check(root, rows=None):
    """Returns (how many were looked at, the findings)."""
    rows = STATED if rows is None else rows
    pairs = list(check_pairs(root))
    found = list(check_stated(root, rows)) + [what for holds, what in pairs if not holds]
    return len(rows) + len(pairs), found


def main(arguments):
    looked, found = check(gates.root_in(arguments, __file__))
    return gates.report(looked - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
