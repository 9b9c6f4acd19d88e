"""The report in a real browser: accessibility by axe, nothing asked of any network, room on a phone.

Needs Chromium and axe-core (tools/peers_of_the_report.sh); without them every test here is skipped.
"""

from __future__ import annotations

import html as html_module
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpproof.answers.claims import check_claim
from dpproof.claim_file import claim_from
from dpproof.report.html import render

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "build" / "npm" / "axe-core" / "axe.min.js"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(
    BROWSER is None or not AXE.is_file(), reason="Chromium or axe-core is not here: see tools/setup.sh"
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
WIDE, PHONE = "1280,1600", "390,844"
ENTRIES = (
    {
        "name": "ward <policy>",
        "mechanism": "rlsvi",
        "parameters": {"states": 2, "actions": 2, "horizon": 2, "episodes": 4},
        "adjacency": "rewards-only",
        "epsilon": 2.0,
        "delta": 1e-5,
        "audit": {"budget": 50},
    },
    {
        "name": "noise",
        "mechanism": "gaussian",
        "parameters": {"sigma": 1.0},
        "adjacency": "by-sensitivity",
        "mu": 1.0,
        "audit": {"budget": 2000},
    },
)


@pytest.fixture(scope="module")
def page():
    """A report on two claims, one of them broken."""
    return render(claims=[check_claim(claim_from(entry), seed=0) for entry in ENTRIES])


@pytest.fixture
def browse(tmp_path):
    """Open a page, let its scripts run, and return what the document has become."""

    def _browse(text, *arguments, size=WIDE):
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        command = [
            BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={size}", "--virtual-time-budget=20000",
            *arguments, "--dump-dom", path.as_uri(),
        ]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        return ran.stdout

    return _browse


def with_script(page, script):
    """The page with a script at its end, which its own policy would forbid."""
    return POLICY.sub("", page).replace("</body>", f"<script>{script}</script></body>")


def said(document):
    """What a script left in the attribute ``data-said`` of the body."""
    found = re.search(r'data-said="([^"]*)"', document)
    assert found is not None, "the script has not run"
    return json.loads(html_module.unescape(found.group(1)))


RUN_AXE = """
axe.run(document, {resultTypes: ["violations"]}).then(found => {
  const rows = found.violations.map(one => [one.id, one.nodes.slice(0, 5).map(node => node.target[0])]);
  document.body.setAttribute("data-said", JSON.stringify(rows));
});
"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_axe_finds_nothing(page, browse, scheme, size):
    dark = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    document = browse(with_script(page, AXE.read_text(encoding="utf-8") + RUN_AXE), *dark, size=size)
    assert said(document) == []


def test_axe_would_find_something(page, browse):
    broken = page.replace('<html lang="en">', "<html>").replace('role="img"', 'role="image of"')
    found = [rule for rule, _ in said(browse(with_script(broken, AXE.read_text(encoding="utf-8") + RUN_AXE)))]
    assert "html-has-lang" in found


def test_nothing_is_wider_than_a_phone(page, browse):
    script = (
        "document.body.setAttribute('data-said', JSON.stringify("
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]))"
    )
    needed, there = said(browse(with_script(page, script), size=PHONE))
    assert needed <= there


def test_no_network_is_asked(page, browse, tmp_path):
    log = tmp_path / "net.json"
    browse(page, f"--log-net-log={log}", "--host-resolver-rules=MAP * ~NOTFOUND")
    asked = set(re.findall(r'"url":"([a-z]+)://([^/"]*)', log.read_text(encoding="utf-8")))
    hosts = {host for scheme, host in asked if scheme in ("http", "https", "ws", "wss")}
    own = {host for host in hosts if host.endswith((".googleapis.com", ".google.com", ".gvt1.com"))}
    assert hosts - own == set()  # what is left out the browser asks for itself, whatever it shows


def test_a_script_in_the_page_does_not_run(page, browse):
    forbidden = page.replace(
        "</body>", "<script>document.body.setAttribute('data-said', '1')</script></body>"
    )
    assert "data-said=" not in browse(forbidden)
