"""The pages, rendered on the server from the same parts as the report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from papertrain import verbs
from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.help import first_line
from papertrain.core.sentences import translated
from papertrain.core.spelled import spelled
from papertrain.core.texts import language, say
from papertrain.core.values import Value
from papertrain.core.workspace import Workspace
from papertrain.report.html import raw, table
from papertrain.verbs.page import fix_preview
from papertrain.verbs.page import parts as parts
from papertrain.web import bundles, controls, forms
from papertrain.web.kept import Kept
from papertrain.web.shell import shell

DOWNLOADS = {"tables": (".tex", ".csv", ".md"), "figures": (".pdf", ".png", ".csv", ".py", ".tex")}


_kept = Kept()


class Site(Value, frozen=True):
    """What is served: the granted folders, and whether a page may write what it has shown."""

    folders: tuple[Path, ...]
    writing: bool = False

    def space(self, number: int) -> Workspace:
        """The workspace of that number. Raises PapertrainError."""
        if not 0 <= number < len(self.folders):
            raise PapertrainError(say("no such workspace"), code="no-workspace-number")
        return Workspace.open(self.folders[number])


def told(error: PapertrainError) -> str:
    """What is wrong, what to supply and what would work, as the command line says it."""
    more = "; ".join(map(translated, error.ask))
    text = error.one_line() + (f" ({more})" if more else "")
    return text + (say("; try: {command}", command=error.command) if error.command else "")


def wrong(site: Site, error: PapertrainError) -> str:
    """A page that says what is wrong and how to go on."""
    asked = "".join(f"<li>{escape(translated(a))}</li>" for a in error.ask)
    more = (f"<ul>{asked}</ul>" if asked else "") + (f'<pre tabindex="0">{escape(error.command)}</pre>' if error.command else "")  # fmt: skip
    return shell(site, "papertrain", [(say("What is wrong"), f'<p class="error">{escape(error.one_line())}</p>{more}')])


def home(site: Site) -> str:
    """The workspaces with where they stand, and every verb that only asks."""
    rows = []
    for i, folder in enumerate(site.folders):
        answer = forms.ask("status", {"work": folder})
        name = escape(folder.name or str(folder))
        if isinstance(answer, PapertrainError):
            ways = f'<a href="/diagnose">{escape(say("Diagnose"))}</a> · <a href="/verb/check">check</a> · <a href="/verb/watch">watch</a>'
            rows.append(f'<li>{name}: <span class="soft">{escape(answer.one_line())}</span><br>{ways}</li>')
            continue
        ways = " · ".join(f'<a href="/w/{i}/{r}">{escape(w)}</a>' for r, w in (("plan", say("Plan")), ("run", say("Run")), ("results", say("Results")), ("package", say("Package"))))  # fmt: skip
        rows.append(f'<li><a href="/report/{i}"><strong>{name}</strong></a>: {escape(answer.result)}. {escape(answer.explanation)}<br>{ways}</li>')  # fmt: skip
    asks = "".join(
        f'<li><a href="/verb/{n}">{n}</a>: {escape(first_line(verbs.load(n).__doc__))}</li>' for n in forms.reading()
    )
    return shell(site, "papertrain", [(say("Workspaces"), f"<ul>{''.join(rows)}</ul>"), (say("Ask"), f"<ul>{asks}</ul>")], here="home")  # fmt: skip


def whole(site: Site, number: int) -> str:
    """The report as one file: everything in it, nothing loaded."""
    from papertrain.report.html import page

    space = site.space(number)
    return page(say("{name}: training report", name=space.study.name), parts.sections(space))


def report(site: Site, number: int) -> str:
    """The report as a page: what takes longer than a page may comes after it."""
    space = site.space(number)
    found = [(say("Where it stands"), parts.status_part(space))]
    found += [(say("Plan: {name}", name=n), parts.plan_part(space, n)) for n in space.methods()]
    found += [(say("Run: {id}", id=r.id), later(number, "run", r.id)) for r in space.grid() if space.run_path(r.id).is_dir()]  # fmt: skip
    if (space.root / "runs" / "earlier").is_dir():
        found.append((say("Earlier attempts"), later(number, "earlier")))
    found.append((say("Results"), later(number, "results")))
    found += [(say("Figures"), figures)] if (figures := parts.figures_part(space, picture_of(number))) else []
    found += [(say("Evidence"), evidence)] if (evidence := parts.evidence_part(space)) else []
    found.append((say("Done when"), parts.checklist_part(space)))
    links = "".join(f'<a href="#h{i}">{escape(head)}</a>' for i, (head, _) in enumerate(found))
    file = f'<p><a href="/report/{number}/file" download>{escape(say("Take it along as one file"))}</a></p>'
    lead = f'{file}<nav class="sections" aria-label="{escape(say("sections"))}">{links}</nav>'
    title = say("{name}: training report", name=space.study.name)
    return shell(site, title, found, number=number, here="report", script="later.js", lead=lead)


def warm(folders: Sequence[Path]) -> None:
    """Work out what takes long before somebody asks for it: the results of each workspace, in both languages."""
    for folder in folders:
        for chosen in ("en", "zh"):
            language.set(chosen)
            with contextlib.suppress(PapertrainError, OSError):
                parts.results_part(Workspace.open(folder))


def later(number: int, name: str, run: str = "") -> str:
    """A place that the page's script fills: the page is there before the slow part is."""
    address = f"/api/part/{number}/{name}" + (f"?run={quote(spelled(run))}" if run else "")
    without = (
        f'<noscript><p><a href="/report/{number}/file">{escape(say("Take it along as one file"))}</a></p></noscript>'
    )
    return f'<div class="later" data-part="{escape(address)}" aria-busy="true"><p class="soft" role="status">{escape(say("being worked out …"))}</p></div>{without}'


def part(space: Workspace, name: str, run: str) -> str:
    """A part that comes later. Raises PapertrainError for one that is not there."""
    if name == "results":
        return parts.results_part(space) or nothing_yet(
            say("no results yet"), line("papertrain", "evaluate", space.root)
        )
    key = (str(space.root.resolve()), name, run, language.get())
    if name == "earlier":
        return _kept.get(key, (space.root / "runs" / "earlier").rglob("*"), lambda: parts.earlier_part(space))
    cell = next((r for r in space.grid() if r.id == run), None) if name == "run" else None
    if cell is None:
        raise PapertrainError(say("no such run"), code="no-run")
    path = space.run_path(cell.id)
    files = [*path.glob("*"), *path.glob("debug/*"), space.plan_path(cell.method)]
    return _kept.get(key, files, lambda: parts.run_part(path, cell.state, cell.because))


def nothing_yet(says: str, command: str) -> str:
    """An empty place that says how it is filled."""
    return f'<p class="soft">{escape(says)}</p><pre tabindex="0">{escape(command)}</pre>'


def picture_of(number: int) -> Callable[[Path], str]:
    return lambda file: f"/w/{number}/picture/{quote(spelled(file.name))}"


def plan(site: Site, number: int, method: str | None) -> str:
    """A method's plan with its knobs."""
    space = site.space(number)
    methods = space.methods()
    chosen = method if method in methods else space.plan().name if methods else ""
    if not chosen:
        raise PapertrainError(
            say("no plan yet"), code="no-plan", command=line("papertrain", "plan", "MODEL", "-o", space.root)
        )
    others = "".join(f'<a href="?method={escape(m)}"{" aria-current=page" if m == chosen else ""}>{escape(m)}</a> ' for m in methods)  # fmt: skip
    shown = controls.knobs(space.plan(chosen), number, chosen, writing=site.writing)
    result = f'<div id="plan" aria-live="polite">{parts.plan_part(space, chosen)}</div>'
    head = f'<p class="ways">{others}</p>' if len(methods) > 1 else ""
    return shell(site, say("Plan: {name}", name=chosen), [("", head + f'<div class="split">{shown}{result}</div>')], number=number, here="plan", script="plan.js")  # fmt: skip


def new_plan(site: Site) -> str:
    """A plan from nothing: model, data, cards."""
    shown = controls.new_knobs()
    empty = f'<div id="plan" aria-live="polite"><p class="soft">{escape(say("Name a model and cards: the plan appears here."))}</p></div>'
    return shell(site, say("New plan"), [("", f'<div class="split">{shown}{empty}</div>')], here="new", script="plan.js")  # fmt: skip


def run(site: Site, number: int, name: str | None) -> str:
    """A run: live curves, signals, log."""
    space = site.space(number)
    runs = runs_of(space)
    if not runs:
        raise PapertrainError(say("no run yet"), code="no-run", command=line("papertrain", "launch", space.root))
    chosen = name if name in runs else runs[0]
    settings = {"number": number, "run": chosen, "runs": runs}
    body = controls.run_page(chosen, runs, settings)
    debug = parts.debug_part(space.run_path(chosen), live="" if "~" in chosen else "files")
    sections = [("", body), (say("Signals"), '<div id="signals"></div>')]
    if debug:
        sections.append((say("Diagnoses"), debug))
    sections.append((say("Log"), controls.log_part()))
    return shell(site, say("Run: {id}", id=chosen), sections, number=number, here="run", script="run.js")


def runs_of(space: Workspace) -> list[str]:
    """Runs whose folder is there: those of the study first, then set-aside ones by their place below `runs/`."""
    grid = [r.id for r in space.grid() if space.run_path(r.id).is_dir()]
    folder = space.root / "runs"
    more = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name not in grid and p.name != "earlier") if folder.is_dir() else []  # fmt: skip
    earlier = folder / "earlier"
    old = sorted(f"earlier~{p.name}" for p in earlier.iterdir() if p.is_dir() and p.name.count(".") >= 3) if earlier.is_dir() else []  # fmt: skip
    return [*grid, *more, *old]


def run_folder(space: Workspace, run: str) -> Path:
    """The folder of a run that `runs_of` lists. Raises PapertrainError: no other name is ever joined to a path."""
    known = {spelled(r): r for r in runs_of(space)}
    if spelled(run) not in known:
        raise PapertrainError(say("no such run"), code="no-run")
    return space.root / "runs" / known[spelled(run)].replace("earlier~", "earlier/", 1)


def diagnose(site: Site) -> str:
    """A run of a workspace, a log of a served folder, or a pasted one."""
    runs = []
    for i, folder in enumerate(site.folders):
        if Workspace.is_workspace(folder):
            space = Workspace(folder)
            runs += [(f"{i}/{r}", f"{folder.name}: {r}") for r in fix_preview.runs_with_log(space, runs_of(space))]
    found = [("", controls.diagnose_forms(runs)), (say("Answer"), controls.answer_part())]
    return shell(site, say("Diagnose"), found, here="diagnose", script="diagnose.js")


def results(site: Site, number: int) -> str:
    """The table, its tests, figures, evidence, and every file to take along."""
    space = site.space(number)
    made = parts.results_made(space)
    found = [(say("Table"), later(number, "results") if made is None else made or part(space, "results", ""))]
    found.append((say("Downloads"), _downloads(space, number)))
    found += [(say("Figures"), figures)] if (figures := parts.figures_part(space, picture_of(number))) else []
    found += [(say("Evidence"), evidence)] if (evidence := parts.evidence_part(space)) else []
    return shell(site, say("Results"), found, number=number, here="results", script="later.js")


KINDS = {".tikz.tex": "TikZ", ".tex": "LaTeX", ".csv": "CSV", ".md": "Markdown", ".pdf": "PDF", ".png": "PNG", ".py": "Python"}  # fmt: skip


def _downloads(space: Workspace, number: int) -> str:
    """A row per table and figure, with every form it is there in."""
    rows = []
    for folder in DOWNLOADS:
        for stem, group in groupby(files_in(space, folder), key=lambda p: p.name.partition(".")[0]):
            links = " · ".join(_download_link(number, folder, file) for file in group)
            rows.append((f"{folder}/{stem}", raw(links)))
    told = nothing_yet(say("nothing written yet"), line("papertrain", "compare", space.root, "-o", space.root))
    return table((say("file"), say("as")), rows) if rows else told


def _download_link(number: int, folder: str, file: Path) -> str:
    kind = KINDS[next(end for end in KINDS if file.name.endswith(end))]
    about = escape(f"{folder}/{file.name}, {file.stat().st_size / 1e3:,.1f} kB")
    return f'<a href="/w/{number}/file/{folder}/{escape(quote(spelled(file.name)))}" download title="{about}" aria-label="{about}">{kind}</a>'


def files_in(space: Workspace, folder: str) -> list[Path]:
    place = space.root / folder
    if folder not in DOWNLOADS or not place.is_dir() or place.is_symlink():
        return []
    return sorted(p for p in place.iterdir() if p.suffix in DOWNLOADS[folder] and p.is_file() and not p.is_symlink())


def download(site: Site, number: int, folder: str, name: str) -> Path:
    """A table or figure, by comparing with the list of those that are there. Raises PapertrainError."""
    for file in files_in(site.space(number), folder):
        if spelled(file.name) == name:
            return file
    raise PapertrainError(say("no such file"), code="no-page")


def picture(site: Site, number: int, name: str) -> Path:
    """A figure to look at. Raises PapertrainError."""
    if not name.endswith(".png"):
        raise PapertrainError(say("no such file"), code="no-page")
    return download(site, number, "figures", name)


def package(site: Site, number: int) -> str:
    """The checklist, the steps, and the bundle: which files it would hold, then writing it."""
    space = site.space(number)
    found = [(say("Done when"), parts.checklist_part(space)), (say("Where it stands"), parts.status_part(space)), (say("Bundle"), bundles.section(space, number))]  # fmt: skip
    return shell(site, say("Package"), found, number=number, here="package", script="package.js")
