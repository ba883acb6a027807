#!/usr/bin/env python3
"""Holds the costs that public headers state against what table `costs` has measured.

  tools/costs.py [ROOT]     a line a finding; exit 1 if there is one

Rules
  K1  Each number of nanoseconds or microseconds in a public header is in a row of STATED, of NOT_MEASURED, or of
      STATED in constants.py. Headers in folders detail/ are private.
  K2  The header has the sentence of each row.
  K3  The medians of the row's items in bench/results/costs.json are the number in the braces, to a factor of two; a
      range has them within. `a - b` is how much more a takes. The last run of an item counts. It has five samples, and
      each item has a row.
"""
import json
import re
import sys

import constants
import gates
import source

RESULTS = "bench/results/costs.json"
FACTOR = 2
LEAST_SAMPLES = 5

# (header in src/shunt, sentence with the number in braces, items of bench/costs/shunt.cpp: several with commas between)
STATED = [
    ("actor/ref.hpp", "Cost: about {5 ns} to an actor of the same worker", "tell"),
    ("actor/ref.hpp", "about {20 ns} where many answers are waited for together", "ask_together"),
    ("actor/ref.hpp", "{30 to 50 ns} where a fiber or a handler asks and waits one by one",
     "ask_in_fiber, ask_in_handler"),
    ("base/asymmetric_fence.hpp", "for each CPU concerned: {0.5 to 10 us}", "heavy_fence"),
    ("base/clock.hpp", "around it. Cost: about {10 ns}.", "ticks"),
    ("base/random.hpp", "Cost: one block, some {10 to 20 ns}", "counter_random"),
    ("context/backtrace.hpp", "Cost: about {100 ns} a frame", "backtrace_frame"),
    ("context/stack_pool.hpp", "Cost: some {4 ns} if there is nothing to do", "trim_nothing"),
    ("context/stack_pool.hpp", "{1 us} a stack in long runs", "trim_in_runs"),
    ("context/stack_pool.hpp", "in long runs, {2 us} alone", "trim_alone"),
    ("context/switch.hpp", "Cost: {1 to 3 ns}, see above", "switch_to"),
    ("io/file.hpp", "with io_uring some {1 us} where the page cache serves it", "file_read_io_uring"),
    ("io/file.hpp", "else two switches of threads, some {10 us}", "file_read_helper"),
    ("io/reactor.hpp", "Cost: two switches of threads, some {10 us}", "blocking"),
    ("sched/fiber.hpp", "Cost: about {3 ns} with a few fibers", "yield_2"),
    ("sched/fiber.hpp", "{15 ns} with fifty thousand", "yield_50000"),
    ("sched/fiber.hpp", "and outside of fibers, it does nothing. Cost: about {2 ns}", "require_stack"),
    ("base/futex.hpp", "some {250 ns} where no thread sleeps", "futex_wake"),
    ("sched/observe/deadlock.hpp", "some {2 ns} for each fiber that is looked at", "deadlock_fiber"),
    ("sched/runtime.hpp", "A switch takes some {30 ns} more", "yield_migrating - yield_2"),
    ("sched/runtime.hpp", "a fork of fork_join some {5 ns}", "fork_join_migrating - fork_join"),
    ("sched/runtime.hpp", "std::bad_alloc. Cost: about {100 ns}. The stack is taken", "spawn"),
    ("sched/runtime.hpp", "on a thread that is no worker. Cost: about {3 ns}", "has_runnable"),
    ("sched/waits_forbidden.hpp", "may park and yield now. Cost: about {1 ns}", "may_wait"),
    ("stm/atomically.hpp", "Cost: {3 to 30 ns}, and what the body's reads and writes cost",
     "atomically_read, atomically_read_alone, atomically_write, atomically_write_alone"),
    ("stm/named.hpp", "Cost: a lock and some {50 ns}", "named"),
    ("stm/tvar.hpp", "Cost: {5 to 30 ns}. \\throws as tx::write()", "tvar_store, tvar_store_alone"),
    ("stm/tx.hpp", "Cost: about {1 ns} for a variable in the nearest cache", "tx_read"),
    ("stm/tx.hpp", "keeps no log. Cost: about {1 ns}", "snapshot_read, snapshot_read_alone"),
    ("task/coroutine.hpp", "else one spawn, about {100 ns}", "co_await"),
    ("task/finish.hpp", "Cost: some {8 ns} and the tasks", "finish"),
    ("task/finish.hpp", "then there is no task. Cost: about {100 ns}", "async"),
    ("task/fork_join.hpp", "Cost: about {2 ns} if no worker steals", "fork_join"),
    ("task/fork_join.hpp", "Cost: some {0.5 ns} a grain", "parallel_for"),
    ("task/fork_join.hpp", "Cost: some {8 ns} a grain", "parallel_reduce"),
    ("templet/engine.hpp", "one otherwise: some {5 ns}", "templet_send"),
    ("wire/batch.hpp", "Cost: some {5 ns}", "head_check"),
]
# (header, sentence, why no item measures it)
NOT_MEASURED = [
    ("base/clock.hpp", "isb waits for some {10 ns}", "an instruction of AArch64"),
    ("templet/engine.hpp", "look around for some {50 us}", "follows from looks_before_park and the pause's length"),
    ("transport/network/backoff.hpp", "a poll takes some {5 us}", "is MPI's, with several processes"),
    ("transport/shmem/board.hpp", "Cost: {20 ns}", "is OpenSHMEM's, with several processes"),
]
COST = re.compile(r"(?<![\w.,'])\d[\d.,']*(?: to \d[\d.,']*)? (?:ns|us|nanoseconds|microseconds)\b")


def plain(sentence):
    return sentence.replace("{", "").replace("}", "")


def bounds(stated):
    """What `5 ns` and `10 to 20 ns` allow, in nanoseconds."""
    words, unit = stated.rsplit(" ", 1)
    low, _, high = words.partition(" to ")
    if high:
        return constants.number(f"{low} {unit}"), constants.number(f"{high} {unit}")
    return constants.number(stated) / FACTOR, constants.number(stated) * FACTOR


def is_public(path):
    return path.endswith(".hpp") and "/detail/" not in path


def untied(text, rows):
    """The costs in a header's running text that no sentence of `rows` has in its braces."""
    tied = set()
    for sentence in rows:
        before = sentence.index("{")
        tied.update(match.start() + before for match in re.finditer(re.escape(plain(sentence)), text))
    return [text[max(0, match.start() - 40):match.end() + 20] for match in COST.finditer(text)
            if match.start() not in tied]


def check_headers(root, sentences):
    """`sentences`: header -> its rows' sentences. Yields (whether it holds, the finding)."""
    for path in filter(is_public, source.tracked(root, "src", suffixes=(".hpp",))):
        text = constants.flow(source.read(root, path))
        for where in untied(text, sentences.get(path, [])):
            yield False, f"{path}: no row of tools/costs.py ties the cost in `{where}`"


def check_sentences(root, rows):
    for page, sentence, _ in rows:
        page = constants.place(page)
        there = plain(sentence) in constants.flow(source.read(root, page))
        yield there, f"{page}: tools/costs.py ties a sentence that is not there: {sentence}"


def recorded(root):
    """Item -> its last run."""
    rows = (json.loads(line) for line in source.read(root, RESULTS).splitlines())
    return {row["params"]["what"]: row for row in rows}


def check_numbers(rows, runs):
    for page, sentence, items in rows:
        stated = re.search(r"\{([^}]*)\}", sentence).group(1)
        low, high = bounds(stated)
        for item in items.split(", "):
            parts = item.split(" - ")
            missing = [part for part in parts if part not in runs]
            if missing:
                yield False, f"{RESULTS}: has no `{missing[0]}`, which {page} states"
                continue
            value = runs[parts[0]]["median"] - sum(runs[part]["median"] for part in parts[1:])
            yield low <= value <= high, f"{page}: `{sentence}`: `{item}` is {value:.3g} ns"


def check_runs(rows, runs):
    used = {part for _, _, items in rows for item in items.split(", ") for part in item.split(" - ")}
    for item, run in runs.items():
        few = len(run["samples"]) < LEAST_SAMPLES or not run["checked"]
        yield not few, f"{RESULTS}: `{item}` has too few samples, or wrong ones"
        yield item in used, f"{RESULTS}: no row of tools/costs.py has `{item}`"


def check(root, rows=None, not_measured=None, of_constants=None):
    """Returns (how many were looked at, the findings)."""
    rows = STATED if rows is None else rows
    not_measured = NOT_MEASURED if not_measured is None else not_measured
    of_constants = constants.STATED if of_constants is None else of_constants
    sentences = {}
    for page, sentence, *_ in [*rows, *not_measured, *of_constants]:
        sentences.setdefault(constants.place(page), []).append(sentence)
    runs = recorded(root)
    seen = [*check_headers(root, sentences), *check_sentences(root, [*rows, *not_measured]),
            *check_numbers(rows, runs), *check_runs(rows, runs)]
    return len(seen), [what for holds, what in seen if not holds]


def main(arguments):
    looked, found = check(gates.root_in(arguments, __file__))
    return gates.report(looked - len(found), found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
