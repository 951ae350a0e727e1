"""The command line: parse by a verb's signature, call it, show its Report. No decisions here."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from papertrain.core.version import __version__

FIRST = ("plan", "check", "launch", "watch", "diagnose", "fix", "compare", "status")
"""What `--help` shows first; every other verb stands under "more"."""

INTERRUPTED = 130
LONGEST_CHOICES = 40
WIDE_ENOUGH = 96
NUMBERS = {int: "N", float: "X"}
FACE = ("json", "brief", "fields", "debug", "quiet", "lang", "fail_on", "verbose")


def main(argv: list[str] | None = None) -> int:
    """The console script. Returns the exit code: 0 done, 1 a finding, 2 bad input, 3 refused, 4 our fault, 130 Ctrl-C."""
    args = sys.argv[1:] if argv is None else argv
    try:
        _streams()
        if args in (["--version"], ["-V"]):
            print(f"papertrain {__version__}", flush=True)
            return 0
        with _remembering_interrupts(), warnings.catch_warnings():
            # Libraries warn on standard error, past the redactor, and sometimes with the lines of a file.
            warnings.simplefilter("ignore")
            return _run(args)
    except KeyboardInterrupt:
        from papertrain.core.texts import say

        _tell(say("\ninterrupted: nothing half-written is left behind") + "\n")
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_output()
        return 0
    except OSError as error:
        return _unwritable(error)


_interrupts: list[int] = []
"""Each Ctrl-C of this call. A class or an extension that was just being imported may turn it into another error."""


@contextlib.contextmanager
def _remembering_interrupts() -> Iterator[None]:
    _interrupts.clear()
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # `nohup` and the like ignore it, and so do we
        return

    def interrupt(number: int, frame: Any) -> NoReturn:
        _interrupts.append(number)
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGINT, interrupt)
    except ValueError:  # not the main thread: it never gets one
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _streams() -> None:
    """Streams that the caller closed lead nowhere; letters that a stream cannot show are replaced."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115, PTH123
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _unwritable(error: OSError) -> int:
    """The answer itself cannot be written: a full disk, a terminal that went away."""
    from papertrain.core.errors import of_system

    _give_up_output()
    _tell(f"papertrain: {of_system(error).one_line()}\n")
    return 2


def _give_up_output() -> None:
    from papertrain.core.progress import nowhere

    nowhere(sys.stdout)


def _tell(text: str) -> None:
    from papertrain.core.progress import tell
    from papertrain.core.redact import redact

    tell(redact(text, terminal=sys.stderr.isatty()))


@contextlib.contextmanager
def _read_to_the_end_or_not() -> Iterator[None]:
    """A reader that has seen enough (`… | head -1`) closes the pipe; the exit code still says what was found."""
    try:
        yield
    except BrokenPipeError:
        _give_up_output()


def _wants_json(args: list[str]) -> bool:
    """Also in a command line that cannot be parsed. The parts that --fields names are parts of the JSON document."""
    own = args[: args.index("--")] if "--" in args else args
    return any(a == "--json" or a.split("=", 1)[0] == "--fields" for a in own)


def _run(args: list[str]) -> int:
    from papertrain import verbs

    known = verbs.names()
    from papertrain.core import texts
    from papertrain.core.errors import PapertrainError, nearest

    args = _verb_first(args)
    texts.language.set(_asked_language(args))  # before anything can be wrong: that is said in it too
    if not args or args[0] in ("-h", "--help", "help"):
        print(_overview(known), flush=True)
        return 0 if args else 2
    name = args[0]
    wants_json = _wants_json(args)
    if name not in known:
        error = PapertrainError(
            f"no verb {name!r}", code="unknown-verb", nearest=nearest(name, known), command="papertrain --help"
        )
        return _failed(error, "papertrain", wants_json)
    try:
        options = _parse(name, args[1:])
    except PapertrainError as error:
        return _failed(error, name, wants_json)
    face = {k: options.pop(k) for k in FACE}
    return _call(name, options, face)


def _call(name: str, options: dict[str, Any], face: dict[str, Any]) -> int:
    from papertrain import verbs
    from papertrain.core import progress, texts
    from papertrain.core.errors import PapertrainError, of_system
    from papertrain.core.extras import missing
    from papertrain.report.show import show, show_failure

    texts.language.set(face["lang"])
    progress.quiet.set(face["quiet"])
    try:
        try:
            report = verbs.load(name)(**options)
        except BrokenPipeError:
            raise
        except RuntimeError as error:
            # What Python says of a link that leads to itself.
            if "Symlink loop" not in str(error):
                raise
            raise PapertrainError("a link that leads to itself", code="no-file") from None
        except OSError as error:
            raise of_system(error) from error
        except Exception as error:
            if type(error).__module__ != "_csv":
                raise
            raise PapertrainError(f"a table that cannot be read as CSV: {error}", code="broken-csv") from error
        with _read_to_the_end_or_not():
            show(report, **{k: face[k] for k in ("json", "brief", "fields", "quiet", "verbose")})
    except PapertrainError as error:
        if _interrupts:
            raise KeyboardInterrupt from error
        if face["debug"]:
            _trace()
        return _failed(error, name, face["json"])
    except RecursionError:
        return _failed(PapertrainError("the input is nested too deeply", code="too-deep"), name, face["json"])
    except (KeyboardInterrupt, OSError):
        raise
    except Exception as error:
        if _interrupts:
            raise KeyboardInterrupt from error
        wanted = missing(error) if isinstance(error, ModuleNotFoundError) else None
        return _failed(wanted, name, face["json"]) if wanted else _fault(error, name, face)
    if wrong := report.data.get("error"):
        show_failure(wrong, name)
    return report.exit_code(face["fail_on"])


def _failed(error: Any, verb: str, as_json: bool) -> int:
    from papertrain.report.show import show_error

    with _read_to_the_end_or_not():
        show_error(error, verb, as_json)
    return int(error.exit)


def _fault(error: Exception, verb: str, face: dict[str, Any]) -> int:
    """A fault of ours: one line, and where the full trace was written (in the temporary folder, redacted)."""
    import tempfile
    import traceback

    from papertrain.core.errors import PapertrainError
    from papertrain.core.redact import redact

    trace = redact("".join(traceback.format_exception(error)))
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="papertrain-fault-", suffix=".txt", delete=False, errors="replace"
        ) as f:
            f.write(trace)
        where = f"the trace is in {f.name}"
    except OSError:
        where = "--debug shows the trace"
    if face["debug"]:
        _tell(trace)
    fault = PapertrainError(
        f"a fault of papertrain itself ({type(error).__name__}); {where}",
        code="fault",
        ask=["please report it with that trace"],
    )
    fault.exit = 4
    return _failed(fault, verb, face["json"])


def _trace() -> None:
    import traceback

    _tell(traceback.format_exc())


# ---- parsing


class _Parser(argparse.ArgumentParser):
    """argparse, with our one-line error and the nearest option; a help that cannot be written is an error, as any answer."""

    def _print_message(self, message: str, file: Any = None) -> None:
        stream = file or sys.stdout
        stream.write(message)
        stream.flush()

    def error(self, message: str) -> NoReturn:
        from papertrain.core.errors import PapertrainError, nearest

        near = None
        if "unrecognized arguments: " in message:
            word = message.split("unrecognized arguments: ")[1].split()[0].split("=")[0]
            near = nearest(word, self._option_string_actions, 0.5) if word.startswith("-") else None
        raise PapertrainError(message, code="usage", nearest=near, command=f"{self.prog} --help")


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a verb, derived from its signature; its help is in the user's language."""
    from papertrain import verbs
    from papertrain.core.help import Layout, columns, described, helped
    from papertrain.core.params import parameters

    verb = verbs.load(name)
    params = parameters(verb)
    parser = _Parser(
        prog=f"papertrain {name}",
        usage=_usage(name, params),
        description=described(verb.__doc__, columns()),
        formatter_class=Layout,
        allow_abbrev=False,
        add_help=False,
    )
    given = parser.add_argument_group(helped("arguments"))
    own = parser.add_argument_group(helped("options"))
    more = parser.add_argument_group(helped("more options"))
    for p in params:
        if p.name == "passthrough":
            continue
        text, metavar = _about(p)
        keywords: dict[str, Any] = {"help": text.replace("%", "%%"), "default": p.default}
        if p.kind is bool:
            keywords["action"] = "store_true"
        else:
            keywords["type"] = _path if p.kind is Path else p.kind
            keywords["metavar"] = metavar
            if p.choices:
                keywords["choices"] = p.choices
        if p.option is None:
            keywords.pop("default")
            nargs = ("+" if p.required else "*") if p.many else (None if p.required else "?")
            if nargs:
                keywords["nargs"] = nargs
            given.add_argument(p.name, **keywords)
            continue
        if p.many:
            keywords["action"] = "append"
            keywords["default"] = None
        flags = [p.option] + ([f"-{p.arg.short}"] if p.arg.short else [])
        (more if p.arg.advanced else own).add_argument(*flags, dest=p.name, required=p.required, **keywords)
    _face_options(parser.add_argument_group(helped("options of every verb")))
    return parser


def _about(p: Any) -> tuple[str, str]:
    """(help, name of the value). Choices that would fill a line stand in the help."""
    from papertrain.core.help import helped

    text, metavar = helped(p.arg.help), p.arg.metavar or NUMBERS.get(p.kind) or p.name.upper().rstrip("_")
    if not p.choices or p.arg.metavar:
        return text, metavar
    joined = "|".join(p.choices)
    return (text, joined) if len(joined) <= LONGEST_CHOICES else (f"{text}: {', '.join(p.choices)}", metavar)


def _usage(name: str, params: list[Any]) -> str:
    """What must be given, and what may; every option stands below."""
    from papertrain.core.help import helped

    words = [f"papertrain {name}"]
    for p in params:
        value = _about(p)[1]
        if p.name == "passthrough":
            continue
        if p.option is None:
            shown = f"{value} …" if p.many else value
            words.append(shown if p.required else f"[{shown}]")
        elif p.required:
            words.append(f"{p.option} {value}")
    words.append(f"[{helped('options')}]")
    if any(p.name == "passthrough" for p in params):
        words.append("[-- …]")
    return " ".join(words).replace("%", "%%")


def _path(text: str) -> Path:
    # An unset variable in a script must not mean "here".
    if not text:
        raise argparse.ArgumentTypeError("an empty name is no path")
    return Path(text)


def _face_options(group: Any) -> None:
    from papertrain.core.help import helped

    group.add_argument("-h", "--help", action="help", help=helped("show this help and stop"))
    group.add_argument("--json", action="store_true", help=helped("print one JSON document instead of text"))
    group.add_argument("--brief", action="store_true", help=helped("keep the answer short"))
    group.add_argument("--fields", metavar="A,B.C", help=helped("with --json: only these parts of data"))
    group.add_argument("-v", "--verbose", action="store_true", help=helped("show everything"))
    group.add_argument("-q", "--quiet", action="store_true", help=helped("only the result, no progress"))
    group.add_argument(
        "--lang",
        type=_lang,
        metavar="en|zh",
        default=_language(),
        help=helped("language of the sentences (default: PAPERTRAIN_LANG, else the locale)"),
    )
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "never"),
        metavar="error|warning|never",
        default="error",
        help=helped("which findings give exit code 1 (default error)"),
    )
    group.add_argument("--debug", action="store_true", help=helped("show the trace of an error"))


def _asked_language(args: list[str]) -> str:
    """What --lang says in a command line that may not be one."""
    from papertrain.core.texts import of_locale

    words = [word for arg in args for word in arg.split("=", 1)]
    after = words.index("--lang") + 1 if "--lang" in words else len(words)
    return (of_locale(words[after]) if words[after:] else None) or _language()


def _lang(word: str) -> str:
    from papertrain.core.texts import LANGUAGES, of_locale

    if (found := of_locale(word)) is None:
        raise argparse.ArgumentTypeError(f"invalid choice: {word!r} (choose from {', '.join(LANGUAGES)})")
    return found


def _language() -> str:
    from papertrain.core.texts import of_environment

    return of_environment()


def _verb_first(args: list[str]) -> list[str]:
    """`papertrain --lang zh VERB …` is meant as `papertrain VERB --lang zh …`; `help VERB` as `VERB --help`."""
    if args[:1] == ["--lang"] and len(args) > 2:
        return [args[2], "--lang", args[1], *args[3:]]
    if args[:1] and args[0].startswith("--lang=") and len(args) > 1:
        return [args[1], args[0], *args[2:]]
    if args[:1] == ["help"] and len(args) > 1 and not args[1].startswith("-"):
        return [args[1], "--help", *args[2:]]
    return args


def _parse(name: str, args: list[str]) -> dict[str, Any]:
    from papertrain import verbs
    from papertrain.core.errors import PapertrainError
    from papertrain.core.params import parameters

    params = parameters(verbs.load(name))
    rest: list[str] = []
    if "--" in args and any(p.name == "passthrough" for p in params):
        at = args.index("--")
        args, rest = args[:at], args[at + 1 :]
    found = vars(parser_of(name).parse_args(args))
    for p in params:
        if p.name == "passthrough":
            found["passthrough"] = rest
        elif p.many:
            found[p.name] = list(found[p.name] or [])
        elif p.kind is Path and p.name in found and found[p.name] is not None and "\x00" in str(found[p.name]):
            raise PapertrainError(f"{p.name}: not a valid path", code="usage")
    if found.get("fields") and not found["json"]:
        found["json"] = True
    return found


# ---- help


def _overview(known: list[str]) -> str:
    from papertrain import verbs
    from papertrain.core.help import aligned, columns, first_line, helped
    from papertrain.core.wide import folded

    room = columns()

    def lines(names: list[str]) -> list[str]:
        return list(aligned([(n, first_line(verbs.load(n).__doc__)) for n in names], 13, room))

    def filled(text: str) -> list[str]:
        return folded(helped(text), room)

    starts = [
        ("papertrain check sft.yaml ds_z2.json run.sh", helped("what would cost a night, before it does")),
        ("papertrain diagnose train.log", helped("why a run failed, and the exact change")),
        (
            'papertrain plan MODEL --data FILE --gpu "4x A100-80GB"',
            helped("parameters with reasons; does it fit, how long"),
        ),
    ]
    first = [n for n in FIRST if n in known]
    return "\n".join(
        [
            *filled("papertrain: a training engineer. Every answer has a result, an explanation and the next action."),
            "",
            f"{helped('usage')}: papertrain VERB …        {helped('papertrain VERB --help explains one')}",
            "",
            *filled("start here, no set-up needed:"),
            *(aligned(starts, 58, room) if room >= WIDE_ENOUGH else aligned(starts, 6, room)),
            "",
            f"{helped('verbs')}:",
            *lines(first),
            "",
            f"{helped('more')}:",
            *lines([n for n in known if n not in first]),
            "",
            *filled(
                "exit codes: 0 done · 1 a finding at or above --fail-on · 2 input wrong or missing · 3 refused · "
                "4 our fault · 130 Ctrl-C"
            ),
            *filled(
                "all verbs take --json, --brief, -v, -q, --lang en|zh, --debug; `papertrain --version` prints the version"
            ),
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
