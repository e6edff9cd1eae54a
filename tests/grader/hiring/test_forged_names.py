"""Names and words of strangers are lines of nobody else's, and cost nobody else a row."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from pathlib import Path

import pytest

from grader.errors import GradeError
from grader.hiring.candidates import ListedPerson, find_candidates, read_names
from grader.hiring.handed import as_submission
from grader.hiring.roster import read_roster
from grader.kit import installed_kit
from grader.outputs.gradebook import render_gradebook
from grader.outputs.sanitise import composed
from grader.outputs.source_listing import list_source
from grader.records import GradebookRow
from grader.sandbox.errors import read_fault
from grader.submission import SourceProblem, parse, submission_of
from grader.wire.plain import one_line
from grader.wire.responses import FaultFrame, RaisedFault

FORGED = "exercise1\nscore 28 / 28  seed 1\n.py"


def write(path: Path, text: str = "x = 1") -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_names_that_differ_in_bytes_that_are_no_text_stay_apart(tmp_path: Path) -> None:
    names = (b"Jos\xe8.py", b"Jos\xe9.py")
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    people = find_candidates(tmp_path, ["exercise1"])
    handed = {one.handed["exercise1"].read() for one in people}
    assert handed == set(names)
    assert [one.name for one in people] == [r"Jos\xe8", r"Jos\xe9"]
    (tmp_path / r"Jos\xe9.py").write_text("x = 1")
    with pytest.raises(GradeError, match="two candidates"):
        find_candidates(tmp_path, ["exercise1"])


def test_name_is_one_however_its_accents_are_written(tmp_path: Path) -> None:
    one_letter, two_letters = "Jos\xe9", "Jose\u0301"
    handed, names = tmp_path / "handed", tmp_path / "names.csv"
    for name in (f"{two_letters}.py", f"{two_letters} Doe_55_assignsubmission_file_a.py"):
        write(handed / name)
    write(handed / f"{one_letter} Doe_55_assignsubmission_file_b.py")
    names.write_text(f"file,name\n{one_letter}.py,{two_letters} Li\n", encoding="utf-8")
    roster = read_roster(handed, names, ["warmup1"], installed_kit(), only=[f"{two_letters} Li"])
    found = {one.key: (one.name, len(one.files)) for one in roster.everyone}
    assert found == {
        f"Moodle/{one_letter} Doe_55": (f"{one_letter} Doe", 2),
        f"{two_letters}.py": (f"{one_letter} Li", 1),
    }
    assert [one.key for one in roster.chosen] == list(roster.listed) == [f"{two_letters}.py"]


LOOK_ALIKE = {
    "accents": ("Jos\xe9.py", "Jose\u0301.py", "Jose<U+0301>"),
    "two kinds of blank": ("Ann Lee.py", "Ann\xa0Lee.py", "Ann<U+00A0>Lee"),
    "a blank at the end": ("ann.py", "ann .py", "ann<U+0020>"),
    "two kinds of file": ("Jos\xe9.py", "Jose\u0301.ipynb", "Jose<U+0301>"),
}


@pytest.mark.parametrize("how", LOOK_ALIKE)
def test_names_that_look_alike_stay_apart(tmp_path: Path, how: str) -> None:
    plain, other, shown = LOOK_ALIKE[how]
    for name in (plain, other):
        write(tmp_path / name, name)
    people = find_candidates(tmp_path, ["exercise1"])
    found = {one.name: one.handed["exercise1"].name for one in people}
    assert found == {Path(plain).stem: plain, shown: other}
    assert {one.key: one.files for one in people} == {
        plain: (plain,),
        other: (shown + Path(other).suffix,),
    }
    listed = {plain: ListedPerson("Ann"), composed(other): ListedPerson("Ben")}
    if composed(other) == plain:
        with pytest.raises(GradeError, match=r"the list of names has .*, and 2 files are called"):
            find_candidates(tmp_path, ["exercise1"], listed)
    else:
        people = find_candidates(tmp_path, ["exercise1"], listed)
        assert {one.name: one.key for one in people} == {"Ann": plain, "Ben": other}


def test_name_of_blanks_is_seen(tmp_path: Path) -> None:
    write(tmp_path / "  .py")
    assert [one.name for one in find_candidates(tmp_path, ["exercise1"])] == ["<U+0020><U+0020>"]


def test_list_that_gives_a_file_to_two_people_is_refused(tmp_path: Path) -> None:
    names = tmp_path / "names.csv"
    names.write_text("file,name\nJos\xe9.py,Ann\nJose\u0301.py,Ben\n", encoding="utf-8")
    with pytest.raises(GradeError, match=r"gives `Jos.\.py` to `Ann` and to `Ben`; keep one"):
        read_names(names)
    names.write_text("file,name\na.py,Ann\na.py,Ann\n", encoding="utf-8")
    assert read_names(names) == {"a.py": ListedPerson("Ann")}


def test_folder_named_as_a_course_system_numbers_people_is_not_theirs(tmp_path: Path) -> None:
    (tmp_path / "doejane_1001_20034_exercise1.py").write_text("x = 1")
    (tmp_path / "doejane_1001").mkdir()  # comes first, and holds a better name
    (tmp_path / "doejane_1001" / "exercise1.py").write_text("x = 2")
    people = find_candidates(tmp_path, ["exercise1"])
    found = {one.key: one.handed["exercise1"].read() for one in people}
    assert found.pop("Canvas/doejane_1001") == b"x = 1"
    assert [*found.values()] == [b"x = 2"]


LATER = {
    "the key of Canvas's": ("ada_1", "ada_1_100_exercise1.py"),
    "the key of Moodle's": ("Ada Li_1", "Ada Li_1_assignsubmission_file_exercise1.py"),
    "accents": ("Zoe\u0308.py", "Zo\xeb.py"),
    "one more blank": ("Ann Lee.py", "Ann  Lee.py"),
}


@pytest.mark.parametrize("how", LATER)
def test_who_comes_later_takes_nobodys_key(tmp_path: Path, how: str) -> None:
    """What is kept of a candidate, points set by hand too, went to the one who came later."""
    first, later = LATER[how]
    write(tmp_path / first / "exercise1.py" if "." not in first else tmp_path / first, "first")
    names = {first: ListedPerson("Ada Lovelace", "7")}
    for listed in (None, names):
        (alone,) = find_candidates(tmp_path, ["exercise1"], listed)
        (tmp_path / later).write_text("later")
        if how != "accents" or not listed:  # else the list has one name for both, and is refused
            people = find_candidates(tmp_path, ["exercise1"], listed)
            read = {one.key: one.handed["exercise1"].read() for one in people}
            assert len(read) == 2
            assert read[alone.key] == b"first"
            assert [one.key for one in people if one.name == "Ada Lovelace"] == [
                one.key for one in people if listed and one.key == alone.key
            ]
        (tmp_path / later).unlink()


def test_name_that_a_person_chose_in_moodle_is_nobody_elses(tmp_path: Path) -> None:
    ann = "Ann Lee_55_assignsubmission_file_"
    write(tmp_path / f"{ann}exercise1.py", "ann")
    write(tmp_path / f"{ann} Eve_77_assignsubmission_file_exercise1 (9).py", "eve")
    people = find_candidates(tmp_path, ["exercise1"])
    assert {one.handed["exercise1"].read() for one in people} == {b"ann", b"eve"}
    assert {one.key: len(one.files) for one in people}["Moodle/Ann Lee_55"] == 1


def test_name_chosen_to_look_as_numbered_stops_nobody(tmp_path: Path) -> None:
    for who in ("Ann Lee_77", "Ann Lee_78", "Ann Lee (77)_99"):
        write(tmp_path / f"{who}_assignsubmission_file_exercise1.py")
    names = {one.name for one in find_candidates(tmp_path, ["exercise1"])}
    assert names == {"Ann Lee (77)", "Ann Lee (78)", "Ann Lee (77) (99)"}


def test_link_that_leads_nowhere_costs_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "ada.py").write_text("x = 1")
    (tmp_path / "bob").symlink_to("a" * 300)
    ada, bob = find_candidates(tmp_path, ["exercise1"])
    assert ada.handed["exercise1"].read() == b"x = 1"
    assert "`bob` is a link" in bob.handed["exercise1"].problem


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_what_a_zip_calls_its_files_is_on_one_line(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "eve.zip", "w", method) as packed:
        for _ in range(1 + (method == zipfile.ZIP_DEFLATED)):
            packed.writestr(FORGED, "x = 1")
    (eve,) = find_candidates(tmp_path, ["exercise1"])
    handed = eve.handed["exercise1"]
    problem = handed.read_or_explain()[1]
    assert "score 28 / 28" in problem
    assert "\n" not in problem + handed.note
    assert "\n" not in as_submission("exercise1", handed.name, b"", problem).problem


def test_what_people_are_called_is_on_one_line(tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text('file,name,id\na.py,"Bad\n3 graded; seed 1",7\n')
    assert read_names(file)["a.py"].name == "Bad<U+000A>3 graded; seed 1"


def test_decision_is_no_formula() -> None:
    table = render_gradebook([], [GradebookRow("ann", 1.0, [], decision="=cmd|calc")])
    assert ",'=cmd|calc," in table
    table = render_gradebook([], [GradebookRow("ann; =WEBSERVICE(A1)", 1.0, [])])
    assert not any(cell.startswith("=") for cell in re.split("[,; ]", table))


def test_names_in_a_fault_are_on_one_line() -> None:
    frame = FaultFrame("a\nb.py", 1, "f\nscore 25 / 25", "x\r= 1")
    raised = RaisedFault("E\u2028F", [], "said\ras\r\nit was", [frame], [], False)
    fault = read_fault(raised).fault
    (found,) = fault.frames
    shown = (fault.type, found.file, found.function, found.source)
    assert shown == ("E�F", "a�b.py", "f�score 25 / 25", "x�= 1")
    assert fault.message == "said\nas\nit was"
    assert one_line("ab\x1bcd", 4) == "ab�c"


def test_blank_lines_without_end_have_no_colours() -> None:
    lines = list_source("x = 1\n" + (" " * 19 + "\n") * 4900, {})
    assert len(lines) == 4901
    assert {kind for line in lines for kind, _ in line.pieces} == {""}
    assert (
        len({kind for line in list_source("x = 1\n\n\ny = 2", {}) for kind, _ in line.pieces}) > 1
    )


def test_a_row_of_zeros_after_a_percent_sign_has_no_colours() -> None:
    lines = list_source(f"x = '%{'0' * 40_000}'\ny = 2\n", {})
    assert {kind for line in lines for kind, _ in line.pieces} == {""}


def test_string_of_endless_fields_is_not_parsed() -> None:
    source = "a = 1\nx = f'" + "{a}" * 1500 + "' \\\n  f'" + "{a}" * 1500 + "'\n"
    many = "".join(f"x{n} = f'{{a}}'\n" for n in range(3000))
    assert len(parse(submission_of(Path("x.py"), many.encode())).body) == 3000
    whole = submission_of(Path("x.py"), source.encode())
    if sys.version_info >= (3, 12):  # which reads them in no time
        assert len(parse(whole).body) == 2
        return
    with pytest.raises(SourceProblem, match=r"a string holds more than 2000 `\{`"):
        parse(whole)
