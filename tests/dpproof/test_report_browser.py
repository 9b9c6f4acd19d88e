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

from dpproof.answers import papers
from dpproof.answers.claims import check_claim
from dpproof.claim_file import claim_from
from dpproof.proofs_check import registry
from dpproof.report.html import render
from tests.verified import share_certificates

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


FRAMED = """<body style="margin:0"><iframe style="border:0;width:WIDTHpx;height:900px"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const inside = frame.contentDocument, height = inside.documentElement.scrollHeight;
  inside.querySelectorAll("details").forEach(one => { one.open = true; });
  const scrolled = one => one.closest(".scroll") && !one.matches(".scroll");
  const beyond = [...inside.body.querySelectorAll("*")].filter(one => !scrolled(one) && !one.closest("figure svg")
    && !one.matches(".skip") && one.getBoundingClientRect().right > WIDTH + .5);
  const hides = one => getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1;
  const clipped = [...inside.body.querySelectorAll("*")].filter(one => !one.closest(".scroll, svg") && hides(one));
  const names = list => list.slice(0, 5).map(one => one.tagName + " " + one.className);
  const told = [names(beyond), names(clipped)];
  document.body.setAttribute("data-said", JSON.stringify([...told, height, inside.documentElement.scrollWidth]));
};
frame.srcdoc = PAGE;
</script></body>"""


def measured(browse, page, width):
    """What reaches beyond a window of this width or is clipped with all details open, and the height while folded."""
    text = json.dumps(page).replace("</", "<\\/").replace("<!--", "<\\!--")
    return said(browse(FRAMED.replace("WIDTH", str(width)).replace("PAGE", text)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_reaches_beyond_the_window(page, browse, width):
    beyond, clipped, _, needed = measured(browse, page, width)
    assert (beyond, clipped) == ([], [])
    assert needed <= width


@pytest.mark.slow
def test_a_table_that_is_too_wide_would_be_noticed(page, browse):
    broken = page.replace("</main>", '<p style="width:60rem">x</p></main>')
    beyond, _, _, needed = measured(browse, broken, 400)
    assert beyond == ["P "]
    assert needed > 400


@pytest.fixture(scope="module")
def paper_page():
    """A report on two papers without their audits, which take a minute."""
    share_certificates()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(papers, "corpus_cases", lambda _paper: ())
        return render(papers=[papers.check_paper(registry.papers()[name]) for name in ("rlsvi", "expert")])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 400])
def test_the_report_of_papers_is_short_and_fits(paper_page, browse, width):
    beyond, clipped, height, needed = measured(browse, paper_page, width)
    assert (beyond, clipped) == ([], [])
    assert needed <= width
    assert height < {1400: 2000, 400: 3500}[width]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_report_of_papers_unfolded(paper_page, browse, scheme):
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    unfold = "document.querySelectorAll('details').forEach(one => { one.open = true; });"
    document = browse(with_script(paper_page, unfold + AXE.read_text(encoding="utf-8") + RUN_AXE), *dark)
    assert said(document) == []


@pytest.mark.slow
def test_statements_are_found_by_words_verdict_severity_and_paper(paper_page, browse):
    script = """
    const bar = document.querySelector("[role=search]"), [words, ...choices] = bar.querySelectorAll("input, select");
    const entries = [...document.querySelectorAll("li[data-verdict]")];
    const shown = () => entries.filter(one => !one.hidden && one.closest(".fold").open);
    const ask = (field, value) => { field.value = value; field.dispatchEvent(new Event("input", {bubbles: true})); };
    const found = [];
    ask(words, "LEMMA 6 variance"); found.push(shown().map(one => one.id)); ask(words, "");
    ask(choices[0], "REFUTED"); ask(choices[2], "expert");
    found.push([...new Set(shown().map(one => one.dataset.verdict + one.dataset.paper))]);
    ask(choices[1], "substantive"); found.push([...new Set(shown().map(one => one.dataset.severity))]);
    ask(words, "no statement has these words");
    found.push(shown().length, bar.querySelector("[role=status]").textContent);
    ask(words, ""); choices.forEach(one => ask(one, "")); found.push(shown().length, bar.hidden);
    document.body.setAttribute("data-said", JSON.stringify(found));
    """
    by_words, by_verdict, by_severity, none, told, folded, hidden = said(
        browse(with_script(paper_page, script))
    )
    assert "rlsvi.lemma6" in by_words
    assert all(name.startswith("rlsvi") for name in by_words)
    assert by_verdict == ["REFUTEDexpert"]
    assert by_severity == ["substantive"]
    assert (none, folded, hidden) == (0, 0, False)
    assert told.startswith("0 of ")


@pytest.mark.slow
def test_a_link_under_a_filter_leads_to_its_statement_and_printing_changes_nothing(paper_page, browse):
    script = """
    const bar = document.querySelector("[role=search]"), words = bar.querySelector("input"), found = [];
    const ask = value => { words.value = value; words.dispatchEvent(new Event("input", {bubbles: true})); };
    const open = () => document.querySelectorAll("details[open]").length;
    const first = () => [...document.querySelectorAll("li[data-verdict]")].find(one => !one.hidden).id;
    ask("corollary 14"); found.push(first());
    ask("rlsvi.corollary1"); found.push(document.getElementById("rlsvi.corollary14").hidden); ask("");
    const before = open(), refuted = "section[aria-labelledby=wrong] details:not([open])";
    dispatchEvent(new Event("beforeprint")); found.push(document.querySelectorAll(refuted).length);
    dispatchEvent(new Event("afterprint")); found.push(open() - before);
    const target = document.getElementById("rlsvi.lemma6");
    location.hash = "#rlsvi.lemma6"; ask("no statement has these words");
    document.querySelector("section[aria-labelledby=front] a[href='#rlsvi.lemma6']").click();
    setTimeout(() => {
      found.push(target.hidden, target.querySelector("details").open, bar.querySelector("[role=status]").textContent);
      document.body.setAttribute("data-said", JSON.stringify(found));
    }, 200);
    """
    *others, status = said(browse(with_script(paper_page, script)))
    assert others[0].startswith("rlsvi.corollary14")
    assert others[1:] == [True, 0, 0, False, True]
    assert re.fullmatch(r"\d+ statements\.", status)


@pytest.mark.slow
def test_the_script_of_the_page_passes_its_own_policy(paper_page, browse):
    assert re.search(r'<div role="search" aria-label="statements">', browse(paper_page))


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
