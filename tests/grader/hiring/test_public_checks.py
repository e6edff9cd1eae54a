"""The public checks: right answers pass, stubs do not, a fix-it file shows its complaint only."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.hiring.contents import bundle_files
from grader.kit import Exercise, load_kit
from grader.submission import read_submission
from tests.support.alone import run_alone
from tests.support.answers import right_answers
from tests.support.drawing import sampled
from tests.support.paths import ROOT

KIT = load_kit(ROOT)

each_exercise = pytest.mark.parametrize("exercise", KIT.exercises, ids=lambda e: e.name)
Outcomes = dict[tuple[str, str], bool]  # whether a check passed, by version and name


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """Every public check on every stub and solution, in one run of pytest."""
    versions = {e: {"stub": e.stub, "solution": e.solution} for e in KIT.exercises}
    sources = {
        exercise: {name: read_submission(path).source for name, path in files.items()}
        for exercise, files in versions.items()
    }
    return outcomes_of(sources, tmp_path_factory.mktemp("bundle"))


def outcomes_of(sources: Mapping[Exercise, Mapping[str, str]], folder: Path) -> Outcomes:
    """The public checks of exercises on versions of them, in one run of pytest."""
    (folder / "checks").mkdir()
    for exercise, versions in sources.items():
        files = bundle_files(KIT, [exercise], "A title", 60)
        (folder / "pytest.ini").write_bytes(files["pytest.ini"])
        checks = files[f"checks/test_{exercise.name}.py"].decode()
        for name, source in versions.items():
            version = f"{exercise.name}_{name}"
            (folder / f"{version}.py").write_text(source, encoding="utf-8")
            renamed = checks.replace(exercise.name, version)
            (folder / "checks" / f"test_{version}.py").write_text(renamed, encoding="utf-8")
    run_alone(folder, "-q", "--tb=no", "--junit-xml=found.xml")
    return {
        (case.attrib["classname"].rpartition("test_")[2], case.attrib["name"]): all(
            part.tag.startswith("system-") for part in case
        )
        for case in ET.parse(folder / "found.xml").iter("testcase")
    }


def of_version(outcomes: Outcomes, version: str) -> dict[str, bool]:
    found = {name: passed for (owner, name), passed in outcomes.items() if owner == version}
    assert found, f"no check ran on {version}"
    return found


@each_exercise
def test_solution_passes_all(exercise: Exercise, outcomes: Outcomes) -> None:
    found = of_version(outcomes, f"{exercise.name}_solution")
    assert all(found.values()), found
    assert 2 <= len({name.partition("[")[0] for name in found}) <= 5  # they are few


@sampled("public checks of right answers", 4)
@pytest.mark.slow("answers are imported by a pytest of their own")
@each_exercise
def test_right_answers_pass_all(exercise: Exercise, tmp_path: Path) -> None:
    plain = [one for one in right_answers(exercise) if "/" not in one.name]
    found = outcomes_of({exercise: {one.name: one.submission.source for one in plain}}, tmp_path)
    assert len({version for version, _ in found}) == len(plain)
    assert all(found.values()), found


@each_exercise
def test_stub_passes_none_and_a_file_to_repair_some(exercise: Exercise, outcomes: Outcomes) -> None:
    passed = set(of_version(outcomes, f"{exercise.name}_stub").values())
    if exercise.track != "bugs":
        assert passed == {False}
    elif exercise.name == "bug13":
        assert passed == {True}  # nothing crashes in it, and nobody complains of more
    else:
        assert passed == {True, False}


def test_checks_are_twins_of_the_suites() -> None:
    public = ROOT / "tests" / "public"
    found = {path.relative_to(public) for path in public.rglob("*.py")}
    assert found == {Path(e.track) / e.suite.name for e in KIT.exercises}
