"""The Package page's bundle: what it would hold, file by file, and the two buttons."""

from __future__ import annotations

from html import escape

import msgspec

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.workspace import Workspace
from papertrain.report.html import raw, table
from papertrain.verbs.page.package_preview import Contents


def section(space: Workspace, number: int) -> str:
    """How a bundle is made: here, or by the command."""
    command = line("papertrain", "package", space.root, "-o", "BUNDLE")
    told = {"write": say("Write it"), "busy": say("reading the workspace…"), "readonly": say("this page only reads: serve --write lets it write")}  # fmt: skip
    data = " ".join(f'data-{k}="{escape(v)}"' for k, v in told.items())
    boxes = "".join(
        f'<label><input type="checkbox" name="{name}"> {escape(label)}</label>'
        for name, label in (("anonymous", say("for double-blind review: without names, paths and hosts")), ("zip", say("as one .zip file")))
    )  # fmt: skip
    return (
        f"<p>{escape(say('A bundle holds configs, commands, logs, scores, tables and evidence with a manifest of digests, and can be verified anywhere.'))} {_held(space)}</p>"
        f'<form id="bundle" data-work="{number}" {data}><p class="boxes">{boxes}</p><button>{escape(say("Show which files it would hold"))}</button></form>'
        f'<p id="packed" role="status" class="soft"></p><div id="held"></div>'
        f"<details><summary>{escape(say('On the command line'))}</summary>"
        f'<pre tabindex="0">{escape(command)}\npapertrain package --verify BUNDLE</pre></details>'
    )


def _held(space: Workspace) -> str:
    """What the last bundle's manifest lists, where there was one."""
    manifest = space.root / "MANIFEST.json"
    if not manifest.is_file():
        return ""
    try:
        files = msgspec.json.decode(read_text(manifest)).get("files", [])
        return escape(say("The last one lists {n} files.", n=len(files)))
    except (PapertrainError, msgspec.MsgspecError, AttributeError, TypeError):
        return ""


def bundle_part(found: Contents) -> str:
    """The files with sizes and digests, what is left out and why, and what is still missing."""
    count = len(found.files) + len(found.made)
    head = say("{n} files, {mb:.1f} MB", n=count, mb=found.size / 1e6)
    state = say("complete") if not found.missing else say("not complete: {n} things are missing", n=len(found.missing))
    missing = "".join(f"<li>{escape(translated(m))}</li>" for m in found.missing)
    warnings = "".join(f'<p class="warning">{escape(w)}</p>' for w in found.warnings)
    rows = [(name, f"{size:,}", raw(f"<code>{digest[:16]}…</code>")) for name, size, digest in found.files]
    rows += [(name, "", raw(escape(say("made with it")))) for name in found.made]
    left = table((say("file"), say("left out because")), [(n, translated(w)) for n, w in found.left])
    return (
        f"<p><strong>{escape(head)}, {escape(state)}</strong></p>{f'<ul>{missing}</ul>' if missing else ''}{warnings}"
        f"<details open><summary>{escape(say('Files'))}</summary>{table((say('file'), say('bytes'), 'sha256'), rows)}</details>"
        + (f"<details><summary>{escape(say('Left out: {n}', n=len(found.left)))}</summary>{left}</details>" if found.left else "")
    )  # fmt: skip
