"""What was handed in is found, and nothing in it leads outside or costs more than it may."""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Literal

import pytest

from grader.errors import GradeError
from grader.hiring import archives, files
from grader.hiring.batch import remaining_tasks, select_candidates
from grader.hiring.candidates import Candidate, ListedPerson, find_candidates, read_names
from grader.hiring.choosing import choose_files, is_chosen_by_name
from grader.hiring.handed import MAX_TEXT_CHARS
from tests.support.hostile import own_cost

BOTH = ("exercise3", "bug7")
V3 = "class SelfAttentionV3:\n    pass\n"
DEFINES = {
    "exercise3": ("SelfAttentionV3",),
    "exercise4": ("SelfAttentionV4",),
    "bug2": ("SelfAttentionV3",),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "handed"
    made.mkdir()
    return made


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives are read in this process, where things are other ones."""
    monkeypatch.setattr("grader.submission.bounded._is_bounded", True)


def write(path: Path, text: str = "x = 1\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def zipped(path: Path, **files: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_py", ".py"), text)


def one(folder: Path, exercises: tuple[str, ...] = ("exercise3",)) -> Candidate:
    (found,) = find_candidates(folder, exercises)
    return found


def status(folder: Path, exercises: tuple[str, ...] = ("exercise3",)) -> list[str]:
    """What is said of each candidate's first exercise: the problem, else the note."""
    found = find_candidates(folder, exercises, defines=DEFINES)
    handed = [candidate.handed[exercises[0]] for candidate in found]
    return [one.problem or one.note for one in handed]


def problem(folder: Path, exercises: tuple[str, ...] = ("exercise3",)) -> str:
    handed = one(folder, exercises).handed["exercise3"]
    if handed.problem:
        return handed.problem
    with pytest.raises(GradeError) as caught:
        handed.read()
    return str(caught.value)


def test_folders_zips_and_files_are_candidates(folder: Path) -> None:
    write(folder / "ada" / "exercise3.py", "ada")
    write(folder / "ada" / "bug7.py")
    zipped(folder / "bob.zip", work__exercise3_py="bob", work__bug7_py="")
    write(folder / "cleo.py", "cleo")
    write(folder / "dan.ipynb", "{}")
    write(folder / "notes.txt")
    write(folder / ".hidden.py")
    (folder / "__MACOSX").mkdir()
    found = find_candidates(folder, ("exercise3",))
    assert [candidate.name for candidate in found] == ["ada", "bob", "cleo", "dan", "notes"]
    read = [candidate.handed["exercise3"].read() for candidate in found[:4]]
    assert read == [b"ada", b"bob", b"cleo", b"{}"]
    assert found[1].handed["exercise3"].name == "work/exercise3.py"


def test_names_come_from_a_list(folder: Path, tmp_path: Path) -> None:
    write(folder / "x1.py")
    write(folder / "x2.py")
    names = tmp_path / "names.csv"
    names.write_text('\ufefffile,name\r\nx1.py,"Lovelace, Ada"\r\n', encoding="utf-8")
    found = find_candidates(folder, ("exercise3",), read_names(names))
    assert [one.name for one in found] == ["Lovelace, Ada", "x2"]
    assert [one.key for one in found] == ["x1.py", "x2.py"]
    names.write_text("file,name\nx1.py, \n")
    with pytest.raises(GradeError, match=r"gives `x1\.py` an empty name"):
        read_names(names)
    names.write_text("file,name,id\nx1.py,Ada,7\nx2.py,Ben,7\n")
    with pytest.raises(GradeError, match="gives the id `7` to `Ada` and to `Ben`; give each"):
        read_names(names)
    for bad in ("a,b\n1,2\n", "file,name\nx1.py\n", "\xff\xfe"):
        names.write_bytes(bad.encode("latin-1"))
        with pytest.raises(GradeError, match="not a CSV file with the columns `file` and `name`"):
            read_names(names)
    names.unlink()
    os.mkfifo(names)
    with pytest.raises(GradeError, match="is not a regular file; name a list of names"):
        read_names(names)


def test_two_of_one_name_are_refused(folder: Path) -> None:
    write(folder / "ada.py")
    write(folder / "ada" / "exercise3.py")
    with pytest.raises(GradeError, match=r"two candidates .* are called `ada`.*--names FILE"):
        find_candidates(folder, ("exercise3",))


CANVAS = [
    "doejane_1001_1998_exercise3.py",
    "doejane_LATE_1001_20051_exercise3-1.py",  # sent again
    "doejane_LATE_1001_20012_bug7.py",
    "doejane_1007_20013_bug7.py",  # another of the same name
    "LATE_anon_x1Yz_20020_exercise3.py",
    "anon_x2_text.html",
    "mac_namara12_1002_20099_bug7.ipynb",
]
MOODLE = [
    "Ann Lee_55_assignsubmission_file_/exercise3.py",
    "Ann Lee_55_assignsubmission_onlinetext_/onlinetext.html",
    "Bo_2 Li_56_assignsubmission_file_exercise3.py",
    "Bo_2 Li_56_assignsubmission_file_bug7.py",
    "Group A-Cy Ó_57_assignsubmission_file_mine.zip",
]


def test_downloads_of_course_systems_have_one_candidate_for_each_student(folder: Path) -> None:
    for name in (*CANVAS, *MOODLE):
        write(folder / name, name)
    zipped(folder / MOODLE[-1], exercise3_py="cy")
    write(folder / "ada_2_notes.py")  # by nobody's rule
    write(folder / "Hw_2024_101_ben.py")
    found = {one.key: one for one in find_candidates(folder, BOTH)}
    assert {key: (one.name, len(one.files)) for key, one in found.items()} == {
        "Canvas/doejane_1001": ("doejane (1001)", 3),
        "Canvas/doejane_1007": ("doejane (1007)", 1),
        "Canvas/anon_x1Yz": ("anon_x1Yz", 1),
        "Canvas/anon_x2": ("anon_x2", 1),
        "Canvas/mac_namara12_1002": ("mac_namara12", 1),
        "Moodle/Ann Lee_55": ("Ann Lee", 2),
        "Moodle/Bo_2 Li_56": ("Bo_2 Li", 2),
        "Moodle/Group A-Cy Ó_57": ("Group A-Cy Ó", 1),
        "ada_2_notes.py": ("ada_2_notes", 1),
        "Hw_2024_101_ben.py": ("Hw_2024_101_ben", 1),
    }
    read = {
        key: [one.handed[name].read_or_explain()[0] for name in BOTH] for key, one in found.items()
    }
    assert read["Canvas/doejane_1001"] == [CANVAS[1].encode(), CANVAS[2].encode()]
    assert (
        found["Canvas/doejane_1001"].handed["exercise3"].note.endswith(f"left aside: `{CANVAS[0]}`")
    )
    assert read["Canvas/anon_x1Yz"][0] == CANVAS[4].encode()
    assert read["Moodle/Ann Lee_55"][0] == MOODLE[0].encode()
    assert read["Moodle/Bo_2 Li_56"] == [MOODLE[2].encode(), MOODLE[3].encode()]
    assert read["Moodle/Group A-Cy Ó_57"][0] == b"cy"


def test_files_named_as_if_by_moodle_have_a_candidate_each(folder: Path) -> None:
    own = "a_assignsubmission_b"
    names = [f"Eve_13_assignsubmission_file_{own}{ending}" for ending in (".ipynb", ".py")]
    for name in names:
        write(folder / name)
    assert [one.name for one in find_candidates(folder, BOTH)] == names


def test_what_a_course_system_adds_to_a_name_is_not_told(folder: Path) -> None:
    for name in ("annlee_55_20001_exercise3.py", "Bo Li_56_assignsubmission_file_exercise3.py"):
        write(folder / name)
        assert not find_candidates(folder, BOTH)[-1].handed["exercise3"].note
    write(folder / "annlee_55_20002_exercise3_draft.py", "draft")  # as in a folder of her own
    write(folder / "annlee_LATE_55_20007_exercise3-1.py", "again")
    write(folder / "annlee_55_20003_exercise3-2.py", "in between")
    ann = next(one for one in find_candidates(folder, BOTH) if one.name == "annlee")
    assert ann.handed["exercise3"].read() == b"again"
    assert ann.handed["exercise3"].note.startswith("taken from `annlee_LATE_55_20007_exercise3-1")


def test_what_cannot_be_read_is_told_wherever_it_lies(folder: Path) -> None:
    """In a folder of Moodle's it was missing, elsewhere it could not be read."""
    for name, file in {"a": "mine.rar", "b": "mine.zip", "c": "exercise3.docx"}.items():
        write(folder / name / file, "no archive")
    write(folder / "c" / "bug7.py")
    write(folder / "d" / "bug7.py")
    found = find_candidates(folder, BOTH, defines=DEFINES)
    a, b, c, d = (candidate.handed["exercise3"] for candidate in found)
    assert [one.unread for one in (a, b, c, d)] == [True, True, True, False]
    assert a.problem == "no file that defines `SelfAttentionV3`; there were `mine.rar`"
    assert b.problem == (
        "no file that defines `SelfAttentionV3`; `mine.zip` is no zip that can be read: File is "
        "not a zip file"
    )
    assert c.name == "exercise3.docx"


def test_list_of_names_joins_and_parts(folder: Path, tmp_path: Path) -> None:
    for name in (*CANVAS[:3], "ada.py", "more/bug7.py"):
        write(folder / name, name)
    listed = {
        **dict.fromkeys(("ada.py", "more"), ListedPerson("Ada", "4711")),
        CANVAS[0]: ListedPerson("Jane", "1"),
    }
    ada, jane = sorted(find_candidates(folder, BOTH, listed), key=lambda one: one.name)
    assert (ada.name, ada.key, ada.files) == ("Ada", "ada.py", ("ada.py", "more"))
    assert ada.handed["bug7"].read() == b"more/bug7.py"
    assert (jane.name, jane.key, len(jane.files)) == ("Jane", "Canvas/doejane_1001", 3)
    listed |= {CANVAS[1]: ListedPerson("Joan", "2"), CANVAS[2]: ListedPerson("Joan", "2")}
    found = {one.name: one for one in find_candidates(folder, BOTH, listed)}
    assert found["Jane"].files == (CANVAS[0],)
    assert set(found["Joan"].files) == set(CANVAS[1:3])


def test_nearest_file_of_the_right_name_counts(folder: Path) -> None:
    write(folder / "ada" / "deep" / "er" / "exercise3.py", "old")
    write(folder / "ada" / "work" / "exercise3.py", "new")
    write(folder / "ada" / ".venv" / "exercise3.py", "no")
    write(folder / "ada" / "checks" / "test_exercise3.py", "no")
    assert one(folder).handed["exercise3"].read() == b"new"
    write(folder / "ada" / "other" / "exercise3.py")
    assert status(folder) == [
        "taken from `work/exercise3.py`; left aside: `other/exercise3.py`, `deep/er/exercise3.py`"
    ]


def test_missing_and_misnamed_files_are_told(folder: Path) -> None:
    write(folder / "ada" / "mine.py", "only one")
    assert one(folder).handed["exercise3"].read() == b"only one"
    assert problem(folder, BOTH).startswith("`exercise3.py` was not handed in; ")
    write(folder / "ada" / "other.py")
    assert problem(folder) == "`exercise3.py` was not handed in; there were `mine.py`, `other.py`"


def test_links_lead_nowhere(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("secret")
    write(folder / "ada" / "notes.py", "")
    (folder / "ada" / "exercise3.py").symlink_to(secret)
    (folder / "ada" / "loop").symlink_to(folder)
    assert problem(folder, BOTH).startswith("`exercise3.py` was not handed in; ")
    (folder / "bob.py").symlink_to(secret)
    handed = find_candidates(folder, ("exercise3",))[1].handed["exercise3"]
    assert "is a link" in handed.problem


def test_name_that_is_another_ones_file_is_no_choice(folder: Path) -> None:
    write(folder / "ada.py.py")
    write(folder / "ada.py")
    everyone = find_candidates(folder, BOTH)
    with pytest.raises(GradeError, match=r"another.s file; say `ada` or `ada\.py\.py`"):
        select_candidates(everyone, ["ada.py"])
    assert [one.name for one in select_candidates(everyone, ["ada.py.py"])] == ["ada.py"]


def test_name_of_any_length_is_shown_by_its_end(folder: Path) -> None:
    with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
        archive.writestr("\u200b" * 20_000 + " exercise3.ipynb", "{}")
        archive.writestr("a" * 60_000 + ".py", "")
        archive.writestr("1" * 5_000 + " exercise3.ipynb", "")
    handed = one(folder).handed["exercise3"]
    assert (handed.read(), handed.problem) == (b"{}", "")
    assert handed.name.endswith("<U+200B> exercise3.ipynb")
    assert len(handed.name) == len(handed.note) == MAX_TEXT_CHARS


def test_pipe_is_not_waited_for(folder: Path) -> None:
    (folder / "ada").mkdir()
    os.mkfifo(folder / "ada" / "exercise3.py")
    assert problem(folder) == "it is not a regular file"


def test_archive_leads_nowhere(folder: Path) -> None:
    with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
        for name in ("../exercise3.py", "/exercise3.py", "a\\..\\..\\exercise3.py"):
            archive.writestr(name, "outside")
        link = zipfile.ZipInfo("exercise3.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("/".join(["deep"] * 40) + "/exercise3.py", "deep")
        archive.writestr("notes.py", "")
    assert problem(folder, BOTH).startswith("`exercise3.py` was not handed in; ")
    assert [path.name for path in folder.iterdir()] == ["ada.zip"]


def test_name_of_a_file_is_told_on_one_line(folder: Path) -> None:
    """It could write lines of its own into what is told of a batch."""
    zipped(folder / "ada.zip", **{"x\nann solved\x1b[2J exercise3_py": "x = 1"})
    zipped(folder / "bob.zip", **{"y\nann solved": ""})
    assert status(folder) == [
        "found as `x<U+000A>ann solved<U+001B>[2J exercise3.py`",
        "no file that defines `SelfAttentionV3`; there were `y<U+000A>ann solved`",
    ]


def test_syntax_trees_of_many_files_are_kept_by_nobody(folder: Path) -> None:
    """Forty of a megabyte took twelve gigabytes of a batch's own process."""
    (folder / "ada").mkdir()
    for number in range(2):
        write(folder / "ada" / f"work{number}.py", "class Other:\n" + "    a\n" * 20_000)
    seconds, memory = own_cost(lambda: find_candidates(folder, BOTH, defines=DEFINES))
    assert memory < 20
    assert seconds < 1


@pytest.mark.parametrize(
    ("names", "by_name"),
    [
        (["exercise3.py", "bug7.py"], True),
        (["bug7.py"], True),
        (["ann_exercise3.py"], True),
        (["exercise3_1001_2_bug7.py", "bug7_1001_3_exercise3.py"], False),  # each in both
        (["exercise3.py", "notes.py"], False),
        (["exercise3.py", "deeper/exercise3.py"], False),
    ],
)
def test_no_file_of_many_is_parsed_in_the_trusted_process(names: list[str], by_name: bool) -> None:
    def parsed(size: int) -> bytes:
        raise AssertionError("a file was read")

    contents = files.Contents()
    for name in names:
        contents.add(PurePosixPath(name), parsed)
    assert is_chosen_by_name(contents, BOTH, DEFINES) == by_name
    with nullcontext() if by_name else pytest.raises(AssertionError):
        choose_files(contents, BOTH, DEFINES, {})


def test_bomb_is_read_no_further_than_a_file_may_be(folder: Path) -> None:
    with zipfile.ZipFile(folder / "ada.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("exercise3.py", b"#" * (300 << 20))
    assert "`exercise3.py` is larger than 128 KiB" in problem(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"PK\x03\x04 not really", "is no zip that can be read"), (b"", "is no zip that can be read")],
)
def test_damaged_archive_costs_its_candidate_alone(folder: Path, content: bytes, said: str) -> None:
    (folder / "ada.zip").write_bytes(content)
    write(folder / "bob.py", "bob")
    ada, bob = find_candidates(folder, ("exercise3",))
    assert said in ada.handed["exercise3"].problem
    assert bob.handed["exercise3"].read() == b"bob"


def test_damaged_member_is_told(folder: Path) -> None:
    zipped(folder / "ada.zip", exercise3_py="x = 1\n" * 1000)
    path = folder / "ada.zip"
    data = bytearray(path.read_bytes())
    data[45:60] = bytes(15)
    path.write_bytes(data)
    assert "cannot be taken out of its zip" in problem(folder)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_that_unpack_without_bound_are_refused(folder: Path, method: int) -> None:
    """A zip of a thousand bytes took gigabytes: these unpack a block as a whole."""
    with zipfile.ZipFile(folder / "ada.zip", "w", method) as archive:
        archive.writestr("exercise3.py", b"#" * (8 << 20))
    tracemalloc.start()
    try:
        assert "is compressed in an unusual way; use deflate" in problem(folder)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [0, 8, 12, 14, 93, 99])
def test_damaged_member_of_any_method_costs_its_candidate_alone(folder: Path, method: int) -> None:
    """A damaged LZMA member once ended the whole batch, by an exception that nobody expected."""
    zipped(folder / "ada.zip", exercise3_py="x = 1\n" * 1000)
    path = folder / "ada.zip"
    data = bytearray(path.read_bytes())
    data[45:60] = bytes(range(200, 215))
    for mark, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        data[data.index(mark) + place] = method
    path.write_bytes(data)
    write(folder / "bob.py", "bob")
    found = list(remaining_tasks(find_candidates(folder, ("exercise3",)), [1], ()))
    assert [(task.candidate, task.data) for task in found] == [("ada.zip", b""), ("bob.py", b"bob")]
    assert "`exercise3.py` " in found[0].problem


@pytest.mark.usefixtures("read_here")
@pytest.mark.parametrize("raised", [LZMAError("damaged"), RecursionError("deep")])
def test_whatever_a_parser_raises_costs_its_candidate_alone(
    folder: Path, raised: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise raised

    zipped(folder / "ada.zip", exercise3_py="x = 1\n")
    monkeypatch.setattr(zipfile.ZipFile, "open", broken)
    assert "cannot be taken out of its zip" in problem(folder)
    monkeypatch.setattr(zipfile, "ZipFile", broken)
    assert "is no zip that can be read" in problem(folder)


@pytest.mark.parametrize("zip64", [False, True])
def test_directory_of_a_million_files_is_not_read(
    folder: Path, zip64: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZipFile", None)  # it would make an object of each
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, *[0] * 8, 1, *[0] * 6) + b"a"
    size, count = len(entry) * 200_000, 200_000 if zip64 else 65_535
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 0 if zip64 else size, 0, 0)
    if zip64:
        more = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, 0)
        end = more + struct.pack("<4sLQL", b"PK\6\7", 0, size, 1) + end
    (folder / "ada.zip").write_bytes(entry * 200_000 + end)
    assert "holds more than 10000 files" in problem(folder)


@pytest.mark.usefixtures("read_here")
def test_archive_of_too_many_or_the_same_files_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (archives, files):
        monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    zipped(folder / "ada.zip", **{f"x{n}_py": "" for n in range(6)})
    assert "holds more than 5 files" in problem(folder)
    for number in range(6):
        write(folder / "bob" / f"x{number}.py")
    for number in range(18):  # each folder's files were listed before any were counted
        write(folder / "cyd" / f"many{number % 3}" / f"x{number}.py")
    _, bob, cyd = find_candidates(folder, ("exercise3",))
    assert "more than 5 files" in bob.handed["exercise3"].problem
    assert "more than 5 files" in cyd.handed["exercise3"].problem


@pytest.mark.filterwarnings("ignore:Duplicate name")  # that is the attack
def test_archive_with_a_name_twice_is_refused(folder: Path) -> None:
    with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
        archive.writestr("exercise3.py", "one")
        archive.writestr("exercise3.py", "another")
    assert "holds `exercise3.py` twice" in problem(folder)


def test_nothing_handed_in_is_one_clear_line(folder: Path) -> None:
    with pytest.raises(GradeError, match="holds nothing that a candidate handed in"):
        find_candidates(folder, ("exercise3",))
    with pytest.raises(GradeError, match="is not a folder; name the one"):
        find_candidates(folder / "nowhere", ("exercise3",))


def test_names_that_look_alike_are_told_apart(folder: Path) -> None:
    write(folder / "ann.py")
    write(folder / "ann\u200b.py")
    write(folder / "ann\u3164" / "exercise3.py")
    names = [one.name for one in find_candidates(folder, ("exercise3",))]
    assert sorted(names) == ["ann", "ann<U+200B>", "ann<U+3164>"]


def test_names_that_are_not_utf_8_are_shown_as_far_as_they_can_be(folder: Path) -> None:
    for name in (b"a\xff.py", b"b\xff/c\xff.py"):
        write(folder / os.fsdecode(name))
    first, second = find_candidates(folder, ("exercise3",))
    assert (first.name, first.handed["exercise3"].name) == ("a\\xff", "a\\xff.py")
    assert (second.name, second.handed["exercise3"].name) == ("b\\xff", "c\\xff.py")
    assert second.handed["exercise3"].read() == b"x = 1\n"


def test_folder_that_cannot_be_read_costs_its_candidate_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "ada" / "shut" / "exercise3.py")
    write(folder / "bob.py")
    listed = Path.iterdir

    def iterdir(path: Path) -> Iterator[Path]:
        if path.name == "shut":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    ada, bob = find_candidates(folder, ("exercise3",))
    assert "Permission denied" in ada.handed["exercise3"].problem
    assert not bob.handed["exercise3"].problem


def test_results_are_no_candidate(folder: Path) -> None:
    write(folder / "ada.py")
    write(folder / "results" / "junit" / "ada" / "exercise3.py")
    found = find_candidates(folder, ("exercise3",), others=[folder / ".." / "handed" / "results"])
    assert [candidate.name for candidate in found] == ["ada"]


# --- nobody vanishes


def tarred(path: Path, mode: Literal["w", "w:gz", "w:bz2", "w:xz"], **files: str) -> None:
    with tarfile.open(path, mode) as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("__", "/").replace("_py", ".py"))
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


def test_everything_in_the_folder_is_a_candidate(folder: Path, tmp_path: Path) -> None:
    for name in ("ada.rar", "bob.7z", "cleo.docx", "dan", "eve.txt"):
        write(folder / name)
    (folder / "fay").mkdir()
    names = folder / "names.csv"
    names.write_text("file,name\n")
    found = find_candidates(folder, ("exercise3",), others=[names])
    assert [one.name for one in found] == ["ada", "bob", "cleo", "dan", "eve", "fay"]
    handed = {one.name: one.handed["exercise3"] for one in found}
    assert handed["ada"].problem == "`ada.rar` is not a folder, zip, tar, .py or .ipynb"
    assert all(handed[name].unread for name in ("ada", "bob", "cleo", "dan", "eve"))
    assert handed["fay"].problem == "`exercise3.py` was not handed in; it is empty"
    assert not handed["fay"].unread


def test_what_cannot_be_read_takes_nobodys_name(folder: Path) -> None:
    write(folder / "ada.py")
    write(folder / "ada.pdf")
    found = find_candidates(folder, ("exercise3",))
    assert sorted(one.name for one in found) == ["ada", "ada.pdf"]


@pytest.mark.parametrize(
    ("ending", "mode"),
    [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz"), ("tar.bz2", "w:bz2"), ("tar.xz", "w:xz")],
)
def test_tars_are_read(
    folder: Path, ending: str, mode: Literal["w", "w:gz", "w:bz2", "w:xz"]
) -> None:
    tarred(folder / f"ada.{ending}", mode, work__exercise3_py="ada", work__bug7_py="seven")
    ada = one(folder, BOTH)
    assert ada.name == "ada"
    assert [ada.handed[name].read() for name in BOTH] == [b"ada", b"seven"]


@pytest.mark.usefixtures("read_here")
def test_tar_leads_nowhere_and_unpacks_no_further_than_it_may(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(folder / "ada.tar.gz", "w:gz") as archive:
        for name in ("../exercise3.py", "/exercise3.py"):
            archive.addfile(tarfile.TarInfo(name))
        link = tarfile.TarInfo("exercise3.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert "was not handed in; it is empty" in problem(folder)
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 1 << 20)
    tarred(folder / "ada.tar.gz", "w:gz", exercise3_py="#" * (8 << 20))
    assert problem(folder) == "`ada.tar.gz` holds more than 1 MiB"
    (folder / "ada.tar.gz").write_bytes(b"\x1f\x8b no gzip")
    assert "`ada.tar.gz` is no tar that can be read" in problem(folder)


def test_archive_within_an_archive_is_read(folder: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("exercise3.py", "inner")
    with zipfile.ZipFile(folder / "ada.zip", "w") as archive:
        archive.writestr("work/inner.zip", inner.getvalue())
        archive.writestr("work/broken.zip", b"PK")
    (folder / "bob").mkdir()
    (folder / "bob" / "mine.zip").write_bytes(inner.getvalue())
    ada, bob = (one.handed["exercise3"] for one in find_candidates(folder, ("exercise3",)))
    assert (ada.name, ada.read()) == ("work/inner.zip/exercise3.py", b"inner")
    assert (bob.name, bob.read()) == ("mine.zip/exercise3.py", b"inner")


# --- files of another name


@pytest.mark.parametrize(
    "name",
    [
        "exercise3 (1).py",
        "Exercise3.py",
        "ada_exercise3.py",
        "exercise3-final.ipynb",
        "EXERCISE3.PY",
    ],
)
def test_file_whose_name_holds_the_exercises_is_it(folder: Path, name: str) -> None:
    write(folder / "ada" / name, V3)
    write(folder / "ada" / "exercise30.py")
    write(folder / "ada" / "test_exercise3.py", V3)
    assert status(folder, ("exercise3", "exercise4")) == [f"found as `{name}`"]


def test_file_is_found_by_what_it_defines(folder: Path) -> None:
    write(folder / "ada" / "solution.py", V3 + "class SelfAttentionV4: pass\n")
    write(folder / "ada" / "notes.py", "import nowhere\n")
    write(folder / "ada" / "broken.py", "class SelfAttentionV3(:\n")
    write(folder / "ada" / "contracts" / "bug2.py", V3)  # by its name another's
    said = "found in `solution.py`, which defines `SelfAttentionV"
    assert status(folder, ("exercise3", "exercise4")) == [f"{said}3`"]
    assert status(folder, ("exercise4", "exercise3")) == [f"{said}4`"]


def test_of_several_files_one_is_taken_and_the_others_are_named(folder: Path) -> None:
    write(folder / "a" / "exercise3 (2).py", V3)
    write(folder / "a" / "exercise3 (10).py", V3 + "y = 1\n")
    write(folder / "b" / "one.py", V3)
    write(folder / "b" / "two.py", V3 + "y = 1\n")
    write(folder / "c" / "mine.py", "x = 1\n")
    write(folder / "c" / "other.docx")
    write(folder / "d" / "exercise3.py", V3)
    write(folder / "d" / "exercise3_final.py", V3 + "y = 1\n")
    write(folder / "d" / "exercise3 copy.py", V3)  # the same once more is no other
    assert status(folder, ("exercise3", "exercise4")) == [
        "found as `exercise3 (10).py`; left aside: `exercise3 (2).py`",
        "found in `two.py`, which defines `SelfAttentionV3`; left aside: `one.py`",
        "no file that defines `SelfAttentionV3`; there were `mine.py`, `other.docx`",
        "taken from `exercise3.py`; left aside: `exercise3_final.py`",
    ]
    write(folder / "b" / "two.py")
    assert status(folder, ("exercise3", "bug2"))[1] == (
        "no file is called `exercise3.py`, and `one.py` could be `bug2` as well"
    )


STUB = 'class SelfAttentionV3:\n    """Do it."""\n\n    def forward(self, x):\n        raise X\n'
DONE = STUB.replace("raise X", "return x")
NOTEBOOK = """{"nbformat": 4, "cells": [{"cell_type": "code", "source": %s}]}"""


@pytest.mark.parametrize(
    "stub", [STUB, STUB.replace("Do it.", "Do it!") + "# TODO\n", STUB.replace("\n", "\r\n")]
)
@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("solution.py", DONE, "found in `solution.py`, which defines `SelfAttentionV3`"),
        ("solution.py", DONE.replace("return x", f"return 0x{'f' * 4000}"), "found in `solution."),
        ("exercise3_final.py", DONE, "found as `exercise3_final.py`"),
        ("deep/exercise3.py", DONE, ""),
        ("work.ipynb", NOTEBOOK % json.dumps(DONE), "found in `work.ipynb`, which defines"),
        ("exercise3.ipynb", NOTEBOOK % json.dumps(DONE), ""),
    ],
)
def test_what_was_changed_wins_over_an_untouched_stub(
    folder: Path, stub: str, name: str, text: str, note: str
) -> None:
    write(folder / "ada" / "exercise3.py", stub)
    write(folder / "ada" / name, text)
    with zipfile.ZipFile(folder / "bob.zip", "w") as archive:
        archive.writestr("exercise3.py", stub)
        archive.writestr(name, text)
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(name, text)
    write(folder / "cleo" / "exercise3.py", stub)
    (folder / "cleo" / "mine.zip").write_bytes(inner.getvalue())
    found = find_candidates(folder, BOTH, None, (), DEFINES, {"exercise3": STUB})
    for one in (candidate.handed["exercise3"] for candidate in found):
        assert one.read() == text.encode(), one
        assert note in one.note.replace("mine.zip/", "")
        assert one.note.endswith("`exercise3.py` is as it was sent")


def test_untouched_stub_alone_names_what_was_left_aside(folder: Path) -> None:
    write(folder / "ada" / "exercise3.py", STUB)
    write(folder / "bob" / "exercise3.py", STUB)
    write(folder / "bob" / "mine.py", "class Mine: pass\n")
    write(folder / "cleo" / "mine.py", DONE)
    (folder / "cleo" / "exercise3.py").write_bytes(b"\xff")  # that which can be read goes before
    found = find_candidates(folder, BOTH, None, (), DEFINES, {"exercise3": STUB})
    ada, bob, cleo = (candidate.handed["exercise3"] for candidate in found)
    assert (ada.note, bob.note) == ("", "it is as it was sent; left aside: `mine.py`")
    assert cleo.name == "mine.py"
    assert cleo.note.endswith("; left aside: `exercise3.py`")
