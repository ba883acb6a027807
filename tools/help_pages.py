#!/usr/bin/env python3
"""Writes the manual page of the command, and what bash and zsh complete after it, from what `--help` prints.

  tools/help_pages.py PROGRAM SCRIPT FOLDER     writes shunt.1, shunt.bash and _shunt into FOLDER

PROGRAM is the command as it is installed, SCRIPT the script `shunt` of the source tree, which has sub-commands of its
own. Both are asked: `help`, `help COMMAND` or `COMMAND --help`, `apps`, and `run APP --help` for each application. The
completions offer the script's own sub-commands where the word that is completed lies beside a CMakeLists.txt.

What is read of a help text
  H1  `  --name VALUE   text`: an option. VALUE is absent, or one word; `=DEFAULT` may follow it. A line that is
      indented by more than eight spaces goes on with the text above it.
  H2  `usage: shunt NAME a|b|c` and `tables: a b c`: words that may follow. `[--name]` there is an option, too.
  H3  A VALUE `a|b|c` is one of these; FILE, FILE.svg and TEXT are files; DIR is a folder; of others nothing is known.
"""
import dataclasses
import os
import re
import subprocess
import sys

OPTION = re.compile(r"^ {1,8}(?:-h,|[A-Z]+ )?(--?[A-Za-z][\w-]*)"  # an application's own --help: `APP --help`
                    r"(?: ('[^']*'|[^\s']\S*))?(?: Excludes: \S+)?(?:\s+(\S.*))?$")


@dataclasses.dataclass
class Option:
    name: str
    value: str = ""  # as the help text shows it, without a default; empty: none
    default: str = ""
    text: str = ""

    @property
    def choices(self):
        return self.value.split("|") if "|" in self.value else []

    @property
    def takes(self):
        """What completes the value: words, files, folders, or nothing."""
        if self.choices:
            return "words"
        return {"FILE": "files", "FILE.svg": "files", "TEXT": "files", "DIR": "folders"}.get(self.value, "nothing")


@dataclasses.dataclass
class Command:
    name: str
    summary: str
    usage: str = ""
    notes: str = ""  # what the help text says below the options
    options: list = dataclasses.field(default_factory=list)
    words: list = dataclasses.field(default_factory=list)


def options_of(text):
    """The options that a help text lists (H1)."""
    found = []
    for line in text.split("\n"):
        match = OPTION.match(line)
        if match:
            value, _, default = (match[2] or "").strip("'").partition("=")
            found.append(Option(match[1], value, default, match[3] or ""))
        elif found and re.match(r" {9,}\S", line):
            found[-1].text = f"{found[-1].text} {line.strip()}".strip()
    return [option for option in found if option.name != "--help"]


def command_of(name, summary, text):
    """A sub-command from its help text (H1, H2)."""
    first, _, rest = text.partition("\n")
    usage = re.split(r"\s{2,}", first.removeprefix("usage: "))[0]
    notes = "\n".join(line for line in rest.split("\n") if re.match(r"[a-z]", line) and not line.startswith("tables:"))
    made = Command(name, summary, usage, notes, options_of(rest))
    made.options += [Option(word) for word in re.findall(r"\[(--[\w-]+)\]", usage)]
    words = re.match(rf"shunt {name} (\w+(?:\|\w+)+)", usage)
    tables = re.search(r"^tables: (.*)$", text, re.M)
    made.words = words[1].split("|") if words else tables[1].split() if tables else []
    return made


def commands_of(text):
    """(name, summary) of each sub-command that `help` lists; `help` itself is not among them."""
    listed = re.findall(r"^  ([a-z]+)(?: [A-Z]+)?\s{2,}(\S.*)$", text, re.M)
    return [(name, summary) for name, summary in listed if name != "help"]


def ask(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0 or not done.stdout:
        raise SystemExit(f"help_pages: `{' '.join(words)}` ended with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def collect(program, script):
    """(the program's commands, the script's own, the applications)"""
    own = [command_of(name, text, ask(program, name, "--help")) for name, text in commands_of(ask(program, "help"))]
    known = {command.name for command in own}
    more = [command_of(name, text, ask(script, "help", name))
            for name, text in commands_of(ask(script, "help")) if name not in known]
    apps = []
    for line in ask(program, "apps").splitlines():
        name, summary = line.split(None, 1)
        apps.append(Command(name, summary, options=options_of(ask(program, "run", name, "--help"))))
    return own, more, apps


# --- the manual page -------------------------------------------------------------------------------------------------

def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def roff_option(option):
    line = f".TP\n\\fB{roff(option.name)}\\fR"
    if option.value:
        line += f" \\fI{roff(option.value)}\\fR"
    text = option.text[:1].upper() + option.text[1:]
    if option.default:
        text += f" (default: {option.default})"
    return f"{line}\n{roff(text)}\n" if text else line + "\n"


def roff_command(command, about=""):
    text = f".SS {roff(command.usage or command.name)}\n{roff(command.summary[:1].upper() + command.summary[1:])}.\n"
    if about:
        text += roff(about) + "\n"
    if command.words:
        text += f".PP\nOne of: {roff(', '.join(command.words))}.\n"
    return text + "".join(roff_option(option) for option in command.options)


def manual(version, own, more, apps):
    """The text of shunt(1). Options that every application has are described once."""
    common = [option for option in apps[0].options if all(option in app.options for app in apps)] if apps else []
    page = [f'.TH SHUNT 1 "" "{version}" "User Commands"\n',
            ".SH NAME\nshunt \\- run applications on threads or over MPI\n", ".SH SYNOPSIS\n"]
    page += [f".B {roff(command.usage)}\n.br\n" for command in own]
    page += [".B shunt help\n.br\n.B shunt \\-\\-version\n",
             ".SH DESCRIPTION\nOne program has all applications of the concurrency runtime Shunt: one to install and\n"
             "to start on every node of a job.\n", ".SH COMMANDS\n"]
    page += [roff_command(command) for command in own]
    page += [".SH APPLICATIONS\nOptions of every application:\n", *map(roff_option, common)]
    for app in apps:
        page.append(roff_command(dataclasses.replace(app, options=[o for o in app.options if o not in common])))
    page += [".SH IN THE SOURCE TREE\nThe script\n.B ./shunt\nof the source tree builds this program where it must,\n"
             "has the same commands, and these:\n", *map(roff_command, more)]
    notes = [line for command in own for line in command.notes.split("\n") if line.startswith("status:")]
    if notes:
        page.append(f".SH EXIT STATUS\n{roff(notes[0].removeprefix('status:').strip())}.\n")
    page.append(".SH SEE ALSO\n.BR mpirun (1)\n")
    return "".join(page)


# --- completions -----------------------------------------------------------------------------------------------------

def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def words_of(options):
    return " ".join([option.name for option in options] + ["--help"])


def after_run(own, apps):
    """`run APP` for each application: its options, and those of `run` itself, which may follow the name."""
    of_run = [option for command in own if command.name == "run" for option in command.options]
    for app in apps:
        names = {option.name for option in app.options}
        yield Command(f"run {app.name}", "", options=app.options + [o for o in of_run if o.name not in names])


def bash(own, more, apps):
    """A completion for bash: sets `words`, or asks for files, by the words before the one that is completed."""
    scopes = own + more + list(after_run(own, apps))
    values = {}  # what completes a value: the options, each after its sub-command
    for command in scopes:
        for option in command.options:
            if option.value:
                key = option.takes, " ".join(option.choices)
                values.setdefault(key, []).append(quoted(f"{command.name} {option.name}"))
    lines = ["# Completes the words of shunt. Written by tools/help_pages.py from what `--help` prints.",
             "_shunt() {",
             "  local word=$2 before=$3 scope=${COMP_WORDS[1]-} words=",
             "  # bash splits --option=value at the mark",
             "  if [[ $word == = ]]; then word=; fi",
             "  if [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi",
             "  if [[ $scope == run ]] && ((COMP_CWORD > 2)); then scope=\"run ${COMP_WORDS[2]}\"; fi",
             "  COMPREPLY=()",
             "  if ((COMP_CWORD == 1)); then",
             f"    words={quoted(' '.join([c.name for c in own] + ['help', '--help', '--version']))}",
             "    if [[ $1 == */* && -e ${1%/*}/CMakeLists.txt ]]; then "
             f"words+={quoted(' ' + ' '.join(c.name for c in more))}; fi",
             "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")",
             "    return",
             "  fi",
             "  case \"$scope $before\" in"]
    for (takes, choices), patterns in sorted(values.items()):
        lines.append(f"  {' | '.join(patterns)})")
        if takes == "words":
            lines.append(f"    mapfile -t COMPREPLY < <(compgen -W {quoted(choices)} -- \"$word\")")
        elif takes != "nothing":
            lines.append("    compopt -o filenames")
            lines.append(f"    mapfile -t COMPREPLY < <(compgen -{'f' if takes == 'files' else 'd'} -- \"$word\")")
        lines += ["    return", "    ;;"]
    lines += ["  esac", "  case $scope in"]
    for command in scopes:
        words = [app.name for app in apps] if command.name == "run" else command.words
        lines.append(f"  {quoted(command.name)}) words={quoted(' '.join([*words, words_of(command.options)]))} ;;")
    lines += [f"  help) words={quoted(' '.join(c.name for c in own + more))} ;;",
              "  esac",
              "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")",
              "}",
              "complete -F _shunt shunt", ""]
    return "\n".join(lines)


def zsh_option(option):
    text = re.sub(r"([\[\]\\])", r"\\\1", option.text)
    spec = f"{option.name}[{text}]"
    if option.value:
        action = {"words": f"({' '.join(option.choices)})", "files": "_files", "folders": "_files -/"}
        value = re.sub(r"([:\\])", r"\\\1", option.value)
        spec = f"{option.name}{'=' if option.name.startswith('--') else ''}[{text}]:{value}:"
        spec += action.get(option.takes, " ")
    return quoted(spec)


def zsh_list(name, commands):
    return f"{name}=({' '.join(quoted(c.name + ':' + c.summary.replace(':', chr(92) + ':')) for c in commands)})"


def zsh(own, more, apps):
    """A completion for zsh, a function that lies in a folder of `fpath`, or is read by `source`."""
    lines = ["#compdef shunt",
             "# Completes the words of shunt. Written by tools/help_pages.py from what `--help` prints.",
             "_shunt() {",
             "  local -a known",
             "  if (( CURRENT == 2 )); then",
             "    " + zsh_list("known", [*own, Command("help", "say what a command does")]),
             "    if [[ $words[1] == */* && -e ${words[1]:h}/CMakeLists.txt ]]; then",
             "      " + zsh_list("known+", more),
             "    fi",
             "    _describe command known",
             "    return",
             "  fi",
             "  local command=$words[2]",
             "  shift words",
             "  (( CURRENT -= 1 ))",
             "  if [[ $command == run ]] && (( CURRENT > 2 )); then",
             "    command=\"run $words[2]\"",
             "    shift words",
             "    (( CURRENT -= 1 ))",
             "  fi",
             "  case $command in"]
    for command in own + more + list(after_run(own, apps)):
        lines.append(f"  {quoted(command.name)})")
        if command.name == "run":
            lines += ["    " + zsh_list("known", apps), "    _describe application known"]
        elif command.words:
            lines.append(f"    known=({' '.join(command.words)})")
            lines.append("    if (( CURRENT == 2 )); then _describe word known; fi")
        lines.append("    _arguments " + " ".join([*map(zsh_option, command.options), quoted("--help[what it does]")]))
        lines.append("    ;;")
    lines += ["  help)", "    " + zsh_list("known", own + more), "    _describe command known", "    ;;",
              "  esac", "}",
              "if [[ $funcstack[1] == _shunt ]]; then _shunt \"$@\"; else compdef _shunt shunt; fi", ""]
    return "\n".join(lines)


def main(arguments):
    if len(arguments) != 3:
        raise SystemExit(__doc__)
    program, script, folder = arguments
    parts = collect(program, script)
    version = ask(program, "--version").strip()
    os.makedirs(folder, exist_ok=True)
    for name, text in [("shunt.1", manual(version, *parts)), ("shunt.bash", bash(*parts)), ("_shunt", zsh(*parts))]:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
