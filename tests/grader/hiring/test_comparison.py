"""Each exercise of a batch is compared by its own part of a file, and with earlier batches."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.cli import run_command
from grader.errors import GradeError
from grader.hiring import earlier
from grader.hiring.batch_records import GradingResult
from grader.hiring.candidates import Candidate
from grader.hiring.compared import ComparedSubmissions
from grader.hiring.comparison import compare_submissions
from grader.hiring.earlier import read_earlier
from grader.hiring.gradebook import Gradebook
from grader.hiring.store import BatchStore
from grader.hiring.traits import read_traits
from grader.records import SimilarPair
from tests.support.disguises import disguise
from tests.support.independent import KIN, KIT, answers, solution_of, stub_of
from tests.support.samples import made_report

ONE_LINE = {"bug1", "bug2", "bug3", "bug4", "bug8", "bug12", "bug15", "bug16", "bug18", "bug20"}
REPAIRS = [exercise.name for exercise in KIT.exercises if not exercise.diagnosis]
Handed = Mapping[str, Mapping[str, str]]  # sources by candidate and exercise


def stored(folder: Path, handed: Handed) -> Path:
    """Return the folder of a batch that has graded these files."""
    with BatchStore(folder / "results.sqlite") as store:
        for name, files in handed.items():
            for exercise, source in files.items():
                report = made_report(exercise=exercise)
                store.add(GradingResult(name, exercise, 1, f"{name}.py", report, source))
        store.record_names({name: name.title() for name in handed})
    return folder


def compared(folder: Path, *exercises: str, former: tuple[Path, ...] = ()) -> dict[str, list]:
    """Return the pairs and groups of a batch, by exercise."""
    found = [KIT.find(name) for name in exercises]
    with BatchStore(folder / "results.sqlite") as store:
        before = read_earlier(former, found, folder)
        return compare_submissions(store, found, store.names(), before)


def people(exercise: str, count: int = 12) -> dict[str, dict[str, str]]:
    """Return some people who have each written an exercise alone."""
    return {f"p{n}": {exercise: one} for n, one in enumerate([*answers(exercise).values()][:count])}


def names(pair: SimilarPair) -> set[str]:
    return {pair.first, pair.second}


@pytest.mark.parametrize("name", REPAIRS)
def test_repair_of_one_line_is_left_out_and_any_other_compared(name: str, tmp_path: Path) -> None:
    solved = {f"p{n}": {name: solution_of(name) + f"# {n}\n"} for n in range(61)}
    solved["other"] = {name: stub_of(name) + "\nunrelated = [1, 2]\n"}
    found = compared(stored(tmp_path, solved), name)[name]
    assert (found.pairs, found.groups) == ((), ())
    if name in ONE_LINE:
        assert found.compared == 0
        assert "one line" in found.says
    else:
        assert found.compared == 1
        assert {one.why for one in found.left_out} == {"is a solution that everybody may know"}


def test_longer_repair_is_compared_by_its_change_alone(tmp_path: Path) -> None:
    stub = stub_of("bug14")
    head, tail = stub.split("    x = torch.rand(3, 2, 4)\n")

    def repaired(*lines: str) -> dict[str, str]:
        return {"bug14": head + "".join(f"    {line}\n" for line in lines) + tail}

    handed = {
        f"p{n}": repaired(f"x = torch.randn({n + 2}, 5, 4)", f"torch.manual_seed({n})")
        for n in range(12)
    }
    odd = [
        *("wheight = torch.linspace(-3, 3, 4 * 4 * 3).reshape(12, 4).flip(0)", "wheight[2] *= 40"),
        *("x = torch.stack([wheight.roll(n, 0) for n in range(5)]).double().float()",),
        *(
            "smal, larg = x.abs().amin(-1), x.abs().amax(-1)",
            "assert (larg / smal).log().sum() > 1",
        ),
        *("x[1::2] = x[1::2].sort(dim=1, descending=True).values.cumsum(0) - larg.max()",),
    ]
    handed |= {"ada": repaired(*odd), "ben": repaired(*odd, "note = 3")}
    found = compared(stored(tmp_path, handed), "bug14")["bug14"]
    (pair,) = found.pairs
    assert names(pair) == {"Ada", "Ben"}
    lines = handed["ada"]["bug14"].split("\n")
    marked = {line for first, last in pair.spans_first for line in lines[first - 1 : last]}
    assert any("linspace" in line for line in marked)
    assert not marked & set(stub.split("\n"))


def test_file_of_several_exercises_is_cut_to_each(tmp_path: Path) -> None:
    three, five = answers("exercise3"), answers("exercise5")
    handed = people("exercise3")
    for number, one in enumerate(handed):
        handed[one]["exercise5"] = [*five.values()][number]
    # The same file has a copied exercise5 and an exercise3 of one's own.
    copied = five["right_block_mask"]
    for name, own in (("ada", "right_chunked_queries"), ("ben", "right_own_dropout")):
        handed = {key: one for key, one in handed.items() if three[own] not in one.values()}
        whole = (
            f"{three[own]}\n\n# Mine.\n{copied}\n\ndef aside():\n    return 'the same in both'\n"
        )
        handed[name] = {"exercise3": whole, "exercise5": whole}
    handed = {
        key: {e: source for e, source in one.items() if key in ("ada", "ben") or source != copied}
        for key, one in handed.items()
    }
    found = compared(stored(tmp_path, handed), "exercise3", "exercise5")
    assert found["exercise3"].pairs == ()
    (pair,) = [one for one in found["exercise5"].pairs if names(one) == {"Ada", "Ben"}]
    assert pair.evidence[0] == "same code"
    source = handed["ada"]["exercise5"].split("\n")
    for first, last in pair.spans_first:
        assert first > three["right_chunked_queries"].count("\n")
        assert last <= len(source) - 4  # not what belongs to neither


def test_file_of_one_exercise_stays_whole(tmp_path: Path) -> None:
    handed = people("exercise3")
    aside = "\n\nif __name__ == '__main__':\n" + "".join(
        f"    # dont ask me why number {n} wroks, I never relized it\n" for n in range(9)
    )
    for one in ("p0", "p1"):
        handed[one]["exercise3"] += aside
    found = compared(stored(tmp_path, handed), "exercise3", "exercise5")
    (pair,) = found["exercise3"].pairs
    assert (names(pair), pair.evidence) == ({"P0", "P1"}, ("same comments or strings",))


def test_earlier_batches_are_compared_with(tmp_path: Path) -> None:
    five, stub = answers("exercise5"), stub_of("exercise5")
    spring = {"ada": {"exercise5": five["right_einsum"]}, "bob": {"exercise5": stub}}
    copied = disguise(five["right_block_mask"], stub, 0, "structure")
    autumn = {"ada": {"exercise5": copied}, "ida": {"exercise3": solution_of("exercise3")}}
    handed = people("exercise5", 99)
    former = (stored(tmp_path / "spring", spring), stored(tmp_path / "autumn", autumn))
    found = compared(
        stored(tmp_path / "now", handed), "exercise5",
        former=(former[0], former[1] / "results.sqlite"),
    )["exercise5"]  # fmt: skip
    people_of = {key: (one.name, Path(one.batch).name) for key, one in found.earlier.items()}
    assert sorted(people_of.values()) == [("Ada", "results.sqlite"), ("Ada", "spring")]
    kin = {one: f"P{n}" for n, one in enumerate(five)}
    pairs = {
        frozenset({one.first, "/".join(people_of[one.second])})
        for one in found.pairs
        if one.second in people_of
    }
    assert pairs == {
        frozenset({kin["right_einsum"], "Ada/spring"}),
        frozenset({kin["right_block_mask"], "Ada/results.sqlite"}),
    }
    assert len(found.pairs) == 2 + sum(kin.keys() >= pair for pair in KIN)
    assert "Compared with 3 of earlier batches as well." in found.says
    assert compared(tmp_path / "now", "exercise5")["exercise5"].earlier == {}


def test_earlier_batch_may_be_read_only_and_have_a_renamed_exercise(tmp_path: Path) -> None:
    renamed = replace(KIT.find("exercise3"), formerly=("version3",))
    old = {"ada": {"version3": "x = 1\n"}}
    folder = stored(tmp_path / "spring", old)
    (folder / "results.sqlite").chmod(0o400)
    folder.chmod(0o500)
    before = (folder / "results.sqlite").read_bytes()
    try:
        (one,) = read_earlier([folder], [renamed], tmp_path)[renamed.name].values()
    finally:
        folder.chmod(0o700)
    assert (one.name, one.source) == ("Ada", "x = 1\n")
    assert (folder / "results.sqlite").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["results.sqlite"]


def meet_a_page_twice(path: Path) -> None:
    """Let a table name one page of rows twice: some levels of that are rows without end."""
    with closing(sqlite3.connect(path)) as connection:
        ((root,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'result'")
    data, size = bytearray(path.read_bytes()), 4096
    start, rows = (root - 1) * size, len(data) // size + 1
    data += data[start : start + size]
    page = struct.pack(">BHHHBIH", 5, 0, 1, size - 5, 0, rows, size - 5)
    data[start : start + size] = page.ljust(size - 5, b"\0") + struct.pack(">IB", rows, 1)
    data[28:32] = struct.pack(">I", rows)
    path.write_bytes(data)


def test_what_is_no_earlier_batch_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "MAX_MEMORY_BYTES", 1 << 20)
    folder = stored(tmp_path / "spring", {"ada": {"exercise3": "x = 1\n"}})
    exercises = [KIT.find("exercise3")]
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.sqlite").write_text("no database at all, and longer than a header")
    shutil.copytree(folder, tmp_path / "newer")
    with closing(sqlite3.connect(tmp_path / "newer" / "results.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    shutil.copytree(folder, tmp_path / "linked")
    (tmp_path / "linked" / "results.sqlite-journal").symlink_to(tmp_path / "victim")
    endless = "WITH RECURSIVE t(key) AS (SELECT 1 UNION ALL SELECT key FROM t) SELECT key, 1 FROM t"
    for name, changes in {
        "endless": f"DROP TABLE candidate; CREATE VIEW candidate (key, name) AS {endless}",
        "large": "UPDATE result SET source = printf('%.*c', 3000000, 'x')",
        "wide": "UPDATE result SET source = printf('%.*c', 300000, 'x') || char(128512)",
    }.items():
        shutil.copytree(folder, tmp_path / name)
        with closing(sqlite3.connect(tmp_path / name / "results.sqlite")) as connection:
            connection.executescript(changes)
    shutil.copytree(folder, tmp_path / "circle")
    meet_a_page_twice(tmp_path / "circle" / "results.sqlite")
    with pytest.raises(GradeError, match="cannot be used: it is laid out as none of ours"):
        BatchStore(tmp_path / "endless" / "results.sqlite")
    for paths, own, says in (
        ((tmp_path / "missing",), tmp_path, "has no results of a batch: name the folder"),
        ((tmp_path / "empty",), tmp_path, "has no results of a batch: name the folder"),
        ((tmp_path / "text.sqlite",), tmp_path, "cannot be compared with: file is not a database"),
        ((tmp_path / "newer",), tmp_path, "is of another version"),
        ((tmp_path / "endless",), tmp_path, "it is laid out as none of ours"),
        ((tmp_path / "large",), tmp_path, "cannot be compared with: string or blob too big"),
        (
            (tmp_path / "wide",),
            tmp_path,
            "wide` can be compared with only in part: more than 1 MiB",
        ),
        ((tmp_path / "linked",), tmp_path, "it would change another file"),
        ((tmp_path / "circle",), tmp_path, "circle` cannot be compared with: it is damaged"),
        ((folder,), folder, "is this batch, or named twice"),
        ((folder, folder / "results.sqlite"), tmp_path, "is this batch, or named twice"),
    ):
        with pytest.raises(GradeError, match=says) as raised:
            read_earlier(paths, exercises, own)
        assert "\n" not in str(raised.value)
    with pytest.raises(GradeError, match="has no file of `exercise5`: leave it out of --against"):
        read_earlier([folder], [KIT.find("exercise5")], tmp_path)


def test_wrong_folder_is_told_before_anything_is_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / "exercise3.py").write_text(solution_of("exercise3"))
    words = ["batch", str(tmp_path / "in"), "--exercise", "exercise3", "--out", str(tmp_path / "o")]
    assert run_command([*words, "--against", str(tmp_path / "spring")]) == 2
    assert f"`{tmp_path / 'spring'}` has no results of a batch" in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_file_that_finds_a_fault_of_ours_is_left_out_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line of one file ended every batch that held it."""

    def read(source: str, *more: Any) -> Any:
        if "fault" in source:
            raise ValueError("of ours")
        return read_traits(source, *more)

    monkeypatch.setattr("grader.hiring.compared.read_traits", read)
    sources = {name: files["exercise1"] for name, files in people("exercise1", 3).items()}
    sources["p1"] += "\n# a fault\n"
    found = ComparedSubmissions(sources, stub_of("exercise1"), [], {})
    assert [one.name for one in found.left_out] == ["p1"]
    assert len(found.codes) == 2


def test_name_of_one_who_is_gone_is_nobody_else_s(tmp_path: Path) -> None:
    """A page has a row for each name, and was not written where there were two."""
    people_in_it = {key: {"exercise1": "x"} for key in ("ana.py", "bob", "cy")}
    with BatchStore(stored(tmp_path, people_in_it) / "results.sqlite") as store:
        store.record_names({"ana.py": "ana", "bob": "ana", "cy": "ana"})
        there = [Candidate("ana", {}, "new"), Candidate("ana.py", {}, "other")]
        book = Gradebook(store, there, {"exercise1": 1.0}, KIT)
        names = list(book.numbers())
        assert sorted(names) == ["ana", "ana.py", "ana.py (2)", "bob", "cy"]
