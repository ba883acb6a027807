"""gdb commands that show the fibers of a program that uses Shunt: of a live process, or of a core file.

  (gdb) source PREFIX/share/shunt/gdb/shunt.py

  info fibers [REGEX]         every fiber, or those whose name or wait matches
  fiber N COMMAND             COMMAND, with the frames of fiber N: bt, bt full, frame function work, info locals
  fiber apply all COMMAND     the same for every fiber that has a stack; or for some: 1 5-8
  fiber gcore FILE            a core file that has the fibers' stacks, which generate-core-file may leave out

Needs no debug information of the library. gdb 12 or later; x86-64 and AArch64.

How a stopped fiber is shown: what its switch saved (context/switch.hpp) is given out as the caller of the selected
thread's innermost frame, by an unwinder, since the registers of a core file cannot be written, and those of a
live process are better left alone. That frame is then left out of what COMMAND prints.
"""
import re
import struct
import time

import gdb
import gdb.unwinder

LAYOUT = "shunt_debug_fibers_v2"  # src/shunt/sched/detail/debug_layout.hpp
FIELDS = ("words slabs slab_count blocks_a_slab block_bytes sp fp pc kept started state stack_low stack_bytes home"
          " name body waits_for since worker_state current running worker slots slot_count slot_bytes"
          " slot_fiber compact compact_slab_bytes frames_bytes frames_used frames_copy red_zone").split()
PLACE = "sp fp pc kept".split()  # where a fiber stopped
PARKED = 2
PAGE = 4096

# What gdb calls stack pointer, frame pointer, where it goes on, the register that a switch keeps beside them, and the
# thread pointer.
REGISTERS = {"x86-64": ("rsp", "rbp", "rip", "rbx", "fs_base"),
             "aarch64": ("sp", "x29", "pc", "x19", "tpidr")}


def registers():
    name = gdb.selected_inferior().architecture().name()
    for kind, names in REGISTERS.items():
        if kind in name:
            return names
    raise gdb.GdbError(f"fibers: not known for {name}")


def evaluate(text):
    return int(gdb.parse_and_eval(f"(unsigned long)({text})"))


def read(at, length):
    return bytes(gdb.selected_inferior().read_memory(at, length))


def text_at(at, length=None):
    """`length` bytes, or up to the first 0."""
    try:
        if length is None:
            return gdb.Value(at).cast(gdb.lookup_type("char").pointer()).string(errors="replace")
        return read(at, length).decode(errors="replace")
    except gdb.MemoryError:
        return "?"


class Fiber:
    """One block in use."""

    def __init__(self, number, at, block, layout):
        def word(offset):
            return struct.unpack_from("<Q", block, offset)[0] if offset >= 0 else 0

        self.number = number
        self.at = at
        self.started = block[layout["started"]] != 0
        self.place = tuple(word(layout[name]) for name in PLACE)
        self.low, self.bytes = word(layout["stack_low"]), word(layout["stack_bytes"])
        self.stopped_at = self.sp  # on its stack, even if its frames were put aside
        compact = self.started and layout["compact"] >= 0 and block[layout["compact"]] != 0
        self.aside = compact and self.put_aside(layout)
        self.home = word(layout["home"])
        self.parked = struct.unpack_from("<I", block, layout["state"])[0] == PARKED
        self.begins = word(layout["body"]) != 0
        self.waits_for = self.since = 0
        if self.parked:
            self.waits_for = word(layout["waits_for"])
            self.since, = struct.unpack_from("<I", block, layout["since"])
        self.name = ""
        if layout["name"] >= 0 and (self.started or self.begins):
            text = word(layout["name"])
            if text:
                chars, length = struct.unpack("<QQ", read(text, 16))
                if length < PAGE:
                    self.name = text_at(chars, length)
        self.thread = None  # that runs it
        self.worker = None
        if self.home and layout["worker"] >= 0:
            self.worker, = struct.unpack("<i", read(self.home + layout["worker"], 4))

    def put_aside(self, layout):
        """Whether a compact fiber's frames are elsewhere; then it seems to have stopped there."""
        slab = self.at - self.at % layout["compact_slab_bytes"]
        number = (self.at - slab) // layout["block_bytes"]
        frames = slab + layout["blocks_a_slab"] * layout["block_bytes"] + number * layout["frames_bytes"]
        used, = struct.unpack("<Q", read(frames + layout["frames_used"], 8))
        copy, = struct.unpack("<Q", read(frames + layout["frames_copy"], 8))
        if not used:
            return False
        shift = copy + layout["red_zone"] - self.sp
        sp, fp, pc, kept = self.place
        self.place = (sp + shift, fp + shift if self.low <= fp < self.low + self.bytes else fp, pc, kept)
        return True

    @property
    def sp(self):
        return self.place[0]

    @property
    def pc(self):
        return self.place[2]

    @property
    def state(self):
        if self.thread is not None:
            kind = f"running, thread {self.thread.num}"
        else:
            kind = "not started" if not self.started else "parked" if self.parked else "ready"
        return kind if self.worker is None else f"{kind}, worker {self.worker}"

    @property
    def wait(self):
        return text_at(self.waits_for) if self.waits_for else ""

    def holds(self, sp):
        """Its guard page included: a fiber that ran off its stack stands there."""
        return self.started and not self.aside and self.low - PAGE <= sp < self.low + self.bytes

    def title(self):
        return f"fiber {self.number}" + (f" `{self.name}`" if self.name else "") + f" ({self.state})"


class Thread:
    """What a thread of the process has to do with fibers."""

    def __init__(self, thread, layout):
        names = registers()
        thread.switch()
        gdb.newest_frame().select()
        self.thread = thread
        self.sp = evaluate("$" + names[0])
        self.running = None
        self.slotted = {}  # block -> where it stopped, of ready fibers whose slot says that
        try:
            if layout["worker_state"] == -1:
                return
            state = self.word(evaluate("$" + names[-1]) + layout["worker_state"])
            current = self.word(state + layout["current"])
            self.running = self.word(current + layout["slot_fiber"] if current else state + layout["running"])
            if layout["slots"] != -1:
                self.slotted = self.places(state, layout)
        except gdb.error:  # no such register, or a thread that has just begun
            pass

    @staticmethod
    def word(at):
        return struct.unpack("<Q", read(at, 8))[0]

    def places(self, state, layout):
        """Block -> where it stopped."""
        slots = self.word(state + layout["slots"])
        count, = struct.unpack("<I", read(state + layout["slot_count"], 4))
        size, fiber_at = layout["slot_bytes"], layout["slot_fiber"]
        memory = read(slots, count * size) if count else b""
        found = {}
        for at in range(0, len(memory), size):
            place = struct.unpack_from(f"<{len(PLACE)}Q", memory, at)
            fiber, = struct.unpack_from("<Q", memory, at + fiber_at)
            if place[0] and fiber != self.running:
                found[fiber] = place
        return found


class Selection:
    """Keeps the selected thread and frame."""

    def __enter__(self):
        self.thread = gdb.selected_thread()
        self.frame = gdb.selected_frame()

    def __exit__(self, *_):
        self.thread.switch()
        if self.frame.is_valid():
            self.frame.select()


def need_process():
    if gdb.selected_thread() is None:
        raise gdb.GdbError("fibers: no process; run the program, attach to it, or open a core file")


def layout():
    need_process()
    try:
        at = evaluate(f"&{LAYOUT}")
    except gdb.error:
        raise gdb.GdbError(f"fibers: no symbol {LAYOUT}: this program has no Shunt, or another version") from None
    words, = struct.unpack("<q", read(at, 8))
    values = struct.unpack(f"<{words}q", read(at, 8 * words))
    return {**dict.fromkeys(FIELDS, -1), **dict(zip(FIELDS, values))}


def fibers():
    """Every fiber; their numbers stay as long as they live."""
    known = layout()
    found = []
    each, size = known["blocks_a_slab"], known["block_bytes"]
    for i in range(known["slab_count"]):
        slab, = struct.unpack("<Q", read(known["slabs"] + 8 * i, 8))
        blocks = read(slab, each * size)
        for j in range(each):
            one = Fiber(i * each + j + 1, slab + j * size, blocks[j * size:(j + 1) * size], known)
            if one.started or one.begins:
                found.append(one)
    with Selection():
        threads = [Thread(t, known) for t in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num)
                   if not t.is_running()]
    slotted = {block: place for t in threads for block, place in t.slotted.items()}
    for one in found:
        one.place = slotted.get(one.at, one.place)
        # The stack pointer, too, tells: between two fibers, or where the workers' states cannot be found.
        for t in threads:
            if t.running == one.at or one.holds(t.sp):
                one.thread = t.thread
                if one.holds(t.sp):
                    one.place = (t.sp, *one.place[1:])
    return found


class Carrier(gdb.unwinder.Unwinder):
    """While it carries a fiber, the selected thread's innermost frame seems to be called by it."""

    class Id:
        def __init__(self, sp, pc):
            self.sp, self.pc = sp, pc

    def __init__(self):
        super().__init__("shunt-fiber")
        self.fiber = None
        self.place = None

    def __call__(self, frame):
        if self.fiber is None:
            return None
        names = registers()[:-1]
        sp, pc = names[0], names[2]
        here = {name: frame.read_register(name) for name in names}
        if (int(here[sp]), int(here[pc])) != self.place:
            return None
        # gdb goes outwards only: this frame must seem to lie beneath the fiber's.
        info = frame.create_unwind_info(self.Id(gdb.Value(self.fiber.sp).cast(here[sp].type), here[pc]))
        for name, value in zip(names, self.fiber.place):
            info.add_saved_register(name, gdb.Value(value).cast(here[name].type))
        return info

    def __enter__(self):
        return self

    def carry(self, fiber):
        """Selects the fiber's innermost frame. \\return its level."""
        names = registers()
        gdb.newest_frame().select()
        self.place = (evaluate("$" + names[0]), evaluate("$" + names[2]))
        self.fiber = fiber
        gdb.invalidate_cached_frames()
        frame, level = gdb.newest_frame(), 0
        while frame is not None and not (frame.pc() == fiber.pc and
                                         int(frame.read_register(names[0])) == fiber.sp):
            frame, level = frame.older(), level + 1
        if frame is None:
            raise gdb.GdbError("fibers: its frames cannot be reached from this thread; select another one")
        frame.select()
        return level

    def __exit__(self, *_):
        self.fiber = None
        gdb.invalidate_cached_frames()


carrier = Carrier()
gdb.unwinder.register_unwinder(None, carrier, replace=True)

BACKTRACE = re.compile(r"(?:bt|backtrace|where)\b(.*)")
LEVEL = re.compile(r"^#(\d+)", re.MULTILINE)


def without(shown, level):
    """A backtrace without the carrying frames, numbered from 0."""
    starts = [m for m in LEVEL.finditer(shown) if int(m.group(1)) == level]
    shown = shown[starts[0].start():] if starts else ""
    return LEVEL.sub(lambda m: f"#{int(m.group(1)) - level}".ljust(len(m.group(0))), shown)


def run(fiber, command, from_tty):
    """Runs a command with the fiber's frames."""
    if fiber.thread is not None:
        fiber.thread.switch()
        gdb.newest_frame().select()
        gdb.execute(command, from_tty)
    elif not fiber.started:
        raise gdb.GdbError("it has not started, and has no frames")
    elif not fiber.pc:
        raise gdb.GdbError("fibers: stacks that Boost.Context switches cannot be shown")
    else:
        with carrier:
            level = carrier.carry(fiber)
            backtrace = BACKTRACE.fullmatch(command)
            if not backtrace:
                gdb.execute(command, from_tty)
                return
            # A number at the end limits the frames, the carrying ones too.
            counted = re.sub(r"\s(\d+)$", lambda m: f" {int(m.group(1)) + level}", command)
            gdb.write(without(gdb.execute(counted, from_tty, to_string=True), level))


def plural(count, what):
    return f"{count:,} {what}" + ("" if count == 1 else "s")


class InfoFibers(gdb.Command):
    """Every fiber of the process: info fibers [REGEX]

Number, state, what it waits for and for how long, use of its stack, name. REGEX: those whose name or wait matches."""

    def __init__(self):
        super().__init__("info fibers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        everyone = fibers()
        now = self.now(everyone)
        pattern = re.compile(argument.strip())
        rows = [("Fiber", "State", "Stack, KiB", "Waits for", "Name")]
        for one in everyone:
            if pattern.search(one.name) or pattern.search(one.wait):
                rows.append((str(one.number), one.state, self.stack(one), self.wait(one, now), one.name))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        for row in rows:
            gdb.write("  ".join([row[0].rjust(widths[0])] + [row[i].ljust(widths[i]) for i in (1, 2, 3)] +
                                [row[4]]).rstrip() + "\n")
        states = [one.state.split(",")[0] for one in everyone]
        counts = ", ".join(f"{states.count(s):,} {s}" for s in ("running", "ready", "parked", "not started")
                           if s in states)
        gdb.write(plural(len(everyone), "fiber") + (f": {counts}" if counts else "") + "\n")

    @staticmethod
    def now(everyone):
        """A live process's time in ms; a core file does not tell its own, so the time of its last wait."""
        connection = gdb.selected_inferior().connection
        if connection is not None and connection.type == "native":
            return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000_000
        return max((one.since for one in everyone if one.parked), default=0)

    @staticmethod
    def stack(one):
        if not one.started:
            return ""
        used = f"{(one.low + one.bytes - one.stopped_at) / 1024:.1f} of " if one.aside or one.holds(one.sp) else ""
        return f"{used}{one.bytes // 1024:,}"

    @staticmethod
    def wait(one, now):
        long = f"{(now - one.since) % (1 << 32) / 1e3:.1f} s" if one.parked else ""
        return ", ".join(part for part in (one.wait, long) if part)


class FiberCommand(gdb.Command):
    """A command with the frames of one fiber: fiber N COMMAND

N is its number in `info fibers`. Without COMMAND: bt."""

    def __init__(self):
        super().__init__("fiber", gdb.COMMAND_STACK, gdb.COMPLETE_COMMAND, True)

    def invoke(self, argument, from_tty):
        words = argument.split(None, 1)
        if not words or not words[0].isdigit():
            raise gdb.GdbError("fiber N COMMAND; N is a number of `info fibers`")
        one = next((f for f in fibers() if f.number == int(words[0])), None)
        if one is None:
            raise gdb.GdbError(f"no fiber {words[0]}; `info fibers` lists them")
        with Selection():
            try:
                run(one, words[1] if len(words) == 2 else "bt", from_tty)
            except gdb.error as problem:
                raise gdb.GdbError(str(problem)) from None


class FiberApply(gdb.Command):
    """A command with the frames of several fibers: fiber apply all COMMAND, fiber apply 1 5-8 COMMAND"""

    def __init__(self):
        super().__init__("fiber apply", gdb.COMMAND_STACK, gdb.COMPLETE_COMMAND)

    def invoke(self, argument, from_tty):
        wanted = re.fullmatch(r"(all|\d+(?:-\d+)?(?:\s+\d+(?:-\d+)?)*)\s+(\D.*)", argument.strip())
        if not wanted:
            raise gdb.GdbError("fiber apply all COMMAND, or a list: fiber apply 1 5-8 COMMAND")
        chosen = [f for f in fibers() if self.within(f.number, wanted.group(1))]
        with Selection():
            for one in chosen:
                gdb.write(f"\n{one.title()}:\n")
                try:
                    run(one, wanted.group(2), from_tty)
                except (gdb.error, gdb.GdbError) as problem:
                    gdb.write(f"{problem}\n")

    @staticmethod
    def within(number, listed):
        if listed == "all":
            return True
        ranges = [[int(end) for end in part.split("-")] for part in listed.split()]
        return any(r[0] <= number <= r[-1] for r in ranges)


class FiberGcore(gdb.Command):
    """A core file of the live process, with the fibers' stacks: fiber gcore FILE

gdb gives a mapping up at the first page that cannot be read. Guard pages that lie inside a mapping (Linux 6.13) are
such pages, so what generate-core-file writes may lack every stack. Here they are added to its file afterwards."""

    def __init__(self):
        super().__init__("fiber gcore", gdb.COMMAND_DATA, gdb.COMPLETE_FILENAME)

    def invoke(self, argument, from_tty):
        name = argument.strip()
        if not name:
            raise gdb.GdbError("fiber gcore FILE")
        lows = [f.low for f in fibers() if f.started]
        said = gdb.execute(f"generate-core-file {name}", from_tty, to_string=True)
        gdb.write("".join(line for line in said.splitlines(True) if "Memory read failed" not in line))
        with open(name, "r+b") as core:
            for place, at, length in self.segments(core):
                if any(at <= low < at + length for low in lows):
                    self.fill(core, place - at, at, length)

    @staticmethod
    def segments(core):
        """Offset, address and length of what was loaded (ELF-64: PT_LOAD)."""
        head = core.read(64)
        start, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for i in range(count):
            core.seek(start + i * size)
            kind, _, place, at, _, length = struct.unpack_from("<IIQQQQ", core.read(size))
            if kind == 1:
                yield place, at, length

    def fill(self, core, shift, at, length):
        """Writes what can be read; halves what cannot, down to a page."""
        try:
            content = read(at, length)
        except gdb.MemoryError:
            if length > PAGE:
                half = (length // PAGE + 1) // 2 * PAGE
                self.fill(core, shift, at, half)
                self.fill(core, shift, at + half, length - half)
            return
        if content.strip(b"\0"):  # else the file has a hole, which reads the same
            core.seek(at + shift)
            core.write(content)


for command in (InfoFibers, FiberCommand, FiberApply, FiberGcore):
    command()
