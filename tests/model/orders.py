#!/usr/bin/env python3
"""Checks memory orders against the rules of C++20, on protocols cut down to a dozen accesses.

Invariants
  O1  A protocol that holds was searched whole: every execution that the standard's rules allow was looked at.
  O2  Each order that a protocol needs has a mutant with a weaker one. It must fail: the rules allow what must not be.
  O3  A protocol names the file whose accesses it repeats, in the same order and with the same memory orders; what its
      verdict rests on is looked up there. A failure of that kind says: change the protocol here as well.

The rules are those of [intro.races] and [atomics.order] of C++20: modification orders, coherence, release sequences
that only read-modify-writes continue, fences, and one order S of all sequentially consistent operations. One rule is
stronger than the standard's text and weaker than every machine: no load reads a store that comes after it (Lahav et
al., doi:10.1145/3062341.3062352). Plain accesses that "happens before" does not order are a race, which is a failure.

The kernel's membarrier is no part of the standard. Where a protocol uses it, each side has a seq_cst fence here.

Usage: orders.py [NAME...]   Exit status: 0 all as expected, 1 some were not, 2 wrong use.
"""
import pathlib
import sys

RLX, ACQ, REL, AR, SC, PLAIN = "relaxed", "acquire", "release", "acq_rel", "seq_cst", "plain"


class Race(Exception):
    pass


# What a thread does. A thread is a generator: it yields one of these, is sent what was read, and returns what the
# property is about.
def load(at, order): return ("R", at, None, None, order)
def store(at, value, order): return ("W", at, None, value, order)
def exchange(at, value, order): return ("U", at, None, value, order)
def compare_exchange(at, expected, value, order): return ("U", at, expected, value, order)
def fence(order): return ("F", None, None, None, order)
def read(at): return ("R", at, None, None, PLAIN)
def write(at, value=1): return ("W", at, None, value, PLAIN)


class Event:
    __slots__ = ("name", "kind", "at", "value", "order", "seen", "source")

    def __init__(self, name, kind, at, value, order):
        self.name, self.kind, self.at, self.value, self.order = name, kind, at, value, order
        self.seen = self.source = None  # of a read: the value, and the name of its store

    def reads(self): return self.kind in "RU"
    def writes(self): return self.kind in "WU"
    def releases(self): return self.kind in "WUF" and self.order in (REL, AR, SC)
    def acquires(self): return self.kind in "RUF" and self.order in (ACQ, AR, SC)


def close(rows):
    for k, row in enumerate(rows):
        bit = 1 << k
        for i in range(len(rows)):
            if rows[i] & bit:
                rows[i] |= rows[k]
    return rows


def then(a, b):
    """a ; b"""
    out = []
    for row in a:
        all_of = 0
        for k in range(len(b)):
            if row >> k & 1:
                all_of |= b[k]
        out.append(all_of)
    return out


def union(a, *others):
    out = a[:]
    for rows in others:
        out = [x | y for x, y in zip(out, rows)]
    return out


def acyclic(rows):
    return not any(row >> i & 1 for i, row in enumerate(rows))


def consistent(events, order_of_stores):
    """events: reads after their stores; order_of_stores: names, by place. Raises Race."""
    n = len(events)
    number = {e.name: i for i, e in enumerate(events)}
    none = [0] * n
    sb, sw, rf, mo, fr = none[:], none[:], none[:], none[:], none[:]
    for i, a in enumerate(events):
        for j, b in enumerate(events):
            if a.name[0] == b.name[0] and a.name[1] < b.name[1] or a.name[0] < 0 <= b.name[0]:
                sb[i] |= 1 << j
    for stores in order_of_stores.values():
        for i, a in enumerate(stores):
            for b in stores[i + 1:]:
                mo[number[a]] |= 1 << number[b]
    for j, r in enumerate(events):
        if not r.reads():
            continue
        w = number[r.source]
        rf[w] |= 1 << j
        fr[j] |= mo[w] & ~(1 << j)
        # The release sequences that the read store belongs to, by their heads.
        ends = [k for k, e in enumerate(events) if e.acquires() and (k == j or e.kind == "F" and sb[j] >> k & 1)]
        head = w
        while r.order != PLAIN:
            for k, e in enumerate(events):
                if e.releases() and (k == head or e.kind == "F" and sb[k] >> head & 1):
                    for end in ends:
                        sw[k] |= 1 << end
            if events[head].kind != "U":
                break
            head = number[events[head].source]
    hb = close(union(sb, sw))
    eco = close(union(rf, mo, fr))
    if not acyclic(hb) or not acyclic(eco):
        return False
    for i in range(n):
        for j in range(n):
            if hb[i] >> j & 1 and eco[j] >> i & 1:
                return False
    # S, [atomics.order] 4: what must come before what in it.
    strong = sb[:]
    for i, row in enumerate(then(then(sb, hb), sb)):
        strong[i] |= row
    for i in range(n):
        for j in range(n):
            fences = "F" in (events[i].kind, events[j].kind)
            if sw[i] >> j & 1 and events[i].order == events[j].order == SC and not fences:
                strong[i] |= 1 << j
    strong = close(strong)
    total = [i for i, e in enumerate(events) if e.order == SC]
    before = none[:]
    for x in total:
        for y in total:
            if x == y:
                continue
            first = [x] + ([k for k in range(n) if hb[x] >> k & 1] if events[x].kind == "F" else [])
            last = [y] + ([k for k in range(n) if hb[k] >> y & 1] if events[y].kind == "F" else [])
            if strong[x] >> y & 1 or any(eco[a] >> b & 1 for a in first for b in last):
                before[x] |= 1 << y
    if not acyclic(close(before)):
        return False
    newest = events[-1]
    for i, e in enumerate(events[:-1]):
        if e.at is None or e.at != newest.at or PLAIN not in (e.order, newest.order):
            continue
        if (e.writes() or newest.writes()) and not hb[i] >> (n - 1) & 1:
            raise Race(e.at)
    return True


def search(threads, start=()):
    """Every execution: yields what the threads return. Raises Race."""
    places = {}
    start = dict(start)

    def next_of(thread, seen):
        run = threads[thread]()
        try:
            step = next(run)
            for value in seen:
                step = run.send(value)
            return step, None
        except StopIteration as end:
            return None, end.value

    def go(events, stores, progress):
        key = (tuple((e.name, e.source, e.value) for e in sorted(events, key=lambda e: e.name)),
               tuple(sorted((at, tuple(names)) for at, names in stores.items())))
        if key in places:
            return
        places[key] = True
        steps = [next_of(t, seen) for t, seen in enumerate(progress)]
        if all(step is None for step, _ in steps):
            yield tuple(result for _, result in steps)
            return
        known = {e.name: e for e in events}

        def try_with(t, event, names):
            changed = dict(stores)
            if event.writes():
                changed[event.at] = names
            grown = events + [event]
            if consistent(grown, changed):
                further = list(progress)
                further[t] = progress[t] + (event.seen,)
                yield from go(grown, changed, further)

        # Stores and fences first: they only add to what reads may see, so it makes no difference when they are done.
        for t, (step, _) in enumerate(steps):
            if step is None or step[0] in "RU":
                continue
            kind, at, _, value, order = step
            event = Event((t, len(progress[t])), kind, at, value, order)
            names = stores.get(at, [])
            for place in range(1, len(names) + 1) if kind == "W" else (0,):
                if kind == "W" and place < len(names) and known[names[place]].source == names[place - 1]:
                    continue  # nothing comes between a read-modify-write and what it has read
                yield from try_with(t, event, names[:place] + [event.name] + names[place:])
            return
        for t, (step, _) in enumerate(steps):
            if step is None:
                continue
            kind, at, expected, value, order = step
            names = stores[at]
            for place, name in enumerate(names):
                seen = known[name].value
                really = kind if expected is None or seen == expected else "R"
                if really == "U" and place + 1 < len(names) and known[names[place + 1]].source == name:
                    continue
                event = Event((t, len(progress[t])), really, at, value if really == "U" else None, order)
                event.seen, event.source = seen, name
                yield from try_with(t, event, names[:place + 1] + [event.name] + names[place + 1:])

    every = set()
    for thread in threads:  # the places that occur, found by running each thread on zeros
        for guess in (0, 1, 2, 3):
            run = thread()
            try:
                step = next(run)
                while True:
                    every.add(step[1])
                    step = run.send(guess)
            except StopIteration:
                pass
    every.discard(None)
    events, stores = [], {}
    for i, at in enumerate(sorted(every)):
        events.append(Event((-1 - i, 0), "W", at, start.get(at, 0), RLX))
        stores[at] = [events[-1].name]
    yield from go(events, stores, [()] * len(threads))


failed = 0
passed = 0
wanted = sys.argv[1:]
known_names = set()


def check(name, claim, expected, threads, must_not=lambda *seen: False, start=()):
    """expected: "holds", "fails" (of a mutant: what must not be is allowed) or "races"."""
    global failed, passed
    known_names.add(name)
    if wanted and name not in wanted:
        return
    verdict, count = "holds", 0
    try:
        for seen in search(threads, start):
            count += 1
            if must_not(*seen):
                verdict = "fails"
                break
    except Race:
        verdict = "races"
    good = verdict == expected
    passed += good
    failed += not good
    print(f"{'ok' if good else 'FAIL':4} {name:12} {claim:88} {verdict:5} {count:6} executions")


def stands(name, file, *lines):
    """O3: these lines stand in the code, spaces apart."""
    global failed, passed
    known_names.add(name)
    if wanted and name not in wanted:
        return
    squeeze = lambda text: "".join(text.split())
    code = squeeze((pathlib.Path(__file__).resolve().parents[2] / "src/shunt" / file).read_text(encoding="utf-8"))
    for line in lines:
        good = squeeze(line) in code
        passed += good
        failed += not good
        if not good:
            print(f"FAIL {name:12} {file} does not say any more: {line}")


# --- the rules themselves, by examples whose answers are known ---
def two(first, second):
    """Each thread does one thing, then reads; `between` is a fence, or nothing."""
    def make(mine, its, order, between):
        def thread():
            yield store(mine, 1, order[0])
            if between:
                yield fence(between)
            return (yield load(its, order[1]))
        return thread
    return make("x", "y", *first), make("y", "x", *second)


neither = lambda a, b: a == 0 and b == 0
strict, loose = ((SC, SC), None), ((REL, ACQ), None)
check("rules", "store buffering: with seq_cst one of the two sees the other", "holds", two(strict, strict), neither)
check("rules", "store buffering: not so where one side is release and acquire", "fails", two(strict, loose), neither)
fenced, weakly = ((RLX, RLX), SC), ((RLX, RLX), AR)
check("rules", "store buffering: fences do for relaxed accesses", "holds", two(fenced, fenced), neither)
check("rules", "store buffering: a fence meets seq_cst accesses", "holds", two(fenced, strict), neither)
check("rules", "store buffering: a fence of acq_rel is none", "fails", two(weakly, fenced), neither)


def hand_over(given, taken, again=None, exchanges=False):
    """Thread 0 gives x to thread 1; `again`: by a later store of its own, or an exchange of a third thread."""
    def gives():
        yield write("x")
        yield store("flag", 1, given)
        if again and not exchanges:
            yield store("flag", 2, again)

    def takes():
        if (yield load("flag", taken)) == (2 if again else 1):
            yield read("x")

    def third():
        yield compare_exchange("flag", 1, 2, again)
    return (gives, takes, third) if exchanges else (gives, takes)


check("rules", "release and acquire hand over a plain variable", "holds", hand_over(REL, ACQ))
check("rules", "relaxed does not", "races", hand_over(RLX, ACQ))
check("rules", "a later relaxed store of the same thread does not carry it on", "races", hand_over(REL, ACQ, RLX))
check("rules", "another thread's relaxed exchange does", "holds", hand_over(REL, ACQ, RLX, True))


def four(order):
    def writes(at):
        def thread():
            yield store(at, 1, order)
        return thread

    def looks(a, b):
        def thread():
            return (yield load(a, order)), (yield load(b, order))
        return thread
    return writes("x"), writes("y"), looks("x", "y"), looks("y", "x")


disagree = lambda _, __, a, b: a == (1, 0) and b == (1, 0)
check("rules", "two that look on agree on the order of seq_cst stores", "holds", four(SC), disagree)
check("rules", "they need not with acquire and release", "fails", four(REL)[:2] + four(ACQ)[2:], disagree)


# --- sched/jobs/detail/job_ring.hpp, edge `pushed`: push A, take A, push B, push C, take C; a thief finds B by the
# last ---
def ring(take):
    def owner():
        yield store("slot1", 1, RLX)
        yield store("tail", 2, REL)
        yield store("tail", 1, take)
        yield fence(SC)  # pair `last`: the light one
        if (yield load("head", RLX)) > 1:
            return       # take_surely()
        yield write("B")
        yield store("slot1", 2, RLX)
        yield store("tail", 2, REL)
        yield store("tail", 3, REL)
        yield store("tail", 2, take)

    def thief():
        yield store("head", 2, SC)
        yield fence(SC)  # the heavy one
        if (yield load("tail", SC)) < 2:
            return
        if (yield load("slot1", RLX)) == 2:
            yield read("B")
    return owner, thief


empty = [("tail", 1), ("head", 1)]
check("job_ring", "a thief that finds a job by a take's store sees what it holds", "holds", ring(REL), start=empty)
check("job_ring", "mutant: a take stores tail_ relaxed", "races", ring(RLX), start=empty)


stands("job_ring", "sched/jobs/detail/job_ring.hpp",
       "tail_.store(at + 1, std::memory_order_release);", "tail_.store(at, std::memory_order_release);",
       "tail_.store(tail, std::memory_order_release);", "if (tail_.load(std::memory_order_seq_cst) <= head)")


# The same file, pair `asleep`, with the bits of sched/detail/sleepers.hpp; fences symmetric.
def wish(claim=SC, push=SC):
    def owner():
        yield exchange("tail", 1, push)
        if (yield load("limit", SC)) == 0:
            yield exchange("limit", 1000, SC)
            return (yield load("bits", claim)) != 0  # a sleeper is claimed
        return False

    def sleeper():
        yield exchange("bits", 1, SC)
        if (yield load("limit", SC)) != 0:
            yield exchange("limit", 0, SC)
        return (yield load("tail", SC)) == 0         # sleeps
    return owner, sleeper


lost = lambda told, sleeps: sleeps and not told
check("job_ring", "a push wakes a sleeper, or the sleeper sees the job", "holds", wish(), lost, [("limit", 1000)])
check("job_ring", "the same, where the push is listened for already", "holds", wish(), lost)
check("job_ring", "mutant: the bits are looked at with acquire only", "fails", wish(claim=ACQ), lost)
check("job_ring", "mutant: a push's exchange is acq_rel", "fails", wish(push=AR), lost, [("limit", 1000)])


stands("job_ring", "sched/jobs/detail/job_ring.hpp", "tail_.exchange(at + 1, std::memory_order_seq_cst);",
       "limit_.load(std::memory_order_seq_cst) > at", "limit_.exchange(room, std::memory_order_seq_cst);",
       "limit_.load(std::memory_order_seq_cst) == 0", "limit_.exchange(0, std::memory_order_seq_cst);")


# --- rail/line.hpp, sleeping; unloaders watch one progress, and two trains depart ---
def line(clear, asleep=SC, fences=False, others=1):
    """others: how often another stop watches meanwhile. fences: asymmetric ones, and weaker accesses around them."""
    def source():
        woken = False
        for position in (1, 2):
            yield store("progress", position, REL if fences else SC)
            if fences:
                yield fence(SC)
            if (yield load("watched", RLX if fences else SC)) != 0:
                yield exchange("watched", 0, clear)
                woken |= (yield exchange("asleep", 0, asleep)) != 0
        return woken

    def stop():
        yield store("asleep", 1, REL if asleep == AR else asleep)
        yield store("watched", 1, SC)
        if fences:
            yield fence(SC)
        return (yield load("progress", SC)) < 2  # has unloaded train 1, and sleeps

    def other():
        for _ in range(others):
            yield store("watched", 1, SC)
    return (source, stop, other) if others else (source, stop)


missed = lambda woken, sleeps, *_: sleeps and not woken
check("line", "of two unloaders behind one progress none sleeps through a departure", "holds", line(SC, others=2),
      missed)
check("line", "the same, with fences", "holds", line(SC, fences=True), missed)
check("line", "mutant: `watched` is cleared with acq_rel", "fails", line(AR, others=2), missed)
check("line", "mutant: the same, with fences", "fails", line(AR, fences=True), missed)
check("line", "can hold: with one unloader acq_rel is enough", "holds", line(AR, others=0, fences=True), missed)
check("line", "mutant: `asleep` is stored with release, exchanged with acq_rel", "fails", line(SC, AR, True), missed)


stands("line", "rail/line.cpp", "p.watched_.exchange(0, std::memory_order_seq_cst);")
stands("line", "rail/line.hpp", "asleep_.store(1, std::memory_order_seq_cst);",
       "p.watched_.store(1, std::memory_order_seq_cst);", "asleep_.exchange(0, std::memory_order_seq_cst)",
       "return word_.load(std::memory_order_seq_cst);")


# The same file: telling a source.
def tell(order):
    def teller():
        yield store("wanted", 1, SC)
        return (yield exchange("asleep", 0, order)) != 0

    def source():
        yield store("asleep", 1, SC)
        return (yield load("wanted", SC)) == 0
    return teller, source


check("line", "a source that falls asleep is told that no more trains are wanted", "holds", tell(SC), missed)
check("line", "mutant: the sleeper is looked for with acq_rel", "fails", tell(AR), missed)


stands("line", "rail/line.cpp", "t.wanted_.store(false, std::memory_order_seq_cst);",
       "ring_.wanted_.load(std::memory_order_seq_cst)")


# --- stm/detail/engine/participant.hpp ---
# Edge `left`: waits until the number is another one, and reads the next odd one.
def left(inside):
    def participant():
        yield store("number", 1, inside)
        yield read("box")
        yield store("number", 2, REL)
        yield store("number", 3, inside)

    def frees():
        seen = yield load("number", ACQ)
        if seen == 1 and (yield load("number", ACQ)) != seen:
            yield write("box")
    return participant, frees


check("participant", "what a participant has read is not freed before it has left", "holds", left(REL))
check("participant", "mutant: the number becomes odd by a relaxed store", "races", left(RLX))


stands("participant", "stm/detail/engine/participant.hpp", "number_.store(number + 1, std::memory_order_release);",
       "number_.store(own_number() + 1, std::memory_order_release);", "number_.load(std::memory_order_acquire)")
stands("participant", "stm/detail/engine/participant.cpp",
       "number_.store(own_number() + 1, std::memory_order_release);")


# Fences not asymmetric: the mode; memory; and one that takes part for the first time. `f`: which side has its fence.
def symmetric(f, changes):
    def enters():
        if changes == "first":
            yield store("registry", 1, REL)
        yield exchange("number", 1, SC)
        if f & 1:
            yield fence(SC)
        mode = yield load("mode", SC)
        if changes == "mode":
            return mode == 0
        if (yield load("pointer", ACQ)) == 0:
            yield read("box")

    def looks_at_all():
        if changes == "mode":
            yield compare_exchange("mode", 0, 1, SC)
        else:
            yield store("pointer", 1, REL)
        yield exchange("all", 0, SC)
        if f & 2:
            yield fence(SC)
        there = changes != "first" or (yield load("registry", ACQ)) != 0
        exclusive = not there or (yield load("number", ACQ)) == 0
        if exclusive and changes != "mode":
            yield write("box")
        return exclusive
    return enters, looks_at_all


both = lambda inside, exclusive: inside and exclusive
check("participant", "one enters, one changes the mode: one sees the other", "holds", symmetric(3, "mode"), both)
check("participant", "mutant: no fence between mode and numbers", "fails", symmetric(1, "mode"), both)
check("participant", "one that enters does not find what is freed", "holds", symmetric(3, "memory"))
check("participant", "mutant: no fence where memory is freed", "races", symmetric(1, "memory"))
check("participant", "mutant: no fence where a participant enters", "races", symmetric(2, "memory"))
check("participant", "the same of one that takes part for the first time", "holds", symmetric(3, "first"))
check("participant", "mutant: it takes part for the first time, without fences", "races", symmetric(0, "first"))


stands("participant", "stm/detail/engine/participant.hpp", "number_.exchange(number + 1, std::memory_order_seq_cst);"
       "asymmetric_fence::symmetric(); } return the_mode.now.load(std::memory_order_seq_cst);")
stands("participant", "stm/detail/engine/participant.cpp", "all.fetch_add(0, std::memory_order_seq_cst);",
       "mode_changing, std::memory_order_seq_cst)) return false; heavy_fence();")
stands("participant", "base/asymmetric_fence.hpp", "std::atomic_thread_fence(std::memory_order_seq_cst);")


# --- stm/detail/engine/{read_log,commit}.cpp ---
# A variable's word is 1 while it is locked, else its version, from 2 on; the clock is 2 at first.
# Opacity: a commit of two variables, and a reader that extends its snapshot between them. DESIGN.md of stm, "Opacity".
def extension(clock, loop):
    def commits():
        for word in ("word x", "word y"):
            yield compare_exchange(word, 2, 1, ACQ)
        yield exchange("clock", 4, AR)
        for data in ("x", "y"):
            yield store(data, 1, REL)
        for word in ("word x", "word y"):
            yield store(word, 4, REL)

    def reads():
        if (yield load("word x", ACQ)) != 2:
            return None
        x = yield load("x", ACQ)
        if (yield load("word x", RLX)) != 2:
            return None
        limit = yield load("clock", clock)  # another commit, of a third variable, is why
        if (yield load("word x", loop)) != 2:
            return None
        word = yield load("word y", ACQ)
        if word == 1 or word > limit:
            return None
        y = yield load("y", ACQ)
        return (x, y) if (yield load("word y", RLX)) == word else None
    return commits, reads


torn = lambda _, seen: seen is not None and seen[0] != seen[1]
begin = [("word x", 2), ("word y", 2), ("clock", 2)]
check("tx", "what is read before and after an extension belongs together", "holds", extension(ACQ, RLX), torn, begin)
check("tx", "mutant: the new limit is read relaxed", "fails", extension(RLX, ACQ), torn, begin)


# Two commits, of which each has read what the other writes.
def crossing(clock, loop):
    def commits(reads, writes, version):
        def thread():
            if (yield load("word " + reads, ACQ)) != 2:
                return False
            yield load(reads, ACQ)
            if (yield load("word " + reads, RLX)) != 2:
                return False
            if (yield compare_exchange("word " + writes, 2, 1, ACQ)) != 2:
                return False
            yield exchange("clock", version, clock)
            return (yield load("word " + reads, loop)) == 2  # validate(): it commits
        return thread
    return commits("x", "y", 4), commits("y", "x", 6)


each = lambda a, b: a and b
check("tx", "of two commits that have read what the other writes one is lost", "holds", crossing(AR, RLX), each, begin)
check("tx", "mutant: the version is taken with acquire only", "fails", crossing(ACQ, ACQ), each, begin)
check("tx", "mutant: the version is taken with release only", "fails", crossing(REL, RLX), each, begin)


stands("tx", "stm/detail/engine/read_log.cpp", "the_clock.now.load(std::memory_order_acquire)",
       "if ((*r)->lock.load(std::memory_order_relaxed) > limit_) return false;",
       "const auto seen = (*r)->lock.load(std::memory_order_relaxed);")
stands("tx", "stm/detail/engine/commit.cpp", "the_clock.now.fetch_add(one_step, std::memory_order_acq_rel) + one_step;",
       "writes_[i].target->lock.store(writes_[i].before, std::memory_order_release);")
stands("tx", "stm/detail/engine/read_log.hpp", "limit_ = the_clock.now.load(std::memory_order_acquire)")


# --- task/detail/station_base.cpp: a stop is requested while a fiber falls asleep ---
# `early`: the fiber is stored before the callback is there.
def stop_request(early):
    def sleeper():
        if early:
            yield store("fiber", 1, REL)
        yield store("registered", 1, REL)
        if not early:
            yield store("fiber", 1, RLX)
        yield store("asleep", 1, SC)
        yield store("watched", 1, SC)
        yield load("progress", SC)
        return (yield load("stop", ACQ)) == 0  # sleeps

    def requests():
        yield exchange("stop", 1, AR)
        if (yield load("registered", ACQ)) == 0:
            return True                        # the callback runs when it is registered
        return (yield load("fiber", ACQ)) != 0  # wakes
    return sleeper, requests


slept_through = lambda sleeps, wakes: sleeps and not wakes
check("railway", "a fiber does not sleep through a stop request", "holds", stop_request(True), slept_through)
check("railway", "mutant: registers its callback, then stores the fiber", "fails", stop_request(False), slept_through)


stands("railway", "task/detail/station_base.cpp", "sched::waker(), std::memory_order_release);"
       "const std::stop_callback on_stop(stop, [this] { wake(); });", "fiber_.load(std::memory_order_acquire)")


# --- sched/detail/sleepers.hpp and steal_deque.hpp: a task is pushed while a worker falls asleep ---
def tasks(look):
    def pusher():
        yield store("bottom", 1, SC)
        seen = yield load("bits", look)
        return seen != 0 and (yield exchange("bits", 0, AR)) != 0

    def sleeper():
        yield exchange("bits", 1, SC)
        return (yield load("bottom", SC)) == 0
    return pusher, sleeper


check("sleepers", "a task wakes a sleeper, or the sleeper sees the task", "holds", tasks(SC), lost)
check("sleepers", "mutant: the bits are looked at with acquire only", "fails", tasks(ACQ), lost)


stands("sleepers", "sched/detail/sleepers.hpp", "fetch_or(bit(worker), std::memory_order_seq_cst)",
       "words_[i].load(std::memory_order_seq_cst)")
stands("sleepers", "sched/detail/steal_deque.hpp", "bottom_.store(bottom + 1, std::memory_order_seq_cst);",
       "bottom_.load(std::memory_order_seq_cst) <= top_.load(std::memory_order_seq_cst)")


# --- sched/waiter.hpp: two wake it, and it looks at what the first has done ---
def woken_twice(exchanges):
    def first():
        yield store("done", 1, RLX)
        yield exchange("word", 1, REL)

    def second():
        if exchanges:
            return (yield exchange("word", 2, REL)) == 1
        before = yield load("word", RLX)
        yield store("word", 2, REL)
        return before == 1

    def waiter():
        return (yield load("word", ACQ)) == 2 and (yield load("done", RLX)) == 0
    return first, second, waiter


unseen = lambda _, last, misses: last and misses
check("waiter", "woken twice, it sees what the first waker has done", "holds", woken_twice(True), unseen)
check("waiter", "mutant: wakes by a store", "fails", woken_twice(False), unseen)
stands("waiter", "sched/waiter.hpp", "word_.exchange(1, std::memory_order_release);")


# --- sched/detail/posted_wake.hpp: a wake finds no home, and another one comes meanwhile ---
def wake_without_home(claims, arrives):
    def late():
        if (yield exchange("way", 1, AR)) == 1:
            return False
        if arrives is None:
            yield store("way", 0, REL)
        else:
            yield exchange("way", 0, arrives)
        return (yield load("home", RLX)) == 0

    def waker():  # of the block's next fiber
        yield store("home", 1, RLX)
        return (yield exchange("way", 1, claims)) == 1
    return late, waker


def link_used_twice(claims, arrives):
    def first():
        if (yield exchange("way", 1, claims)) == 0:
            yield write("link", 1)
            yield store("box", 1, REL)

    def home():
        if (yield load("box", ACQ)) == 1:
            yield read("link")
            yield exchange("way", 0, arrives)

    def second():
        if (yield exchange("way", 1, claims)) == 0:
            yield write("link", 2)
    return first, home, second


gone = lambda missed, told_nothing: missed and told_nothing
check("posted_wake", "the home that the second waker knows is seen", "holds", wake_without_home(AR, AR), gone)
check("posted_wake", "mutant: claims without release", "fails", wake_without_home(ACQ, AR), gone)
check("posted_wake", "mutant: arrives without acquire", "fails", wake_without_home(AR, REL), gone)
check("posted_wake", "mutant: arrives by a store", "fails", wake_without_home(AR, None), gone)
check("posted_wake", "the link belongs to one thread at a time", "holds", link_used_twice(AR, AR))
check("posted_wake", "mutant: claims without acquire", "races", link_used_twice(REL, AR))
check("posted_wake", "mutant: arrives without release", "races", link_used_twice(AR, ACQ))
stands("posted_wake", "sched/detail/posted_wake.hpp", "under_way_.exchange(true, std::memory_order_acq_rel);",
       "under_way_.exchange(false, std::memory_order_acq_rel);")


# --- actor/detail/actor_system.cpp: a watcher waits for a change, and a dispatcher idles after it; exchanges of one
# word ---
def idle(rmw):
    def dispatcher():
        yield store("done", 1, REL)
        return ((yield exchange("watchers", 1, AR)) if rmw else (yield load("watchers", ACQ))) != 0

    def waits():
        yield exchange("watchers", 1, AR)
        return (yield load("done", ACQ)) == 0
    return dispatcher, waits


check("actor_system", "a watcher that waits for a change sees it, or is seen", "holds", idle(True), lost)
check("actor_system", "mutant: a dispatcher that idles loads the count of watchers", "fails", idle(False), lost)

stands("actor_system", "actor/detail/actor_system.cpp", "watchers_.fetch_add(1, std::memory_order_acq_rel);",
       "watchers_.fetch_add(0, std::memory_order_acq_rel)")

# --- actor/detail/message_ring.hpp: a sender publishes a message while the dispatcher stops watching its ring. State
# 1: the ring sleeps ---
def ring_sleep(published=SC, look=SC, stop=SC, again=SC, claim=ACQ):
    def sender():
        yield write("message")
        yield (exchange if published == SC else store)("published", 1, published)
        if (yield load("state", look)) == 0:
            return False
        if (yield exchange("state", 0, claim)) == 0:
            return False
        yield write("next", 2)  # into the inbox
        return True

    def dispatcher():
        yield write("next", 1)  # out of the inbox
        yield exchange("state", 1, stop)
        if (yield load("published", again)) == 0:
            return None
        return (yield compare_exchange("state", 1, 0, RLX)) == 1
    return sender, dispatcher


asleep = lambda delivers, watches: not delivers and not watches
both = lambda delivers, watches: delivers and watches is True
check("message_ring", "a message is not slept on", "holds", ring_sleep(), asleep)
check("message_ring", "one of the two goes on with the ring", "holds", ring_sleep(), both)
check("message_ring", "mutant: the sender stores with release only", "fails", ring_sleep(published=REL), asleep)
check("message_ring", "mutant: the sender looks with acquire only", "fails", ring_sleep(look=ACQ), asleep)
check("message_ring", "mutant: the dispatcher stops with release only", "fails", ring_sleep(stop=REL), asleep)
check("message_ring", "mutant: the dispatcher looks again with acquire only", "fails", ring_sleep(again=ACQ), asleep)
check("message_ring", "mutant: the dispatcher stops without release: the link in the inbox", "races",
      ring_sleep(stop=RLX))
stands("message_ring", "actor/detail/message_ring.hpp", "published_.exchange(written_, std::memory_order_seq_cst);",
       "state_.load(std::memory_order_seq_cst) == watched", "state_.exchange(watched, std::memory_order_acquire)",
       "state_.exchange(asleep, std::memory_order_seq_cst);", "published_.load(std::memory_order_seq_cst) == read_",
       "state_.exchange(watched, std::memory_order_relaxed) == asleep")

for name in wanted:
    if name not in known_names:
        print(f"orders.py: no protocol {name}; there are: {' '.join(sorted(known_names))}", file=sys.stderr)
        sys.exit(2)
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
