"""Pages in a browser: nothing is loaded, nothing runs, and a person can read and reach it all."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page

from grader.kit import Kit
from grader.outputs.html import report_fragment, report_page
from grader.records import Report
from grader.sandbox.process import Sandbox
from tests.support.reading import ParsedPage
from tests.support.samples import (
    every_verdict,
    graded,
    hostile_pages,
    long_words,
    made_report,
    progress_sample,
    real_mistake,
)

Open = Callable[..., Page]
CRASH = "def half(x):\n    return x @ x[:1, None]\n\ndef double(x):\n    return half(x)\n"


@pytest.fixture(scope="module")
def wrong_scale(sandbox: Sandbox) -> tuple[Report, str]:
    return real_mistake(sandbox)


@pytest.fixture(scope="module")
def pages(wrong_scale: tuple[Report, str]) -> dict[str, str]:
    return {
        "mistake": report_page([wrong_scale]),
        "verdicts": report_page([every_verdict()]),
        "several": report_page([every_verdict(), wrong_scale]),
        "problem": report_page([(made_report(problem="no\nand `why`", problem_line=1), "x =\n")]),
        "fragment": f"<!doctype html><body>{report_fragment(*wrong_scale)}</body>",
        "progress": progress_sample(),
        "long words": report_page([(long_words(), "x = '" + "y" * 3000 + "'\n")]),
    }


NAMES = ["mistake", "verdicts", "several", "problem", "fragment", "progress", "long words"]


@pytest.mark.parametrize("name", NAMES)
def test_page_fits_a_phone(name: str, pages: dict[str, str], open_page: Open) -> None:
    page = open_page(pages[name], width=360)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


CONTRASTS = """() => {
  const rgba = text => [...text.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
  const over = (top, below) =>
    [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = colour => colour.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = element => element === null ? [255, 255, 255, 1]
    : over(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement));
  document.querySelectorAll('details').forEach(one => one.open = true);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ['STYLE', 'title'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const drawn = element.ownerSVGElement ? style.fill : style.color;
    const pair = [light(rgba(drawn)), light(ground(element))].sort((a, b) => b - a);
    found.push([(pair[0] + 0.05) / (pair[1] + 0.05), walker.currentNode.data.trim()]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES[:-1])
def test_every_text_stands_out(
    name: str, scheme: str, pages: dict[str, str], open_page: Open
) -> None:
    found = open_page(pages[name], color_scheme=scheme).evaluate(CONTRASTS)
    assert len(found) > 10
    assert [(ratio, text) for ratio, text in found if ratio < 4.5] == []


def background(page: Page) -> str:
    script = "getComputedStyle(document.querySelector('.drills')).backgroundColor"
    return str(page.evaluate(script))


@pytest.mark.parametrize("name", ["mistake", "fragment", "progress"])
def test_light_and_dark_have_their_own_background(
    name: str, pages: dict[str, str], open_page: Open
) -> None:
    dark = open_page(pages[name], color_scheme="dark")
    assert background(open_page(pages[name])) != background(dark)


@pytest.mark.slow("a notebook in a browser")
def test_fragment_follows_the_theme_of_the_notebook(pages: dict[str, str], open_page: Open) -> None:
    dark, light = (
        background(open_page(pages["fragment"], color_scheme=scheme))
        for scheme in ("dark", "light")
    )
    for body, scheme, wanted in (
        ('<body data-jp-theme-light="false">', "light", dark),
        ('<body data-jp-theme-light="true">', "dark", light),
        ('<body class="vscode-dark">', "light", dark),
        ('<body class="vscode-light">', "dark", light),
        ('<body class="vscode-high-contrast">', "light", dark),
        ('<body class="vscode-high-contrast vscode-high-contrast-light">', "dark", light),
        ('<html theme="dark"><body>', "light", dark),  # Colab
    ):
        said = pages["fragment"].replace("<body>", body)
        assert background(open_page(said, color_scheme=scheme)) == wanted, body


@pytest.mark.parametrize("width", [700, 900, 1000])
def test_no_map_is_cut_off_where_there_is_room(
    width: int, pages: dict[str, str], open_page: Open
) -> None:
    """At 900 two stood side by side, each without its last key."""
    script = """() => [...document.querySelectorAll('.map > .scroll')]
      .map(one => one.scrollWidth - one.clientWidth)"""
    cut = open_page(pages["fragment"], width=width).evaluate(script)
    assert cut
    assert set(cut) == {0}


# What JupyterLab, nbconvert's classic page and others say of what they show, in their own words.
NOTEBOOK = """
html { font-size: 10px } body { font: 13px/1.42 serif; color: #777; text-align: center }
.jp-OutputArea-output dl, .jp-OutputArea-output dt, .jp-OutputArea-output dd { display: block }
.jp-OutputArea-output dt { font-weight: bold; float: left; width: 20%; padding: 0; margin: 0 }
.jp-OutputArea-output dd { float: left; width: 80%; padding: 0; margin: 0 }
.jp-RenderedHTMLCommon h4, .jp-RenderedHTMLCommon h5 { margin: 2em 0; line-height: 3 }
.jp-RenderedHTMLCommon p { text-align: right; margin-bottom: 1em }
.jp-RenderedHTMLCommon :not(pre) > code { background: red; padding: 1px 5px }
.jp-RenderedHTMLCommon pre, .jp-RenderedHTMLCommon code { font-size: 9px; border: 3px solid }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { padding: 2em; white-space: normal }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #f5f5f5 }
.jp-RenderedHTMLCommon ul:not(.list-inline), .jp-RenderedHTMLCommon ol { padding-left: 4em }
.jp-RenderedHTMLCommon a:link { color: red; text-decoration: none }
.jp-RenderedHTMLCommon svg { max-width: 100%; height: auto }
article, aside, details, header, section, summary { display: block; letter-spacing: 2px }
small, h5 small { font-size: 75%; line-height: 1; color: #777 } figure { margin: 1em 40px }
.rendered_html h5 { font-style: italic; font-size: 100% } .rendered_html * + p { margin-top: 1em }
div.error > p { font-size: 200% } .row { margin: -15px } .label { float: left; width: 1em }
"""
DRAWN = """() => {
  document.querySelectorAll('details').forEach(one => one.open = true);
  const names = `display float width height color background-color font-family font-size font-style
    font-weight line-height letter-spacing text-align text-decoration-line white-space margin-top
    margin-bottom margin-left padding-top padding-left border-top-width list-style-type max-width
    position`.split(/\\s+/);
  return [...document.querySelectorAll('.drills, .drills :not(.line *)')].map(one => {
    const style = getComputedStyle(one);
    return [one.outerHTML.slice(0, 60), ...names.map(name => `${name}: ${style[name]}`)];
  });
}"""


@pytest.mark.parametrize("crashes", [False, True])
def test_fragment_looks_the_same_in_any_notebook(
    crashes: bool, wrong_scale: tuple[Report, str], open_page: Open
) -> None:
    """Labels broke letter by letter in JupyterLab's exported pages."""
    fragment = report_fragment(*(every_verdict() if crashes else wrong_scale))
    box = '<div style="width: 800px; position: absolute; left: 0; top: 0">'
    alone = f"<!doctype html><body>{box}{fragment}</div></body>"
    classes = "jp-OutputArea-output jp-RenderedHTMLCommon rendered_html"
    inside = f"<style>{NOTEBOOK}</style><div class='{classes}'>{box}{fragment}</div></div>"
    wanted = open_page(alone).evaluate(DRAWN)
    found = open_page(f"<!doctype html><body>{inside}</body>").evaluate(DRAWN)
    assert len(wanted) > 100
    differ = {
        (one[0], *pair)
        for one, other in zip(wanted, found, strict=True)
        for pair in zip(one, other, strict=True)
        if pair[0] != pair[1]
    }
    assert differ == set()


def test_fragment_has_the_room_that_a_page_has(
    wrong_scale: tuple[Report, str], pages: dict[str, str], open_page: Open
) -> None:
    script = """() => [...document.querySelectorAll('.check > *, .title, .next, .claim')]
      .map(one => [getComputedStyle(one).marginTop, getComputedStyle(one).fontSize])"""
    wanted = open_page(pages["mistake"]).evaluate(script)
    assert ["9.6px", "16px"] in wanted
    assert open_page(pages["fragment"]).evaluate(script) == wanted


def test_score_and_its_state_end_at_one_edge(pages: dict[str, str], open_page: Open) -> None:
    script = """() => [...document.querySelectorAll('.top p')].map(one => {
      const text = document.createRange();
      text.selectNodeContents(one);
      return Math.round(text.getBoundingClientRect().right);
    })"""
    *_, score, state = open_page(pages["fragment"]).evaluate(script)
    assert score == state


def test_link_of_a_frame_leads_to_the_line_that_failed(
    kit: Kit, sandbox: Sandbox, open_page: Open
) -> None:
    page = open_page(report_page([graded(kit, sandbox, CRASH)]), width=360)
    assert page.locator(".line.marked .n").all_inner_texts() == ["2", "5"]
    page.locator(".frames a", has_text="double.py:2").click()
    target = page.locator(":target")
    assert "return x @ x[:1, None]" in target.inner_text()
    assert "marked" in str(target.get_attribute("class"))
    assert page.evaluate("document.activeElement.matches(':target')")
    box = target.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 700
    page.locator(".note a").first.click()
    assert page.locator(":target .claim").first.inner_text() == "three numbers"


def test_link_opens_a_source_that_is_folded(open_page: Open) -> None:
    page = open_page(report_page([every_verdict(), every_verdict()]))
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = false)")
    page.locator(".frames a").nth(1).click()
    assert page.locator(":target").is_visible()
    assert str(page.locator(":target").get_attribute("id")).startswith("g2-")


def test_maps_have_a_cell_for_each_weight(
    wrong_scale: tuple[Report, str], pages: dict[str, str], open_page: Open
) -> None:
    report, _ = wrong_scale
    page = open_page(pages["mistake"])
    assert page.locator(".map").count() == len(report.maps)
    assert page.locator(".map svg").count() == 2 * len(report.maps)
    sizes = [len(row) for one in report.maps for side in (one.yours, one.right) for row in side]
    assert page.locator(".map .cell").count() == sum(sizes)
    first = page.locator(".map .cell title").nth(1).text_content()
    assert first == f"query 0, key 1: {report.maps[0].yours[0][1]:.4g}"
    for word in ("queries", "keys", "yours", "right"):
        assert word in page.locator(".pair").first.text_content()
    assert "weights of 6 queries over 6 keys" in str(
        page.get_by_role("img", name="yours, head 1").get_attribute("aria-label")
    )
    assert page.locator(".map table").count() == 2 * len(report.maps)


def test_weights_that_cannot_be_are_marked(open_page: Open) -> None:
    page = open_page(report_page([every_verdict()]))
    assert page.locator(".cell .mark").all_text_contents() == ["?", "!"]
    assert "not a number" in page.locator(".key").inner_text()
    assert page.locator(".cell .worst").count() == 2
    assert "at query 1, key 0: yours nan, right 0.2" in page.locator(".map").inner_text()
    darkness = page.locator(".cell .heat").evaluate_all(
        "all => all.map(e => +e.getAttribute('fill-opacity'))"
    )
    assert darkness == [0.1, 0.9, 0.5, 0.5, 0.2, 0.8]


@pytest.mark.parametrize("name", ["problem", "checks", "fragment", "progress"])
def test_hostile_text_is_inert(name: str, open_page: Open) -> None:
    page = open_page(hostile_pages()[name])
    assert page.evaluate("window.pwned") is None
    assert page.locator("script, img, [onload], [onerror], a:not([href^='#'])").count() == 0
    assert "<script>window.pwned = 1</script>" in page.locator("body").inner_text()
    assert "{{ 7 * 7 }}" in page.locator("body").inner_text()


def test_policy_stops_what_would_slip_through(browser: Browser, pages: dict[str, str]) -> None:
    planted = pages["verdicts"].replace(
        "<main>",
        "<main><script>window.pwned = 1</script><svg onload='window.pwned = 2'></svg>"
        "<img src='http://127.0.0.1:9/x'>",
    )
    page = browser.new_page()
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.set_content(planted)
    assert page.evaluate("window.pwned") is None
    assert asked == []
    page.close()


def test_keyboard_opens_what_passed(pages: dict[str, str], open_page: Open) -> None:
    page = open_page(pages["verdicts"])
    why = page.get_by_text("Why it matters.")
    assert not why.is_visible()
    page.locator("summary", has_text="Passed").focus()
    page.keyboard.press("Enter")
    assert why.is_visible()
    boxes = page.locator(".scroll").evaluate_all("all => all.map(one => one.tabIndex)")
    assert boxes
    assert set(boxes) == {0}


def test_headings_follow_each_other(pages: dict[str, str]) -> None:
    for name, text in pages.items():
        levels = [int(tag[1]) for tag, _ in ParsedPage(text).tags if re.fullmatch(r"h[1-6]", tag)]
        assert levels[0] == (3 if name == "fragment" else 1), name
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels)), (name, levels)


def test_print_shows_what_is_folded(pages: dict[str, str], open_page: Open) -> None:
    page = open_page(pages["verdicts"], color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.get_by_text("Why it matters.").is_visible()
    assert background(page) == "rgb(255, 255, 255)"


def test_progress_tells_tries_scores_and_mistakes(open_page: Open) -> None:
    page = open_page(progress_sample())
    assert page.locator("h1").inner_text() == "A kit"
    assert "1 of 3 exercises solved" in page.locator("header").inner_text()
    assert "5 gradings" in page.locator("header").inner_text()
    one, two, gone = page.locator(".cards article").all()
    assert one.locator("circle").count() == 3
    assert one.locator("circle title").last.text_content() == "2026-01-02 01:00: 3 / 4"
    assert one.locator(".day").count() == 1
    heights = one.locator("circle").evaluate_all("all => all.map(e => e.cy.baseVal.value)")
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 3
    words = " ".join(one.inner_text().split())
    assert "tries 3 best 3 / 4 last 3 / 4 · 2026-01-02 hints 4 due 2999-01-01" in words
    assert "due again" in two.inner_text()
    assert two.locator("circle.whole").count() == 1
    assert "no longer in this kit" in gone.inner_text()
    met = [" ".join(text.split()) for text in page.locator(".met").all_inner_texts()]
    assert [text.split(" in ")[0] for text in met] == [
        "2 × mask-inverted",
        "1 × never-scaled",
        "1 × unheard-of",
    ]
    assert "what may be seen is hidden" in met[0]
    assert "three" in page.locator(".untried").inner_text()
    page.locator("header a").click()
    assert page.locator(":target h3").inner_text() == "two"
