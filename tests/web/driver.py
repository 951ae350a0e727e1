"""Chromium by the WebDriver protocol, spoken with the standard library."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-dev-shm-usage"]  # fmt: skip


def browser() -> tuple[str, str] | None:
    """Chromium and its driver, where this machine has both."""
    chromium, driver = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


class Browser:
    def __init__(self, profile: Path) -> None:
        found = browser()
        assert found is not None
        self._process = subprocess.Popen([found[1], "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        assert self._process.stdout is not None
        line = ""
        while "successfully on port" not in line:
            line = self._process.stdout.readline()
            assert line, "chromedriver ended"
        port = line.split("on port")[1].strip(" .\n")
        self._base = f"http://127.0.0.1:{port}"
        options = {"binary": found[0], "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._base + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"].splitlines()[0]) from None

    def _do(self, path: str, body: Any = None) -> Any:
        return self._ask("POST", f"/session/{self._session}{path}", body)

    def open(self, url: str) -> None:
        self._do("/url", {"url": url})

    def run(self, script: str) -> Any:
        """The value of a JavaScript function body."""
        return self._do("/execute/sync", {"script": script, "args": []})

    def wait(self, script: str, seconds: float = 30) -> Any:
        """The first true value of an expression."""
        end = time.monotonic() + seconds
        while not (value := self.run(f"return {script}")):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.1)
        return value

    def look(self, *, dark: bool, width: int) -> None:
        """The theme and the width of the screen."""
        media = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
        self._do("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": media})
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._do("/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": size})

    def keys(self, text: str) -> None:
        """Keys on what has the focus."""
        actions = [a for c in text for a in ({"type": "keyDown", "value": c}, {"type": "keyUp", "value": c})]
        self._do("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def axe(self, source: str) -> list[str]:
        """Serious and critical findings of axe-core on this page."""
        script = (
            source
            + ";return axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 120)).join(' | ')))"
        )
        return list(self.run(script))

    def errors(self) -> list[str]:
        """What the console complained of."""
        return [e["message"] for e in self._do("/se/log", {"type": "browser"}) if e["level"] == "SEVERE"]

    def picture(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(self._ask("GET", f"/session/{self._session}/screenshot")))

    def close(self) -> None:
        try:
            self._ask("DELETE", f"/session/{self._session}")
        finally:
            self._process.terminate()
            self._process.wait(10)
