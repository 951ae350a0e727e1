"""Shell scripts as far as training needs them: assignments, exports, commands with their options, Slurm directives.

Nothing is executed. A value with `$` in it is filled in from assignments of the same file where that is plain, and is
otherwise unknown.
"""

from __future__ import annotations

import re
from typing import Any

from papertrain.configs.checking.document import Spans
from papertrain.core.values import Value


class Word(Value, frozen=True, kw_only=True):
    """One word: its text with quotes removed, and where it stands."""

    text: str
    start: int
    end: int
    line: int


class Argument(Value, frozen=True, kw_only=True):
    name: str
    value: Any
    line: int
    spans: Spans


class Command(Value, frozen=True, kw_only=True):
    """One command. env: variables that it is given (own prefix and exports above). launcher: torchrun, accelerate, …

    program: what does the work (`llamafactory-cli`, `trl`, `train.py`). verb: its first word where it has verbs.
    """

    words: tuple[Word, ...]
    line: int
    end_line: int
    prefix: dict[str, tuple[str, int]]
    env: dict[str, tuple[str, int]]
    wrappers: tuple[str, ...]
    launcher: str
    options: dict[str, tuple[str, int]]
    program: str
    verb: str
    positional: tuple[Word, ...]
    arguments: tuple[Argument, ...]
    srun: dict[str, tuple[str, int]]


_WORD = re.compile(
    r"""(?:[^\s'"\\;&|<>()#]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|(?<=\S)\#|\$\(\([^\n]*?\)\)|\$\([^()\n]*\)|\$\{[^}\n]*\})+""",
    re.S,
)
_BREAK = re.compile(r"\n|;;|;|&&|\|\|?|&|\(|\)")
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.S)
_GIVEN = re.compile(r"\$\{([A-Za-z_]\w*):?[=?]")
_KEYWORDS = {
    "then",
    "do",
    "else",
    "if",
    "elif",
    "while",
    "until",
    "time",
    "!",
    "{",
    "exec",
    "nohup",
    "sudo",
    "nice",
    "command",
    "eval",
}

LAUNCHERS = (
    "torchrun",
    "accelerate",
    "deepspeed",
    "python",
    "python3",
    "llamafactory-cli",
    "llamafactory",
    "trl",
    "axolotl",
    "swift",
    "ray",
    "tune",
    "lmf",
)
"""Programs that start a training; a text in which one of these begins a line is a command line."""


def split(text: str) -> list[list[Word]]:
    """The commands of a script as words. Comments and here-documents are left out."""
    text = blank_heredocs(text)
    commands: list[list[Word]] = []
    words: list[Word] = []
    at, line = 0, 1
    while at < len(text):
        ch = text[at]
        if ch == "\\" and text[at + 1 : at + 3] == "\r\n":
            at, line = at + 3, line + 1
        elif ch == "\\" and text[at + 1 : at + 2] == "\n":
            at, line = at + 2, line + 1
        elif ch == "#":
            at = end if (end := text.find("\n", at)) >= 0 else len(text)
        elif (m := _BREAK.match(text, at)) is not None:
            if words:
                commands.append(words)
            words = []
            if m[0] == ";;":
                commands.append([Word(text=";;", start=at, end=m.end(), line=line)])
            line += m[0].count("\n")
            at = m.end()
        elif ch in " \t\r<>":
            at += 1
        elif (m := _WORD.match(text, at)) is not None:
            words.append(Word(text=unquote(m[0]), start=at, end=m.end(), line=line))
            line += m[0].count("\n")
            at = m.end()
        else:
            at += 1
    if words:
        commands.append(words)
    return commands


def blank_heredocs(text: str) -> str:
    """The text with blanks where a here-document stands: what it holds is another program's, or another script."""

    def blank(m: re.Match[str]) -> str:
        return m[1] + re.sub(r"[^\n]", " ", m[0][len(m[1]) :])

    return (
        re.sub(r"(<<-?\s*(['\"]?)(\w+)\2[^\n]*\n)(?:.*\n)*?\s*\3[ \t]*(?=\n|$)", blank, text) if "<<" in text else text
    )


def unquote(word: str) -> str:
    out = re.sub(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(\n)|\\(.)""",
                 lambda m: m[1] if m[1] is not None else re.sub(r'\\(["\\$`])', r"\1", m[2]) if m[2] is not None else "" if m[3] else m[4],
                 word, flags=re.S)  # fmt: skip
    return out


def expand(value: str, env: dict[str, tuple[str, int]]) -> str:
    """`$NAME` and `${NAME:-default}` filled in where the file says what they are; a default may be overruled outside."""

    def one(m: re.Match[str]) -> str:
        name = m[1] or m[2]
        return env[name][0] if name in env else m[0]

    return re.sub(r"\$(?:(\w+)|\{(\w+)(?::?-[^}]*)?\})", one, value) if "$" in value else value


def read(text: str) -> tuple[list[Command], dict[str, tuple[str, int]], set[str]]:
    """(commands, variables that are set on their own lines, those of them that are exported)."""
    variables: dict[str, tuple[str, int]] = {}
    exported: set[str] = set()
    commands = []
    before: tuple[dict[str, tuple[str, int]], set[str]] | None = None
    for words in split(text):
        if words[0].text == "case":
            before = (dict(variables), set(exported))
        elif words[0].text == ";;":
            # What one branch of a `case` sets is not set in the next.
            if before is not None:
                variables, exported = dict(before[0]), set(before[1])
            continue
        while words and words[0].text in _KEYWORDS:
            words = words[1:]
        if not words:
            continue
        if words[0].text in ("export", "set", "setenv", "declare", "local", "readonly") or all(
            _ASSIGN.fullmatch(w.text) for w in words
        ):
            for word in words:
                if m := _ASSIGN.fullmatch(word.text):
                    variables[m[1]] = (expand(m[2], variables), word.line)
                    if words[0].text == "export":
                        exported.add(m[1])
                elif words[0].text == "export" and word is not words[0]:
                    exported.add(word.text)
                    variables.setdefault(word.text, (f"${word.text}", word.line))
            continue
        if words[0].text == ":":
            for m in (m for w in words[1:] if (m := _GIVEN.match(w.text))):
                variables.setdefault(m[1], (f"${m[1]}", words[0].line))
            continue
        commands.append(_command(words, variables, exported))
    return commands, variables, exported


def _command(words: list[Word], variables: dict[str, tuple[str, int]], exported: set[str]) -> Command:
    prefix: dict[str, tuple[str, int]] = {}
    rest = list(words)
    if rest and rest[0].text == "env":
        rest = rest[1:]
    while rest and (m := _ASSIGN.fullmatch(rest[0].text)):
        prefix[m[1]] = (expand(m[2], variables), rest[0].line)
        rest = rest[1:]
    env = {k: v for k, v in variables.items() if k in exported} | prefix
    wrappers: list[str] = []
    srun: dict[str, tuple[str, int]] = {}
    if rest and rest[0].text in (
        "srun",
        "mpirun",
        "numactl",
        "timeout",
        "stdbuf",
        "conda",
        "poetry",
        "uv",
        "singularity",
        "apptainer",
    ):
        wrappers.append(rest[0].text)
        rest, srun = _skip_wrapper(rest)
    launcher, options, rest = _launcher(rest, variables)
    program = rest[0].text if rest else ""
    known = {"llamafactory-cli", "llamafactory", "lmf", "trl", "axolotl", "swift", "tune"}
    base = program.rpartition("/")[2]
    verb, arguments = "", list(rest[1:])
    if base in known and arguments and not arguments[0].text.startswith("-"):
        verb, arguments = arguments[0].text, arguments[1:]
    if base == "axolotl":  # what stands behind `--` is the launcher's
        arguments = arguments[: next((i for i, w in enumerate(arguments) if w.text == "--"), len(arguments))]
    found, positional = _arguments(arguments, variables)
    return Command(words=tuple(words), line=words[0].line, end_line=words[-1].line, prefix=prefix, env=env, wrappers=tuple(wrappers),
                   launcher=launcher, options=options, program=base if base in known else program, verb=verb,
                   positional=tuple(positional), arguments=tuple(found), srun=srun)  # fmt: skip


def _skip_wrapper(words: list[Word]) -> tuple[list[Word], dict[str, tuple[str, int]]]:
    """Drop the words of a wrapper up to the program that it starts."""
    options: dict[str, tuple[str, int]] = {}
    for i, word in enumerate(words[1:], 1):
        base = word.text.rpartition("/")[2]
        if base in LAUNCHERS or word.text.endswith((".py", ".sh")):
            return words[i:], options
        if word.text.startswith("-"):
            name, _, value = word.text.lstrip("-").partition("=")
            following = words[i + 1].text if i + 1 < len(words) else ""
            options[name] = (value or following, word.line)
    return words[1:], options


def _launcher(
    words: list[Word], variables: dict[str, tuple[str, int]]
) -> tuple[str, dict[str, tuple[str, int]], list[Word]]:
    if not words:
        return "", {}, []
    first = words[0].text.rpartition("/")[2]
    if first in ("python", "python3") or re.fullmatch(r"python3\.\d+", first):
        if (
            len(words) > 2
            and words[1].text == "-m"
            and words[2].text in ("torch.distributed.run", "torch.distributed.launch")
        ):
            return "torchrun", *_launch_options(words[3:], variables)
        if len(words) > 2 and words[1].text == "-m" and words[2].text.startswith("accelerate"):
            return "accelerate", *_launch_options(words[3:], variables)
        flags = 1
        while flags < len(words) and words[flags].text.startswith("-") and words[flags].text != "-m":
            flags += 1
        if flags < len(words) and words[flags].text == "-m":
            flags += 1
        return "python", {}, words[flags:]
    if first == "torchrun":
        return "torchrun", *_launch_options(words[1:], variables)
    if first == "deepspeed":
        return "deepspeed", *_launch_options(words[1:], variables)
    if first == "accelerate" and len(words) > 1 and words[1].text == "launch":
        return "accelerate", *_launch_options(words[2:], variables)
    return "", {}, words


_SWITCHES = {"no_python", "standalone", "multi_gpu", "use_deepspeed", "use_fsdp", "cpu", "mps", "main_process_first", "debug", "no_ssh", "force_multi", "same_network", "quiet", "dynamo_use_dynamic"}  # fmt: skip


def _launch_options(
    words: list[Word], variables: dict[str, tuple[str, int]]
) -> tuple[dict[str, tuple[str, int]], list[Word]]:
    """A launcher's own options stand before the script."""
    options: dict[str, tuple[str, int]] = {}
    at = 0
    while at < len(words) and words[at].text.startswith("-"):
        word = words[at]
        name, eq, value = word.text.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if name in ("m", "module"):
            at += 1
            break
        following = words[at + 1].text if at + 1 < len(words) else "--"
        if not eq and name not in _SWITCHES and not following.startswith("--") and not following.endswith(".py"):
            value = following
            at += 1
        options[name] = (expand(value, variables), word.line)
        at += 1
    return options, words[at:]


def _arguments(words: list[Word], variables: dict[str, tuple[str, int]]) -> tuple[list[Argument], list[Word]]:
    """`--key value`, `--key=value`, `--switch`, and `key=value` overrides; the rest are positional."""
    found: list[Argument] = []
    positional: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word.text.startswith("--") and len(word.text) > 2:
            name, eq, value = word.text[2:].partition("=")
            key = (word.start, word.start + 2 + len(name))
            span, whole, line = (word.start + 3 + len(name), word.end), (word.start, word.end), word.line
            result: Any = expand(value, variables)
            following: list[Word] = []
            while (
                not eq
                and at + 1 < len(words)
                and not re.match(r"--[A-Za-z]|\$[@*]|\$\{@|\$\{\w+\[", words[at + 1].text)
            ):
                # `--seed 1 $MORE`: a variable after the value holds options of its own.
                if following and (_ASSIGN.fullmatch(words[at + 1].text) or words[at + 1].text.startswith("$")):
                    break
                following.append(words[at + 1])
                at += 1
            if following:
                result = (
                    expand(following[0].text, variables)
                    if len(following) == 1
                    else [expand(w.text, variables) for w in following]
                )
                span, whole = (following[0].start, following[-1].end), (word.start, following[-1].end)
            elif not eq:
                result, span = True, (word.end, word.end)
            found.append(
                Argument(name=name, value=_typed(result), line=line, spans=Spans(key=key, value=span, whole=whole))
            )
        elif not word.text.startswith("-") and (m := re.fullmatch(r"\+{0,2}([A-Za-z_][\w.]*)=(.*)", word.text, re.S)):
            start = word.start + word.text.index("=") + 1
            found.append(Argument(name=m[1], value=_typed(expand(m[2], variables)), line=word.line,
                                  spans=Spans(key=(word.start, start - 1), value=(start, word.end), whole=(word.start, word.end))))  # fmt: skip
        elif not word.text.startswith("-"):
            positional.append(word)
        at += 1
    return found, positional


def _typed(value: Any) -> Any:
    """Words of a command line as the values that they stand for."""
    if not isinstance(value, str):
        return value
    from papertrain.core.yaml import resolve

    return value if value == "" else resolve(value)


_DIRECTIVE = re.compile(r"^#SBATCH\s+(--?[A-Za-z][\w-]*)(?:[=\s]\s*(\S+))?", re.M)
SHORT = {"N": "nodes", "n": "ntasks", "J": "job-name", "p": "partition", "t": "time", "A": "account", "c": "cpus-per-task", "o": "output", "e": "error", "G": "gpus", "w": "nodelist", "a": "array", "q": "qos", "d": "dependency", "D": "chdir", "C": "constraint", "x": "exclude"}  # fmt: skip


def directives(text: str) -> dict[str, tuple[str, int]]:
    """The `#SBATCH` options of a script by their long names."""
    found = {}
    for m in _DIRECTIVE.finditer(blank_heredocs(text)):
        name, value = m[1].lstrip("-"), m[2] or ""
        if not m[1].startswith("--"):
            name, value = SHORT.get(name[0], name), name[1:] or value
        found[name] = (value, text.count("\n", 0, m.start()) + 1)
    return found
