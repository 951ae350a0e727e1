"""Where models lie on this machine, and, only when asked for, on the hub."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.facts.config import LIMIT_BYTES

_NAME = re.compile(r"[\w.-]{1,96}(?:/[\w.-]{1,96})?")


def is_hub_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and ".." not in name


def cached_folder(name: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The newest snapshot of the model in the Hugging Face cache (or ModelScope's) that has a config.json."""
    if "/" not in name or not is_hub_name(name):
        return None
    for root in _hubs(environment):
        folder = root / f"models--{name.replace('/', '--')}"
        try:
            main = (folder / "refs" / "main").read_text("utf-8").strip()
            found = [folder / "snapshots" / main] if re.fullmatch(r"[0-9a-f]{7,64}", main) else []
        except OSError:
            found = []
        found += sorted((folder / "snapshots").glob("*")) if folder.is_dir() else []
        for snapshot in found:
            if (snapshot / "config.json").is_file():
                return snapshot
    if environment.get("USE_MODELSCOPE_HUB", "").lower() in ("1", "true", "yes"):
        root = Path(environment.get("MODELSCOPE_CACHE") or Path.home() / ".cache/modelscope/hub")
        for folder in (root / "models" / name, root / name):
            if (folder / "config.json").is_file():
                return folder
    return None


def _hubs(environment: Mapping[str, str]) -> list[Path]:
    if environment.get("HF_HUB_CACHE"):
        return [Path(environment["HF_HUB_CACHE"])]
    home = environment.get("HF_HOME")
    if home:
        return [Path(home) / "hub"]
    cache = environment.get("XDG_CACHE_HOME")
    return [(Path(cache) if cache else Path.home() / ".cache") / "huggingface" / "hub"]


def fetch_config(name: str, environment: Mapping[str, str] = os.environ, seconds: float = 10.0) -> tuple[bytes, str]:
    """config.json of a model on the hub, and the address without credentials. Called only with --online."""
    if environment.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on"):
        raise PapertrainError("--online was asked for, and HF_HUB_OFFLINE forbids it", code="offline")
    if not is_hub_name(name):
        raise PapertrainError(f"{name[:80]!r} is not the name of a model on the hub", code="unknown-model")
    if environment.get("USE_MODELSCOPE_HUB", "").lower() in ("1", "true", "yes"):
        address = f"https://modelscope.cn/models/{name}/resolve/master/config.json"
        token = ""
    else:
        end = environment.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"
        if not re.match(r"https?://", end):
            raise PapertrainError("HF_ENDPOINT is not an address that starts with https://", code="bad-endpoint")
        address = f"{end}/{name}/resolve/main/config.json"
        token = environment.get("HF_TOKEN", "")
    import urllib.error
    import urllib.request

    request = urllib.request.Request(address)
    if token:
        # Not sent on to where the hub redirects.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    shown = re.sub(r"//[^/@]*@", "//", address)
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            body = answer.read(LIMIT_BYTES + 1)
    except urllib.error.HTTPError as e:
        why = {
            401: "it needs HF_TOKEN",
            403: "it is gated: accept its terms, then set HF_TOKEN",
            404: "no such model",
        }.get(e.code, f"HTTP {e.code}")
        raise PapertrainError(f"{shown}: {why}", code="hub") from None
    except (OSError, ValueError) as e:
        raise PapertrainError(f"{shown} cannot be reached: {type(e).__name__}", code="hub") from None
    if len(body) > LIMIT_BYTES:
        raise PapertrainError(f"{shown}: larger than a config.json can be", code="too-large")
    return body, shown
