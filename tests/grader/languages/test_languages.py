"""The catalogues: nothing in them is missing, stale or unsound, and people read them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli import cli
from grader.hiring.process_pool import given_up
from grader.kit import load_kit
from grader.languages import CATALOGUES_FOLDER, ENGLISH, choose_language, known_languages, say
from grader.languages.stubs import translate_source
from grader.languages.templates import MAX_LOOKUPS, Template, Translations
from tests.support.languages import compiled, read_catalogue, texts
from tests.support.paths import ROOT

LANGUAGES = [one for one in known_languages() if one != ENGLISH]
WHOLE = ["zh"]
TEXTS = texts()
LATER = re.compile(r"decoder\d|bug\d")  # exercises after the first ten
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """As before, whatever a test has chosen."""
    yield
    choose_language(ENGLISH)


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogue_has_the_texts_of_today_and_is_compiled(language: str) -> None:
    catalogue = read_catalogue(language)
    ids = {message.id for message in catalogue if message.id}
    advice = "`python -m tests.support.languages` brings it up to date"
    assert sorted(ids ^ set(TEXTS), key=str) == [], advice
    made = (CATALOGUES_FOLDER / language / "LC_MESSAGES" / "grade.mo").read_bytes()
    assert made == compiled(catalogue), advice


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_that_should_be_said_is_missing(language: str) -> None:
    missing = [
        message.id
        for message in read_catalogue(language)
        if message.id and not message.string and _is_promised(language, str(message.id))
    ]
    assert not missing


def _is_promised(language: str, text: str) -> bool:
    """Whole, or the command and the first ten exercises."""
    return language in WHOLE or not all(LATER.search(where) for where in TEXTS[text])


@pytest.mark.parametrize("language", LANGUAGES)
def test_places_and_code_are_those_of_the_text(language: str) -> None:
    unsound = []
    for message in read_catalogue(language):
        text, said = str(message.id), str(message.string)
        if text and said:
            same = sorted(Template(text).names) == sorted(Template(said).names)
            code = sorted(set(CODE.findall(text))) == sorted(set(CODE.findall(said)))
            unsound += [] if same and code else [(text, said)]
    assert not unsound


@pytest.mark.parametrize("exercise", load_kit(ROOT).exercises, ids=lambda one: one.name)
def test_stub_is_the_same_code_in_another_language(exercise: object) -> None:
    choose_language("zh")
    source = exercise.stub.read_text(encoding="utf-8")  # type: ignore[attr-defined]
    said = translate_source(source)
    assert said != source
    assert _without_docstrings(said) == _without_docstrings(source)


def _without_docstrings(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


KNOWN = {
    "{what}: {wrong} of {all} values differ": "{what}：{all} 个值中有 {wrong} 个不同。",
    "gradient of {name}": "{name} 的梯度",
    "right in {right} of {all} situations": "{all} 种情形中有 {right} 种正确",
    "; wrong in every one with {says}": "；凡是 {says} 都不正确",
    "output in parts of {sizes}": "输出，分段为 {sizes}",
    "more of it: {more}": "详细说明：{more}",
    "one step": "一个步骤",
    "the step `{name}`": "步骤 `{name}`",
    "wrote {what}": "已写入{what}",
    "Use {{x}}.": "用 {{x}}。",
}
PHRASES = Translations(KNOWN)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one step", "一个步骤"),
        ("gradient of x: 3 of 4 values differ", "x 的梯度：4 个值中有 3 个不同。"),
        ("right in 3 of 4 situations; wrong in every one with T = 3",
         "4 种情形中有 3 种正确；凡是 T = 3 都不正确"),
        ("output in parts of 3, 4: 3 of 4 values differ",
         "输出，分段为 3, 4：4 个值中有 3 个不同。"),
        ("one step\n  gradient of x", "一个步骤\n  x 的梯度"),
        ("the step `one step`", "步骤 `one step`"),  # code is the same in every language
        ("Use {x}.", "用 {x}。"),
        ("wrote one step", "已写入一个步骤"),
        ("wrote to nobody", None),  # of one word, and the rest is not known
        ("nothing of this", None),
    ],
)  # fmt: skip
def test_templates_are_found_in_texts(text: str, said: str | None) -> None:
    assert PHRASES.say(text) == said


@pytest.mark.parametrize("piece", ["x of y values differ: ", "gradient of a; ", "more of it: b. "])
def test_text_of_a_submission_is_looked_at_a_bounded_number_of_times(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    match = Template.match
    monkeypatch.setattr(Template, "match", lambda *given: tried.append(1) or match(*given))
    PHRASES.say((piece * 1000)[:1000])
    PHRASES.say(piece * 10_000)
    PHRASES.say("? " * 499)  # was a fault of the grader
    assert 0 < len(tried) <= MAX_LOOKUPS * 2 * len(KNOWN)


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"GRADE_LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "de_AT.UTF-8", "LC_ALL": "es_ES"}, "es"),
        ({"LANG": "zh_CN.UTF-8", "GRADE_LANG": "en"}, "en"),
        ({"LANGUAGE": "xx:de"}, "de"),
        ({"LANG": "C.UTF-8"}, "en"),
    ],
)
def test_language_is_that_of_the_environment(
    environment: dict[str, str], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GRADE_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert choose_language() == found


def test_unknown_language_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADE_LANG", "tlh")
    with pytest.raises(Exception, match=r"no language `tlh` here; choose one of `en`, `de`"):
        choose_language()


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_is_said(language: str) -> None:
    english = CliRunner().invoke(cli, ["run", "--help"]).output
    said = CliRunner().invoke(cli, ["--lang", language, "run", "--help"]).output
    assert said != english
    for line in ("Usage:", "Grade one exercise", "Seed of every input", "Show this message"):
        assert line in english
        assert line not in said
    assert "--isolation [auto|full|landlock|process]" in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_why_nothing_was_graded_is_said_with_its_reason(language: str) -> None:
    choose_language(language)
    alone, told = given_up(0.0), given_up(0.0, "signal 9")
    assert "died" not in say(alone.fault)
    assert say(told.fault).startswith(say(alone.fault))


@pytest.mark.slow("a process that imports torch")
def test_report_is_said_and_what_is_kept_stays_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of checks and JSON are the same in every language."""
    monkeypatch.chdir(tmp_path)
    solution = (ROOT / "solutions/variants/exercise3.py").read_text(encoding="utf-8")
    wrong = tmp_path / "exercise3.py"
    wrong.write_text(solution.replace("/ sqrt(C)", "/ C"), encoding="utf-8")
    words = ["exercise3", str(wrong), "--seed", "1", "--json", "r.json", "--lang", "zh"]
    shown = CliRunner().invoke(cli, [*words, "--html", "r.html", "--kit", str(ROOT)]).output
    assert "得分除以了键的宽度，而不是它的平方根" in shown
    assert "pass     1/1  parameters are those of the contract" in shown
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert report["cause"]["says"].startswith("Your output is exactly what comes out when")
    page = Path("r.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in page
    assert say("What is wrong") in page
