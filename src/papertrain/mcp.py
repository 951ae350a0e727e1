"""The tool server for agents: one read-only tool per verb, derived from its signature. `python -m papertrain.mcp`.

An agent that may write has the command line; here nothing is written, whatever is asked. Paths are confined to the
granted folders.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from papertrain import verbs
from papertrain.core.errors import PapertrainError
from papertrain.core.files import only_reading
from papertrain.core.redact import redact_json
from papertrain.core.report import SCHEMA
from papertrain.core.schema import ENVELOPE, READING, arguments, confine, readable, schema_of, unwritten
from papertrain.core.version import __version__
from papertrain.report.show import shorten

EXTRA = {"brief": {"type": "boolean", "default": True, "description": "cut long lists short"}}


def tools() -> list[dict[str, Any]]:
    """Name, description, input and output schema, and annotations of each tool."""
    found = []
    for name in READING:
        if name not in verbs.names():
            continue
        verb = verbs.load(name)
        schema = schema_of(readable(verb))
        schema["properties"] |= EXTRA
        doc = (verb.__doc__ or "").strip()
        found.append(
            {
                "name": name,
                "description": doc,
                "inputSchema": schema,
                "outputSchema": ENVELOPE,
                "annotations": {
                    "title": doc.splitlines()[0],
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": False,
                },
            }
        )
    return found


def call(name: str, given: dict[str, Any], folders: list[Path]) -> tuple[dict[str, Any], bool]:
    """(the envelope, whether it is an error). Never raises: a fault of ours is an error result too."""
    try:
        if name not in READING:
            raise PapertrainError(f"no tool {name!r}", code="unknown-tool", ask=[f"known: {', '.join(READING)}"])
        brief = bool(given.pop("brief", True))
        params = readable(verbs.load(name))
        values = arguments(params, given)
        for key, value in values.items():
            confine(key, value, folders, is_path=any(p.name == key and p.kind is Path for p in params))
        with only_reading():
            document = verbs.load(name)(**values, **unwritten(verbs.load(name))).envelope()
        if brief:
            document["data"] = shorten(document["data"])
        failed = False
    except PapertrainError as error:
        document, failed = _error(name, error), True
    except Exception as fault:
        document, failed = (
            _error(name, PapertrainError(f"a fault of papertrain itself: {type(fault).__name__}", code="fault")),
            True,
        )
    clean: dict[str, Any] = msgspec.json.decode(redact_json(msgspec.json.encode(document)))
    return clean, failed


def _error(name: str, error: PapertrainError) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "verb": name,
        "mode": "exploratory",
        "result": error.one_line(),
        "explanation": "; ".join(error.ask),
        "action": error.command,
        "warnings": [],
        "unavailable": [],
        "data": {"error": error.error()},
    }


async def serve(folders: list[Path]) -> None:
    """Answer over standard input and output until it closes."""
    import mcp.types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool.model_validate(t) for t in tools()])

    async def call_tool(context: Any, params: Any) -> Any:
        import anyio

        document, failed = await anyio.to_thread.run_sync(call, params.name, dict(params.arguments or {}), folders)
        text = f"{document['result']}\n{document['explanation']}\n{document['action'] or ''}".strip()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)], structured_content=document, is_error=failed
        )

    server: Any = Server(
        "papertrain",
        version=__version__,
        instructions="Read-only tools of a training engineer. `next` names the one command to run now; writing is done on the command line.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def main() -> int:
    import anyio

    folders = [Path(p) for p in sys.argv[1:]] or [Path.cwd()]
    anyio.run(serve, folders)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
