"""Reads C++ of this tree well enough to count and to look things up; for the scripts beside it.

It relies on the house's format (clang-format, Google style): the brace of a body has a space before it, the brace of an
initialiser has none, and a definition starts a statement of its own.
"""
import bisect
import os
import re
import subprocess

SUFFIXES = (".hpp", ".cpp", ".h", ".c", ".ipp")
TESTS = (".test.cpp", ".fuzz.cpp", ".bench.cpp")

# Numbers come before characters: 1'000'000 has no character literals.
TOKEN = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" )
  | (?P<number> \b\d(?:'?[\w.])* )
  | (?P<string> "(?:[^"\\\n]|\\.)*" )
  | (?P<char> '(?:[^'\\\n]|\\.)*' )
""", re.X | re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


def root_of(script):
    return os.path.dirname(os.path.dirname(os.path.abspath(script)))


def tracked(root, *folders, suffixes=None):
    """The files that git knows or would know below `folders`; where there is no git, all files."""
    asked = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "--", *folders],
                           capture_output=True, text=True, check=False)
    if asked.returncode == 0:
        names = asked.stdout.splitlines()
    else:
        names = []
        for folder in folders or ["."]:
            top = os.path.join(root, folder)
            if os.path.isfile(top):
                names.append(folder)
            for where, _, inside in os.walk(top):
                names += [os.path.relpath(os.path.join(where, name), root) for name in inside]
    return sorted(name for name in set(names)
                  if (suffixes is None or name.endswith(suffixes)) and os.path.isfile(os.path.join(root, name)))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def module_of(path):
    """The module of src/shunt/<module>/... and src/shunt/<module>.hpp; else the first folder, or the file."""
    parts = path.split("/")
    if parts[:2] == ["src", "shunt"] and len(parts) > 2:
        return os.path.splitext(parts[2])[0] if len(parts) == 3 else parts[2]
    return parts[0]


def blank(text):
    return re.sub(r"[^\n]", " ", text)


class Source:
    """A file's text, its code without comments and literals (same offsets), and its comments by line."""

    def __init__(self, text, keep_literals=False):
        self.text = text
        self.comments = {}  # line -> text of the comment on it
        self.starts = [0] + [m.end() for m in re.finditer("\n", text)]

        def out(found):
            if found.lastgroup == "comment" or found.group("comment"):
                line = self.line(found.start())
                for offset, part in enumerate(found.group().split("\n")):
                    self.comments[line + offset] = self.comments.get(line + offset, "") + part
                return blank(found.group())
            if found.group("number") or keep_literals:
                return found.group()
            return '"' + blank(found.group())[2:] + '"' if len(found.group()) > 1 else found.group()

        self.code = DIRECTIVE.sub(lambda m: blank(m.group()), TOKEN.sub(out, text))

    def line(self, offset):
        return bisect.bisect_right(self.starts, offset)


class Scope:
    """One pair of braces: kind is namespace, type, enum, function or block."""

    def __init__(self, kind, name, first, begin, parent):
        self.kind, self.name, self.first, self.begin, self.parent = kind, name, first, begin, parent
        self.end = None
        self.functions = []  # of a type: the names of the member functions that it declares

    @property
    def qualified(self):
        above = self.parent
        while above and above.kind not in ("type", "function"):
            above = above.parent
        return (above.qualified + "::" if above else "") + self.name


SPACED = re.compile(r"[{}();]|(?<![:<])\b(?:public|private|protected|default)\s*:(?!:)")
TYPE = re.compile(r"^(?:export\s+)?(?:typedef\s+)?(class|struct|union|enum(?:\s+class|\s+struct)?)\b(.*)$", re.S)
NOT_FUNCTIONS = ("using", "friend", "static_assert", "typedef", "namespace", "extern", "return", "SHUNT_")


def balanced(text, at, opening, closing):
    """The offset behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] == opening:
            depth += 1
        elif text[i] == closing and not (closing == ">" and text[i - 1] == "-"):
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def without_prefixes(text):
    """A declaration without attributes, template heads and other brackets in front of its type."""
    text = re.sub(r"\[\[.*?\]\]", " ", text, flags=re.S).strip()
    text = re.sub(r'^extern\s*"[^"]*"\s*(?=\w)', "", text)
    while True:
        found = re.match(r"template\s*(?=<)", text)
        if found:
            text = text[balanced(text, found.end(), "<", ">"):].strip()
            continue
        found = re.match(r"(?:alignas|explicit|requires|decltype|__attribute__)\s*(?=\()", text)
        if found:
            text = text[balanced(text, found.end(), "(", ")"):].strip()
            continue
        found = re.match(r"requires\s+[\w:]+\s*(<)?", text)
        if found:
            text = (text[balanced(text, found.end(1) - 1, "<", ">"):] if found.group(1) else text[found.end():]).strip()
            text = re.sub(r"^&&\s*", "requires ", text)
            continue
        return text


def function_name(declaration):
    """The name of the function that a declaration declares, or None."""
    text = without_prefixes(declaration)
    if not text or text.startswith(NOT_FUNCTIONS):
        return None
    operator = re.search(r"\boperator\s*(\(\s*\)|\[\s*\]|[^\s\w(]+|[\w:<>&* ]+?)\s*\(", text)
    if operator:
        return "operator" + operator.group(1).replace(" ", "")
    depth, i = 0, 0
    while i < len(text):
        char = text[i]
        if char == "<" and i and (text[i - 1].isalnum() or text[i - 1] == "_"):
            depth += 1
        elif char == ">" and depth and text[i - 1] != "-":
            depth -= 1
        elif depth == 0:
            if char == "=":
                return None
            if char == "(":
                name = re.search(r"((?:[\w]+(?:<[^()]*>)?\s*::\s*)*~?\w+)\s*$", text[:i])
                if not name or text[i + 1:i + 2] == "*":
                    return None  # a pointer to a function, as void (*name)()
                if name.group(1) in ("alignas", "decltype", "noexcept", "__attribute__"):
                    i = balanced(text, i, "(", ")")
                    continue
                return re.sub(r"\s", "", name.group(1))
        elif char == "(":
            i = balanced(text, i, "(", ")")
            continue
        i += 1
    return None


def first_branches(text):
    """The text with the #else and #elif branches blanked, so that braces are balanced."""
    lines, hidden = [], []
    for line in text.split("\n"):
        found = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b", line)
        word = found.group(1) if found else ""
        if word.startswith("if"):
            hidden.append(False)
        elif word in ("elif", "else") and hidden:
            hidden[-1] = True
        elif word == "endif" and hidden:
            hidden.pop()
        lines.append(" " * len(line) if any(hidden) and not word else line)
    return "\n".join(lines)


def scopes(source):
    """All scopes of a Source, outermost first. Member functions that are only declared are in their type's list."""
    code = source.code
    found, stack = [], []
    start = 0         # of the statement
    parens = [0]      # how deep in parentheses, for each open brace
    for token in SPACED.finditer(code):
        text, at = token.group(), token.start()
        if text == "(":
            parens[-1] += 1
        elif text == ")":
            parens[-1] = max(0, parens[-1] - 1)
        elif text == ";":
            if parens[-1] == 0:
                if stack and stack[-1].kind == "type":
                    declare(stack[-1], code[start:at])
                start = token.end()
        elif text == "{":
            header = code[start:at]
            kind, name = classify(header, code[at - 1:at], stack[-1] if stack else None, parens[-1])
            # A type that is defined inside of something else keeps no part of the statement before it.
            first = start + len(header) - len(header.lstrip())
            scope = Scope(kind, name, source.line(first), source.line(at), stack[-1] if stack else None)
            if kind == "function" and stack and stack[-1].kind == "type" and not header.lstrip().startswith("friend"):
                stack[-1].functions.append(name)
            stack.append(scope)
            scope.resume = start if kind == "init" else None
            found.append(scope)
            parens.append(0)
            start = token.end()
        elif text == "}":
            if stack:
                scope = stack.pop()
                scope.end = source.line(at)
                start = scope.resume if scope.resume is not None else token.end()
            if len(parens) > 1:
                parens.pop()
        elif parens[-1] == 0 and (not stack or stack[-1].kind in ("type", "namespace")):
            start = token.end()  # public:
    return [scope for scope in found if scope.end is not None and scope.kind != "init"]


def declare(kind, statement):
    """A statement that stands in a type's body, without a body of its own."""
    if re.search(r"=\s*delete\s*$", statement):
        return
    cut = re.sub(r"=\s*(?:default|0)\s*$", "", statement)
    name = function_name(cut)
    if name:
        kind.functions.append(name)


def classify(header, before, parent, depth):
    text = header.strip()
    within = parent.kind if parent else "namespace"
    if re.match(r"(?:inline\s+)?namespace\b", text):
        return "namespace", re.sub(r"^(?:inline\s+)?namespace\s*", "", text)
    if text.startswith("extern") and "(" not in text:
        return "namespace", ""
    if depth == 0 and before.isspace():
        plain = without_prefixes(text)
        type_ = TYPE.match(plain)
        if type_:
            if not re.search(r"\)\s*(?:const|noexcept)?\s*$", plain) or "alignas" in plain:
                rest = without_prefixes(type_.group(2))
                name = re.match(r"[\w:]*", rest).group()
                return ("enum" if type_.group(1).startswith("enum") else "type"), name
        if within in ("namespace", "type"):
            name = function_name(re.sub(r"^friend\b", "", text))
            return ("function", name) if name else ("init", "")
    if within in ("namespace", "type"):
        return "init", ""
    return "block", ""
