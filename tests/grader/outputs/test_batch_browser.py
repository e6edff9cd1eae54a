"""The page of a batch in a browser: it sorts, filters, opens, hides names, runs nothing else."""

from __future__ import annotations

import csv
import itertools
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from grader.kit import Kit, installed_kit
from grader.outputs.batch_candidate import CandidateEntry
from grader.records import EarlierSubmission, LeftOut, SimilarGroup, Similarity, SimilarPair
from grader.sandbox.process import Sandbox
from tests.grader.outputs.test_html_browser import CONTRASTS
from tests.support.batch_samples import (
    HOSTILE_NAMES,
    Graded,
    crowd,
    entry,
    graded_doubles,
    graded_heads,
    head_of,
    hostile_entries,
    hostile_head,
    named,
    numbered,
    page_of,
    page_of_one,
)
from tests.support.paths import TINY_KIT

Open = Callable[..., Page]
EXERCISES = ("double", "exercise5")
# What each person hands in: of `double`, of `exercise5`.
PEOPLE = {
    "Ann": ("right", "right"),
    "Ben": ("wrong", "wrong"),
    "Cleo": ("crash", "right"),
    "Dan": ("syntax", ""),
    "Eve": ("mostly", "wrong"),
    "Fay": ("stub", ""),
    "Gus": ("mostly", "right"),
}


@pytest.fixture(scope="module")
def doubles(kit: Kit, sandbox: Sandbox) -> dict[str, Graded]:
    return graded_doubles(kit, sandbox)


@pytest.fixture(scope="module")
def entries(doubles: dict[str, Graded], sandbox: Sandbox) -> dict[str, CandidateEntry]:
    heads = graded_heads(sandbox)
    made = (
        entry(
            name,
            EXERCISES,
            named(name, doubles[first]),
            *([named(name, heads[second])] if second else []),
        )
        for name, (first, second) in PEOPLE.items()
    )
    return {one.row.candidate: one for one in numbered(made)}


@pytest.fixture(scope="module")
def both(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kit that has the exercises of both."""
    home = tmp_path_factory.mktemp("kit") / "both"
    shutil.copytree(kit.home, home)
    ours = installed_kit()
    manifest = (ours.home / "exercises" / "kit.toml").read_text(encoding="utf-8")
    (own,) = (part for part in manifest.split("[[exercise]]") if 'name = "exercise5"' in part)
    with (home / "exercises" / "kit.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n[[exercise]]{own}")
    exercise = ours.find("exercise5")
    for path in (exercise.solution, exercise.mistakes):
        there = home / path.relative_to(ours.home)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, there)
    return home


@pytest.fixture(scope="module")
def alike() -> dict[str, Similarity]:
    pair = SimilarPair("Eve", "Ben", 6.2, ((2, 2),), ((1, 2),), ("same structure",))
    group = SimilarGroup(("Ann", "Eve", "Gus"), False)
    left = (LeftOut("Fay", "is the stub"), LeftOut("Dan", "is the stub"))
    found = Similarity((pair,), (group,), 5, left, False, "5 submissions compared.")
    short = Similarity((), (), 5, (), True, "5 submissions compared. Too short to tell: all.")
    return {"double": found, "exercise5": short}


@pytest.fixture(scope="module")
def text(entries: dict[str, CandidateEntry], alike: dict[str, Similarity]) -> str:
    return page_of(head_of(*EXERCISES, alike=alike), entries.values())


@pytest.fixture(scope="module")
def aliases(text: str) -> dict[str, str]:
    """The number that stands for each name."""
    pattern = r'scope="row"><a href="candidates/(\d+).html"><bdi class="real">(.*?) </bdi>'
    return {name: f"candidate {number}" for number, name in re.findall(pattern, text)}


# What is shown, also what a browser has not laid out yet: it counts as no inner text.
VISIBLE = """(root) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode())
    if (walker.currentNode.parentElement.checkVisibility()) found.push(walker.currentNode.data);
  return found.join(' ').replace(/\\s+/g, ' ').trim();
}"""


def shown(place: Locator) -> list[str]:
    return list(place.evaluate_all(f"all => all.map({VISIBLE})"))


def rows(page: Page) -> list[str]:
    """What the table shows of who is in it."""
    return shown(page.locator("#table tbody th"))


def wait_for_rows(page: Page, count: int) -> None:
    expect(page.locator("#table tbody tr")).to_have_count(count)


def link(page: Page, alias: str) -> Locator:
    return page.locator("#table").get_by_role("link", name=alias, exact=True)


# --- sorting and filtering


@pytest.mark.slow("thousands of rows in a browser")
def test_table_is_sorted_by_click_and_by_key(
    text: str, entries: dict[str, CandidateEntry], aliases: dict[str, str], open_page: Open
) -> None:
    page = open_page(text)
    numbers = [f"candidate {number}" for number in range(1, 8)]
    assert rows(page) == numbers
    totals = {  # who is not graded comes below everybody
        aliases[name]: -1 if one.row.total is None else one.row.total
        for name, one in entries.items()
    }
    downward = sorted(numbers, key=lambda alias: -totals[alias])
    page.get_by_role("button", name="total").click()
    assert rows(page) == downward
    assert page.get_by_role("columnheader", name="total").get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert [totals[alias] for alias in rows(page)] == sorted(totals.values())
    headers = page.locator("th[aria-sort]").evaluate_all("all => all.map(th => th.ariaSort)")
    assert headers == ["none", "ascending", "none", "none"]
    page.get_by_role("button", name="double", exact=True).press("Space")
    shares = {aliases[n]: one.row.scores[0].earned for n, one in entries.items()}
    assert [shares[alias] for alias in rows(page)] == [4, 3, 3, 1, 0, 0, 0]
    page.get_by_role("button", name="candidate", exact=True).click()
    assert rows(page) == numbers
    page.get_by_role("button", name="candidate", exact=True).click()
    assert rows(page) == numbers[::-1]


def test_table_is_filtered(text: str, aliases: dict[str, str], open_page: Open) -> None:
    page = open_page(text)

    def left(names: str) -> None:
        expected = sorted(aliases[name] for name in names.split())
        wait_for_rows(page, len(expected))
        assert sorted(rows(page)) == expected
        count = f"{len(expected)} of 7" if len(expected) < 7 else "all 7"
        assert page.get_by_role("status").first.inner_text() == count

    left("Ann Ben Cleo Dan Eve Fay Gus")
    page.get_by_label("status").select_option("0:solved")
    left("Ann")
    page.get_by_label("status").select_option("1:not graded")
    left("Dan Fay")
    page.get_by_role("button", name="clear").first.click()
    left("Ann Ben Cleo Dan Eve Fay Gus")
    page.get_by_label("mistake").select_option(index=1)
    left("Ben Eve")
    page.get_by_label("find").fill(aliases["Eve"].upper())
    left("Eve")
    page.get_by_label("mistake").select_option("")
    page.get_by_label("find").fill("")
    page.get_by_label("total from").fill("87.4")
    left("Ann Gus")
    page.get_by_label("to", exact=True).fill("99")
    left("Gus")
    page.get_by_label("find").fill("nobody at all")
    left("")
    assert page.get_by_text("nobody fits").is_visible()
    page.locator("#nobody button").click()
    left("Ann Ben Cleo Dan Eve Fay Gus")
    assert page.get_by_label("find").evaluate("e => e === document.activeElement")


def test_mistake_that_is_clicked_filters_the_table(
    text: str, aliases: dict[str, str], open_page: Open
) -> None:
    page = open_page(text)
    page.get_by_role("button", name="show the candidates with scaled-by-the-model-width").click()
    assert sorted(rows(page)) == sorted([aliases["Ben"], aliases["Eve"]])
    assert page.get_by_label("mistake").evaluate("e => e === document.activeElement")
    assert "2 ×" in page.locator("#mistakes li").first.inner_text()


def test_what_is_shown_is_saved(entries: dict[str, CandidateEntry], open_page: Open) -> None:
    decided = (replace(e, row=replace(e.row, decision="yes")) for e in entries.values())
    page = open_page(page_of(head_of(*EXERCISES), decided))
    page.get_by_label("status").select_option("0:solved")
    wait_for_rows(page, 1)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="save what is shown").click()
    with Path(waiting.value.path()).open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["candidate", "total %", "double", "exercise5", "why", "decision"]
    assert lines == [["candidate 1", "100.00", "4 / 4 solved", "31 / 31 solved", "", "yes"]]


def test_no_cell_that_is_saved_is_a_formula(text: str, open_page: Open) -> None:
    page = open_page(text)
    told = {
        "=1+1": "'=1+1",
        "\t＝1": "'＝1",
        "a;=1; +2\n;\t-3": "a;'=1; '+2 ; '-3",
        'b;c=1;"=2': "b;c=1;\"'=2",
    }
    row = page.locator("#table tbody tr").first
    row.evaluate("(e, told) => told.forEach((t, i) => (e.cells[i + 1].textContent = t))", [*told])
    with page.expect_download() as waiting:
        page.get_by_role("button", name="save what is shown").click()
    with Path(waiting.value.path()).open(encoding="utf-8", newline="") as file:
        assert [*told.values()] in [line[1:-1] for line in csv.reader(file)]


# --- one candidate


def test_what_was_built_stands_in_the_order_in_which_it_was_sent(
    entries: dict[str, CandidateEntry], both: Path
) -> None:
    for sent in (EXERCISES, EXERCISES[::-1]):
        page = page_of_one(head_of(*sent), entries["Ben"], both)
        built = page.partition("What was built")[2].partition("</ul>")[0]
        assert re.findall(r"<li><bdi>(\w+)</bdi>", built) == [*sent]


def test_candidates_page_has_everything(
    entries: dict[str, CandidateEntry], both: Path, open_page: Open
) -> None:
    page = open_page(page_of_one(head_of(*EXERCISES), entries["Ben"], both))
    assert page.title() == "candidate 2 · A take-home & more"
    assert page.get_by_role("heading", level=1).inner_text() == "candidate 2"
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    shown = page.locator("main").inner_text()
    for report, source in entries["Ben"].graded:
        for check in report.checks:
            assert check.claim in shown
            assert check.message.replace("`", "") in shown
            if check.explanation:
                assert check.explanation.replace("`", "") in shown
        assert source.splitlines()[-1].strip() in shown
        assert f"seed{report.seed}" in "".join(shown.split())
    maps = entries["Ben"].graded[1][0].maps
    assert page.locator(".map svg").count() == 2 * len(maps) > 0


def test_sheet_says_what_to_talk_about(
    entries: dict[str, CandidateEntry], both: Path, open_page: Open
) -> None:
    page = open_page(page_of_one(head_of(*EXERCISES), entries["Ben"], both))
    sheet = page.locator("#sheet")
    sheet.evaluate("e => e.querySelectorAll('details').forEach(one => one.open = true)")
    said = sheet.inner_text()
    assert "defines MultiHeadSelfAttention, forward; calls Linear" in said
    assert "grade exercise5 FILE --seed 1 --case case.py" in said
    assert "a mistake that loses points where this file does: " in said
    changed = sheet.locator("pre").first.inner_text().splitlines()
    assert {line[0] for line in changed} == {"-", "+"}
    planted = sheet.locator("pre").last.inner_text()
    assert all(line[1:].strip() in planted for line in changed if line[0] == "+")


def test_line_of_a_report_is_reached(
    entries: dict[str, CandidateEntry], both: Path, open_page: Open
) -> None:
    page = open_page(page_of_one(head_of(*EXERCISES), entries["Cleo"], both))
    page.locator(".frames a", has_text="double.py:2").first.click()
    assert "return x @ x[:1, None]" in page.locator(":target").inner_text()
    page.locator(".note a").first.click()
    assert page.locator(":target .claim").first.inner_text() == "three numbers"


def test_table_leads_to_a_candidate_and_back(
    text: str, entries: dict[str, CandidateEntry], both: Path, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text(text, encoding="utf-8")
    (tmp_path / "candidates").mkdir()
    for one in entries.values():
        neighbours = (one.number - 1, (one.number + 1) % (len(entries) + 1))
        own = page_of_one(head_of(*EXERCISES), replace(one, neighbours=neighbours), both)
        (tmp_path / "candidates" / f"{one.number}.html").write_text(own, encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    for _ in range(2):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/candidates/2.html")
    page.get_by_role("link", name="next").click()
    page.wait_for_url("**/candidates/3.html")
    page.get_by_role("link", name="all candidates").click()
    page.wait_for_url("**/report.html#candidates")
    assert len(rows(page)) == len(entries)
    page.close()


# --- names


def everything(page: Page) -> str:
    """All that a person can see or hear of a page."""
    heard = (
        "[...document.querySelectorAll('[aria-label], [title]')].map(e => e.ariaLabel + e.title)"
    )
    return f"{page.locator('body').inner_text()} {page.title()} {page.evaluate(heard)} {page.url}"


def test_names_are_hidden_until_they_are_revealed(
    text: str,
    aliases: dict[str, str],
    entries: dict[str, CandidateEntry],
    both: Path,
    open_page: Open,
) -> None:
    page = open_page(text)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    spoken = re.compile(r"\b(" + "|".join(PEOPLE) + r")\b")
    assert not spoken.search(everything(page))
    # What has no style yet is read out whether it is to be displayed or not.
    assert not spoken.search(str(page.locator("#table").text_content()))
    page.get_by_label("find").fill("ben")
    page.get_by_text("nobody fits").wait_for()
    page.get_by_label("find").fill("")
    own = open_page(page_of_one(head_of(*EXERCISES), entries["Ben"], both))
    own.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert not spoken.search(everything(own))
    own.get_by_label("reveal the name").check()
    assert own.get_by_role("heading", level=1).inner_text() == f"Ben {aliases['Ben']}"
    assert "handed in as in/Ben.py" in own.locator("main").inner_text()
    page.get_by_label("reveal names").check()
    assert sorted(rows(page)) == sorted(f"{name} {alias}" for name, alias in aliases.items())
    page.get_by_label("find").fill("bEn")
    wait_for_rows(page, 1)
    page.get_by_label("find").fill("")
    page.get_by_label("reveal names").uncheck()
    assert not spoken.search(everything(page))


def test_names_sort_only_while_they_are_shown(
    text: str, aliases: dict[str, str], open_page: Open
) -> None:
    page = open_page(text)
    numbers = [f"candidate {number}" for number in range(1, 8)]
    head = page.get_by_role("button", name="candidate", exact=True)
    page.get_by_label("reveal names").check()
    assert rows(page) == [f"{name} {aliases[name]}" for name in PEOPLE]
    head.click()
    assert rows(page) == [f"{name} {aliases[name]}" for name in reversed(PEOPLE)]
    page.get_by_label("reveal names").uncheck()
    assert rows(page) == numbers
    head.click()
    assert rows(page) == numbers[::-1]


# --- without a mouse, without the script


def focused(page: Page) -> str:
    script = "(e => (e.id || e.innerText || e.tagName).trim())(document.activeElement)"
    return str(page.evaluate(script))


def test_keyboard_alone_does_it_all(text: str, aliases: dict[str, str], open_page: Open) -> None:
    page = open_page(text)
    page.keyboard.press("/")
    assert focused(page) == "find"
    page.keyboard.type("candidate /j")
    assert page.get_by_label("find").input_value() == "candidate /j"
    page.get_by_label("find").fill("")
    wait_for_rows(page, 7)
    page.evaluate("document.activeElement.blur()")
    for key, expected in zip("jjjk", ("1", "2", "3", "2"), strict=True):
        page.keyboard.press(key)
        assert focused(page) == f"candidate {expected}"
    for key, expected in (("ArrowDown", "3"), ("End", "7"), ("ArrowDown", "7"), ("Home", "1")):
        page.keyboard.press(key)
        assert focused(page) == f"candidate {expected}"
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid"


def test_every_control_is_reached_by_tab_and_the_table_is_one_stop(
    text: str, open_page: Open
) -> None:
    page = open_page(text)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached.append(focused(page))
        style = "(s => s.outlineStyle !== 'none')(getComputedStyle(document.activeElement))"
        assert page.evaluate(style), reached[-1]
    assert reached[:7] == ["reveal", "find", "status", "mistake", "least", "most", "clear"]
    assert next(name for name in reached if name.startswith("candidate ")) == "candidate 1"
    after = reached[reached.index("candidate 1") + 1]
    assert after == "the numbers"
    assert "scaled-by-the-model-width" in reached


def test_table_is_one_to_those_who_hear_it(text: str, open_page: Open) -> None:
    page = open_page(text)
    table = page.get_by_role("table").first
    assert table.get_by_role("row").count() == 8
    assert table.get_by_role("columnheader").count() == 5
    assert table.get_by_role("rowheader").count() == 7
    assert table.get_by_role("cell").count() == 7 * 4
    tree = page.locator("#candidates").aria_snapshot()
    assert 'row "candidate 1 ' in tree
    levels = page.locator("h1, h2, h3, h4, h5").evaluate_all(
        "all => all.filter(e => e.checkVisibility()).map(e => +e.tagName[1])"
    )
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_without_the_script_the_table_is_read(
    text: str, aliases: dict[str, str], open_page: Open
) -> None:
    page = open_page(text, java_script_enabled=False)
    assert rows(page) == [f"candidate {number}" for number in range(1, 8)]
    assert page.get_by_text("need JavaScript").is_visible()
    assert link(page, "candidate 1").get_attribute("href") == "candidates/1.html"
    assert page.locator("#filter").is_hidden()
    assert page.locator("#scores svg").count() == 3
    page.get_by_label("reveal names").check()
    assert sorted(rows(page)) == sorted(f"{name} {alias}" for name, alias in aliases.items())


# --- looks


def test_pages_fit_a_phone(
    text: str, entries: dict[str, CandidateEntry], both: Path, open_page: Open
) -> None:
    own = page_of_one(head_of(*EXERCISES), entries["Ben"], both)
    for page in (text, own, page_of(hostile_head(), hostile_entries())):
        shown = open_page(page, width=360)
        shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(
    scheme: str, text: str, entries: dict[str, CandidateEntry], both: Path, open_page: Open
) -> None:
    contrasts = CONTRASTS.replace("'STYLE', ", "'STYLE', 'SCRIPT', 'NOSCRIPT', ")
    assert contrasts != CONTRASTS
    ground = {"light": "rgb(244, 243, 239)", "dark": "rgb(18, 20, 26)"}[scheme]
    for one in (text, page_of_one(head_of(*EXERCISES), entries["Ben"], both)):
        page = open_page(one, color_scheme=scheme)
        found = page.evaluate(contrasts)
        assert len(found) > 50
        assert [(ratio, words) for ratio, words in found if ratio < 4.5] == []
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground


def test_print_shows_table_and_counts_and_no_controls(text: str, open_page: Open) -> None:
    page = open_page(text, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("#filter").is_hidden()
    assert page.get_by_label("reveal names").is_hidden()
    assert page.locator("#table tbody tr").last.is_visible()
    assert page.locator("#scores svg").first.is_visible()
    assert page.locator(".listing").evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


# --- worth a look together


def test_pairs_are_shown_side_by_side_with_what_they_share(
    text: str, aliases: dict[str, str], open_page: Open
) -> None:
    page = open_page(text)
    part = page.locator("#alike")
    pair = part.locator(".pair-of")
    pair.locator("summary").click()
    numbers = sorted(int(aliases[name].split()[1]) for name in ("Eve", "Ben"))
    first, second = (f"candidate {number}" for number in numbers)
    assert pair.locator("summary").inner_text().startswith(f"{first} and {second}")
    assert "same structure · among strangers, about one pair in 106 is as close" in " ".join(
        pair.locator("summary").inner_text().split()
    ).replace("10 6", "106")
    boxes = [box for one in pair.locator("pre").all() if (box := one.bounding_box())]
    assert boxes[0]["y"] == boxes[1]["y"]
    marked = pair.locator("mark .n").all_inner_texts()
    assert marked == (["2", "1", "2"] if first == aliases["Eve"] else ["1", "2", "2"])
    pair.locator("h4 a", has_text="1–2").click()
    assert "def double(x):" in page.locator(":target").inner_text()
    said = part.inner_text()
    assert "2, is the stub" in said
    assert "too short to tell" in said
    assert "3 each close to another of them" in said
    assert not re.search("cheat|copied|plagiar|guilt|suspect", said, re.IGNORECASE)
    leads = part.get_by_role("link", name=aliases["Gus"]).get_attribute("href")
    assert leads == f"candidates/{aliases['Gus'].split()[1]}.html"


def test_earlier_submission_is_shown_without_a_number_and_named_once_names_are_revealed(
    entries: dict[str, CandidateEntry], open_page: Open
) -> None:
    pairs = (SimilarPair("Eve", "\0a", 6.2, ((2, 2),), ((1, 1),), ("same structure",)),)
    groups = (SimilarGroup(("Eve", "\0a", "\0b"), False),)
    earlier = {
        "\0a": EarlierSubmission("Zoe", "results-spring", "def zoe(x):\n    return x\n"),
        "\0b": EarlierSubmission("Yan", "results-spring", "y = 1\n"),
    }
    found = Similarity(pairs, groups, 5, (), False, "5 submissions compared.", earlier)
    page = open_page(page_of(head_of(*EXERCISES, alike={"double": found}), entries.values()))
    part = page.locator("#alike")
    part.locator(".pair-of summary").click()
    said = " ".join(part.inner_text().split())
    assert said.count("somebody of results-spring") == 4  # group, pair, and above the source
    assert "candidate 0" not in said
    assert "Zoe" not in said
    assert "def zoe(x):" in part.locator("mark").last.inner_text()
    assert part.get_by_role("link", name="somebody").count() == 0
    page.get_by_label("reveal names").check()
    assert "Zoe somebody of results-spring" in " ".join(part.inner_text().split())


# --- hostile


def test_hostile_text_is_inert(open_page: Open) -> None:
    page = open_page(page_of(hostile_head(), hostile_entries()))
    assert rows(page) == [f"candidate {n}" for n in range(1, len(HOSTILE_NAMES) + 1)]
    page.get_by_label("reveal names").check()
    names = shown(page.locator("#table .real"))
    for name in ("__proto__", "</script><script>window.pwned = 2", "=HYPERLINK(1)", "a?b", "&amp;"):
        assert name in names
    assert "gnp.exe" in names
    page.get_by_label("find").fill("__proto__")
    wait_for_rows(page, 1)
    for one in hostile_entries()[:3]:
        own = open_page(page_of_one(hostile_head(), one, TINY_KIT))
        own.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert "<script>window.pwned = 1</script>" in own.locator("main").inner_text()
        assert own.evaluate("window.pwned") is None
        assert own.locator("img, iframe, [onload], [onerror], [onclick]").count() == 0
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, [onload], [onerror], [onclick]").count() == 0
    assert page.locator("a:not([href^='#'], [href^='candidates/'])").count() == 0
    assert page.evaluate(
        "({}).polluted === undefined && Object.keys(Object.prototype).length === 0"
    )


def test_policy_stops_what_would_slip_through(text: str, browser: Browser, tmp_path: Path) -> None:
    planted = text.replace(
        '<main id="overview">',
        '<main id="overview"><script>window.pwned = 1</script><style>body { display: none }</style>'
        "<svg onload='window.pwned = 2'></svg><img src='http://127.0.0.1:9/x'>",
    )
    file = tmp_path / "planted.html"
    file.write_text(planted, encoding="utf-8")
    page = browser.new_page()
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert page.evaluate("window.pwned") is None
    assert page.locator("#table tbody tr").count() == 7
    assert page.locator("body").is_visible()
    assert asked == [file.as_uri()]
    page.close()


# --- many


@pytest.mark.slow("thousands of rows in a browser")
def test_five_thousand_candidates(doubles: dict[str, Graded], open_page: Open) -> None:
    page = open_page(page_of(head_of("double"), crowd(5000, doubles)))
    assert page.locator("#table tbody tr").count() == 5000
    page.get_by_role("button", name="total").click()
    totals = [float(total) for total in shown(page.locator("#table td.level"))]
    assert totals == sorted(totals, reverse=True)
    page.get_by_label("status").select_option("0:cannot be tried")
    page.get_by_label("find").fill("99")
    expect(page.locator("#shown")).to_have_text("9 of 5,000")
    fitting = rows(page)
    assert fitting
    assert all("99" in alias for alias in fitting)
    assert set(shown(page.locator("#table tbody .status"))) == {"cannot be tried"}
    assert page.locator("#shown").inner_text() == f"{len(fitting)} of 5,000"
