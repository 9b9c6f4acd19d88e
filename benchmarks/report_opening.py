"""How long the report takes to open in a browser: ``python -m benchmarks.report_opening [PAGE]``.

Opens the page of ``dpproof check papers --html`` (build/report/index.html unless named) in headless Chromium,
each time in a fresh profile, and reads what the browser itself measured: milliseconds from the start of the
navigation to the first paint of content, to the document's being parsed, and to the end of the load event.
The page is opened from a copy with one script more, which its own policy would forbid.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "build" / "report" / "index.html"
TIMES = 9
TARGET = 1000.0
NAMES = ("first contentful paint", "parsed", "loaded")
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
SCRIPT = """<script>addEventListener("load", () => setTimeout(() => {
  const [way] = performance.getEntriesByType("navigation");
  const paint = performance.getEntriesByName("first-contentful-paint").map((entry) => entry.startTime);
  const found = [paint.length ? paint[0] : null, way.domContentLoadedEventEnd, way.loadEventEnd];
  fetch("http://127.0.0.1:PORT/", {method: "POST", mode: "no-cors", body: JSON.stringify(found)});
}, 300));</script></body>"""


class _Listener(BaseHTTPRequestHandler):
    """Takes what one opening says, and keeps it with the server."""

    def do_POST(self) -> None:
        """Read the numbers."""
        told = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told = json.loads(told)  # type: ignore[attr-defined] # where the caller looks
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def browser() -> str | None:
    """The Chromium of this machine, if it has one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def milliseconds(page: Path, chromium: str) -> dict[str, float | None]:
    """What the browser measured of one opening, by name; None for what it did not report.

    Raises:
        TimeoutError: the browser said nothing.
    """
    text = POLICY.sub("", page.read_text(encoding="utf-8"))
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        HTTPServer(("127.0.0.1", 0), _Listener) as server,
    ):
        server.timeout = 60
        copy = Path(folder) / "page.html"
        script = SCRIPT.replace("PORT", str(server.server_port))
        copy.write_text(text.replace("</body>", script), encoding="utf-8")
        command = [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={folder}/profile", "--window-size=1280,1600", "--remote-debugging-port=0",
            copy.as_uri(),
        ]  # fmt: skip
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            server.handle_request()
        finally:
            running.terminate()
            running.wait()
    if not hasattr(server, "told"):
        raise TimeoutError(f"page ({page}) must say when it was opened; the browser gave no time")
    return dict(zip(NAMES, server.told, strict=True))


def opened(page: Path, chromium: str, times: int = TIMES) -> Mapping[str, list[float]]:
    """The milliseconds of some openings, by name, after one that is not counted."""
    rows = [milliseconds(page, chromium) for _ in range(times + 1)][1:]
    columns = {name: [row[name] for row in rows] for name in NAMES}
    return {name: sorted(value for value in column if value is not None) for name, column in columns.items()}


def rows(page: Path = PAGE) -> list[dict[str, Any]]:
    """Median seconds for the page of benchmarks; none where there is no Chromium, or no report."""
    chromium = browser()
    if chromium is None or not page.is_file():
        return []
    size = f"{page.stat().st_size / 1e6:.1f} MB; target below {TARGET / 1000:g} s"
    found = opened(page, chromium)
    return [
        {"name": f"report, {name}", "seconds": statistics.median(values) / 1000, "note": size}
        for name, values in found.items()
        if values
    ]


def main(arguments: list[str]) -> int:
    """Measure and print; 1 where the median of an end is over a second."""
    page, chromium = Path(arguments[0]) if arguments else PAGE, browser()
    if chromium is None or not page.is_file():
        print("needs Chromium, and the page of: dpproof check papers --html build/report", file=sys.stderr)
        return 2
    print(f"{page.stat().st_size / 1e6:.1f} MB, {TIMES} openings")
    slow = False
    for name, values in opened(page, chromium).items():
        if values:
            median = statistics.median(values)
            slow |= median > TARGET
            print(f"{name}: median {median:.0f} ms, from {values[0]:.0f} to {values[-1]:.0f}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
