"""What the page's script asks: a plan with one value changed, a run since the last look, a piece of a log, a fix."""

from __future__ import annotations

import hashlib
import threading
from html import escape
from pathlib import Path
from typing import Any

from papertrain import verbs
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.schema import confine
from papertrain.core.spelled import spelled
from papertrain.core.texts import language, say
from papertrain.core.writing import only_reading
from papertrain.report.html import three_parts
from papertrain.report.html_findings import diagnosis_card, signals_table
from papertrain.report.html_plan import plan_section
from papertrain.report.plan import result_line
from papertrain.verbs.page import answers, fix_preview, package_preview
from papertrain.web import pages
from papertrain.web.bundles import bundle_part

KNOBS = {
    "method", "micro_batch_size", "sequence_length", "zero_stage", "gradient_checkpointing", "precision", "offload", "learning_rate", "epochs",
    "global_batch_size", "lora_rank", "gpu", "host_ram",
}  # fmt: skip
FOLLOWED = 32


class State:
    """The runs that are followed; everything else is a function of the request."""

    def __init__(self, site: pages.Site) -> None:
        self.site = site
        self._followers: dict[tuple[int, str, str], answers.Follower] = {}
        self._lock = threading.Lock()

    # ---- plan

    def plan(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The plan as HTML, and what its form shows."""
        question, changes = self._asked(given)
        _, p, seconds = answers.changed_plan(question, changes)
        return {
            "html": plan_section(p),
            "fits": p.fits,
            "says": result_line(p),
            "values": {k: v for k, v in p.values().items() if k in KNOBS},
            "milliseconds": round(seconds * 1e3, 1),
            "command": self._command(given, changes),
        }

    def _asked(self, given: dict[str, Any]) -> tuple[Any, dict[str, str]]:
        changes = given.get("changes") or {}
        if not isinstance(changes, dict) or not all(isinstance(v, str) and len(v) < 200 for v in changes.values()):
            raise PapertrainError("changes: an object of texts is expected", code="bad-value")
        for name in changes:
            if name not in KNOBS:
                raise PapertrainError(f"no knob {name!r} on this page", code="unknown-key")
        if isinstance(given.get("work"), int):
            space = self.site.space(given["work"])
            method = str(given.get("method") or "")
            if method not in space.methods():
                raise PapertrainError(say("no such plan"), code="no-plan")
            return answers.question_of(space.root, method), changes
        model, data = str(given.get("model") or "").strip(), str(given.get("data") or "").strip()
        if not model:
            raise PapertrainError(say("name a model"), code="missing-argument")
        folders = list(self.site.folders)
        if data:
            data = str(self._inside(data))
            confine("data", data, folders, is_path=True)
        confine("model", model, folders, is_path=False)
        changes = dict(changes)
        cards, ram = changes.pop("gpu", ""), changes.pop("host_ram", "")
        stamp = Path(data).stat().st_mtime if data and Path(data).is_file() else 0.0
        return answers.new_question(model, cards, data, ram, stamp), changes

    def _inside(self, name: str) -> Path:
        """A relative name is looked for in the served folders, one after the other."""
        found = [f / name for f in self.site.folders if not Path(name).is_absolute() and (f / name).is_file()]
        return found[0] if found else Path(name)

    def _command(self, given: dict[str, Any], changes: dict[str, str]) -> str:
        from papertrain.core.commands import quoted

        target = self.site.folders[given["work"]] if isinstance(given.get("work"), int) else str(given.get("model"))
        cards = f" --gpu {quoted(changes['gpu'])}" if changes.get("gpu") else ""
        sets = "".join(f" --set {quoted(s)}" for s in answers.sets_of(changes))
        return f"papertrain plan {quoted(target)}{cards}{sets}"

    def files(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The exact bytes that would be written, as differences from what stands there, and their digest."""
        from papertrain.core.files import unified
        from papertrain.report.html_findings import diff

        root, texts = self._texts(given)
        shown = []
        for name, text in texts.items():
            change = unified(fix_preview.now(root / name), text, name)
            shown.append(f"<h3>{escape(name)}</h3>{_or_unchanged(diff(change) if change else '')}")
        return {"html": "".join(shown), "digest": _digest(texts), "texts": texts}

    def _texts(self, given: dict[str, Any]) -> tuple[Path, dict[str, str]]:
        if not isinstance(given.get("work"), int):
            raise PapertrainError(say("files are written into a workspace"), code="no-workspace")
        question, changes = self._asked(given)
        q, p, _ = answers.changed_plan(question, changes)
        root = self.site.space(given["work"]).root
        return root, answers.files_of(root, q, p)

    def write(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Write what was shown, by the verb and its governance: only with --write, only if nothing changed since."""
        if not self.site.writing:
            raise Refused(say("this page only reads"), code="read-only", ask=["papertrain serve --write"])
        _, texts = self._texts(given)
        if given.get("digest") != _digest(texts):
            raise Refused(say("something changed since the files were shown: look again"), code="changed")
        _, changes = self._asked(given)
        work = self.site.space(given["work"]).root
        extra = {"gpu": changes["gpu"]} if changes.get("gpu") else {}
        report = verbs.load("plan")(str(work), sets=answers.sets_of(changes), name=str(given.get("method")), **extra)
        return {"says": report.result, "files": report.data.get("files", [])}

    # ---- run

    def run(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """A run since a sequence number."""
        number, name = request.path_params["number"], request.path_params["run"]
        folder = pages.run_folder(self.site.space(number), name)
        since = request.query_params.get("since", "0")
        with self._lock:
            key = (number, name, language.get())  # what is said about a run is said in a language
            if key not in self._followers:
                if len(self._followers) >= FOLLOWED:
                    self._followers.pop(next(iter(self._followers)))
                self._followers[key] = answers.Follower(folder)
            follower = self._followers[key]
        found = follower.look(int(since) if since.isdigit() else 0)
        if "signals" in found:
            found = {**found, "html": signals_table(found["signals"], live=True)}
        return {**found, "logs": [p.name for p in answers.log_files(folder)]}

    def log(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """A piece of one of the run's text files, chosen from the list of those that are there."""
        folder = pages.run_folder(self.site.space(request.path_params["number"]), request.path_params["run"])
        name = request.path_params["file"]
        file = next((p for p in answers.log_files(folder) if spelled(p.name) == name), None)
        if file is None:
            raise PapertrainError(say("no such file"), code="no-file")
        offset, line = request.query_params.get("offset", ""), request.query_params.get("line", "")
        if line.isdigit() and len(line) < 12:
            return answers.log_lines(file, int(line))
        return answers.log_piece(file, int(offset) if offset.isdigit() else None, request.query_params.get("search", "")[:200])  # fmt: skip

    # ---- diagnose

    def diagnose(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """A run of a workspace, a log of a served folder, or a pasted one."""
        if "log" in given:
            with only_reading():
                return _answer(answers.diagnose_text(str(given["log"] or ""), str(given.get("config") or ""), None))
        place = self._place(given)
        config = [place.target] if place.log else []
        asked = list(place.log) or [place.target]
        if (
            self.site.writing
        ):  # the answer is kept beside the run, as the command keeps it: a fix is found again by its id
            return _answer(verbs.load("diagnose")(asked, config=config), live=True)
        with only_reading():
            return _answer(verbs.load("diagnose")(asked, config=config), live=True)

    def _place(self, given: dict[str, Any]) -> fix_preview.Place:
        """The run or the files that are meant. Raises PapertrainError for what is not served."""
        if "work" in given:
            number = given["work"] if isinstance(given["work"], int) else -1
            return fix_preview.Place(target=pages.run_folder(self.site.space(number), str(given.get("run"))))
        named = [str(given.get(k) or "").strip() for k in ("log_file", "config_file")]
        if not named[0]:
            raise PapertrainError(say("paste a log, or drop a file"), code="missing-argument")
        found = [self._inside(n) for n in named if n]
        for path in found:
            confine("file", path, list(self.site.folders), is_path=True)
            if not path.is_file():
                raise PapertrainError(say("no such file"), code="no-file", file=path)
        return fix_preview.Place(target=found[-1], log=(found[0],) if len(found) > 1 else ())

    # ---- fix

    def fix(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """What a fix would write, as differences, and their digest."""
        from papertrain.report.html_findings import diff

        with only_reading():
            made = fix_preview.proposal(self._place(given), str(given.get("id")), self.site.folders)
        shown = "".join(
            f"<h5>{escape(name)}</h5>{_or_unchanged(diff(text) if text else '')}" for name, text in made.diffs()
        )
        kept = "".join(f'<p class="warning">{escape(say("{file} was edited by a person: it is left alone", file=k))}</p>' for k in made.kept)  # fmt: skip
        return {
            "html": f"<p>{escape(made.says)}</p>{shown}{kept}",
            "digest": made.digest,
            "writing": self.site.writing,
            "texts": {name: new for name, (_, new) in made.texts.items()},
        }

    def apply(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Apply the fix that was shown, by the verb and its governance: only with --write, only if nothing changed since."""
        if not self.site.writing:
            raise Refused(say("this page only reads"), code="read-only", ask=["papertrain serve --write"])
        place, id = self._place(given), str(given.get("id"))
        done = fix_preview.apply(place, id, str(given.get("digest")), self.site.folders)
        return {"html": three_parts(_without_body(done, action=done.action)), "applied": done.data["applied"]}

    # ---- package

    def package(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Which files a bundle would hold, and their digest."""
        bundle = self._bundle(given)
        found = package_preview.contents(bundle)
        return {
            "html": bundle_part(found),
            "digest": found.digest(bundle),
            "writing": self.site.writing,
            "files": [name for name, _, _ in found.files],
        }

    def pack(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Write the bundle that was shown, by the verb and its governance: only with --write, only if nothing changed since."""
        if not self.site.writing:
            raise Refused(say("this page only reads"), code="read-only", ask=["papertrain serve --write"])
        done = package_preview.write(self._bundle(given), str(given.get("digest")))
        return {"html": three_parts(_without_body(done, action=done.action)), "bundle": done.data["bundle"]}

    def _bundle(self, given: dict[str, Any]) -> package_preview.Bundle:
        number = given["work"] if isinstance(given.get("work"), int) else -1
        anonymous, zipped = given.get("anonymous") is True, given.get("zip") is True
        return package_preview.Bundle(work=self.site.space(number).root, anonymous=anonymous, zipped=zipped)

    # ---- what takes longer than a page may

    def part(self, request: Any, given: dict[str, Any]) -> dict[str, Any]:
        """A part of a page that comes after it: the results, a run of the report."""
        asked = request.path_params
        return {
            "html": pages.part(self.site.space(asked["number"]), asked["name"], request.query_params.get("run", ""))
        }


def _or_unchanged(html: str) -> str:
    return html or f'<p class="soft">{escape(say("unchanged"))}</p>'


def _answer(report: Any, *, live: bool = False) -> dict[str, Any]:
    found = report.data.get("diagnoses", ())
    cards = "".join(diagnosis_card(d, live="files" if live else "text") for d in found[:5])
    action = report.action if live else _by_hand(found)
    return {"html": three_parts(_without_body(report, action)) + cards, "classes": [d["class"] for d in found]}


def _by_hand(found: Any) -> str | None:
    """What to do about a pasted log: no command knows where it came from."""
    if not found:
        return None
    patched = any(f.get("patch") for f in found[0].get("fixes", ()))
    return say("copy the patch below into your config") if patched else str(found[0].get("next_check") or "") or None


def _without_body(report: Any, action: str | None = None) -> Any:
    from msgspec import structs

    return structs.replace(report, body="", head="", details="", action=action)


def _digest(texts: dict[str, str]) -> str:
    return hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(texts.items())).encode()).hexdigest()
