"""A notebook beside each stub: whole, without an answer, and one learner's progress with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

from grader.cli import run_command
from grader.kit import Exercise, Kit, installed_kit, load_kit
from grader.kit.notebooks import FALLBACK_ADDRESS, is_notebook_edited, notebook_file, notebook_of
from grader.kit.stubs import shipped_stub
from grader.practice.folder import list_lines, make_folder, start_anew, update_folder
from grader.practice.history import open_history
from grader.submission import read_submission
from tests.support.terminal import Terminal

KIT = installed_kit()
RIGHT = KIT.find("warmup1").solution.read_text(encoding="utf-8")
KERNEL = "this-python"


@pytest.fixture
def drills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    """A learner's folder with notebooks, and the working directory in it."""
    make_folder(tmp_path / "drills", KIT, notebooks=True)
    monkeypatch.chdir(tmp_path / "drills")
    return load_kit()


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A kernel of the Python that runs the tests, and a place for what Jupyter writes."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share"))
    write_kernel_spec(tmp_path / "share" / "kernels" / KERNEL)
    return KERNEL


def opened(exercise: Exercise) -> Any:
    return nbformat.read(notebook_file(exercise), as_version=nbformat.NO_CONVERT)


def shipped(exercise: Exercise) -> Any:
    return nbformat.reads(notebook_of(exercise).decode(), as_version=nbformat.NO_CONVERT)


def written(exercise: Exercise, source: str) -> None:
    """The learner's notebook with another text in the cell that is graded."""
    notebook = opened(exercise)
    notebook.cells[2].source = f"%%grade {exercise.name}\n{source}"
    nbformat.write(notebook, notebook_file(exercise))


@pytest.mark.parametrize("name", [exercise.name for exercise in KIT.exercises])
def test_notebook_is_whole_and_holds_no_answer(name: str) -> None:
    exercise = KIT.find(name)
    notebook = shipped(exercise)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    contract, setup, stub, trying, hints = notebook.cells
    assert contract.source.startswith(f"# {name}: {exercise.title}\n")
    assert f"\n{exercise.title}.\n" not in contract.source
    assert setup.source.endswith("%load_ext grader")
    assert stub.source.partition("\n")[::2] == (f"%%grade {name}", shipped_stub(exercise).decode())
    assert trying.source
    folded = re.findall(r"<details><summary>.*?</summary>.*?</details>", hints.source)
    assert len(folded) == len(exercise.hints)
    solution = exercise.solution.read_text(encoding="utf-8").splitlines()
    known = shipped_stub(exercise).decode()
    answers = {line for line in solution if len(line) > 25 and line not in known}
    assert answers
    text = "\n".join(cell.source for cell in notebook.cells)
    assert not [line for line in answers if line in text]


@pytest.mark.parametrize("name", [e.name for e in KIT.exercises if e.formula])
def test_formula_is_set_as_one(name: str) -> None:
    formula = KIT.find(name).formula
    assert formula.isascii()  # as LaTeX has it
    assert formula.count("{") == formula.count("}")
    assert formula.count(r"\left(") == formula.count(r"\right)") >= 0
    assert not re.search(r"(?<!\\)_(?![a-zA-Z{\\])|\$|#|%", formula)
    contract = notebook_of(KIT.find(name)).decode()
    assert "$$" in contract


GIT = {"vcs_info": {"vcs": "git", "commit_id": "4f2a"}}


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ({"url": "https://example.org/drills", **GIT}, "git+https://example.org/drills@4f2a"),
        ({"url": "https://example.org/drills.whl", "archive_info": {}}, "https://example.org/drills.whl"),
        ({"url": "file:///home/me/drills", **GIT}, FALLBACK_ADDRESS),
        ({"url": "file:///home/me/drills", "dir_info": {"editable": True}}, FALLBACK_ADDRESS),
        (None, FALLBACK_ADDRESS),
    ],
)  # fmt: skip
def test_notebook_installs_from_where_this_was_installed(
    told: dict[str, object] | None, address: str, drills: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = drills.home / "lib" / "attention_drills-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Name: attention-drills\nVersion: 0.1.0\n", encoding="utf-8")
    if told:
        (about / "direct_url.json").write_text(json.dumps(told), encoding="utf-8")
    monkeypatch.syspath_prepend(about.parent)
    exercise = drills.find("warmup1")
    setup = shipped(exercise).cells[1].source
    assert f'%pip install -q "attention-drills @ {address}"\n' in setup
    assert not is_notebook_edited(exercise)  # it came from another address
    notebook = opened(exercise)
    notebook.cells[1].source += "\nimport math"
    nbformat.write(notebook, notebook_file(exercise))
    assert is_notebook_edited(exercise)


@pytest.mark.slow("a kernel or a terminal that imports torch")
def test_notebook_runs_and_its_progress_is_that_of_the_file(drills: Kit, kernel: str) -> None:
    exercise = drills.find("warmup1")
    assert "started" not in list_lines(drills, set())[1]

    def ran() -> str:
        """Run all cells; the report below the one that is graded."""
        notebook = opened(exercise)
        place = {"metadata": {"path": str(notebook_file(exercise).parent)}}
        NotebookClient(notebook, kernel_name=kernel, timeout=240, resources=place).execute()
        shown = [o for o in notebook.cells[2].outputs if o.output_type == "display_data"]
        return "\n".join(str(output.data["text/plain"]) for output in shown)

    stub = ran()
    assert "still a stub" in stub
    assert "next: edit the cell, then run it again; `grade hint warmup1`" in stub
    written(exercise, RIGHT)
    assert re.search(r"^score (\d+) / \1 ", ran(), re.MULTILINE)
    with open_history(drills) as history:
        assert history.solved() == {"warmup1"}
    assert "warmup1     solved" in "\n".join(list_lines(drills, {"warmup1"}))


@pytest.mark.slow("a kernel or a terminal that imports torch")
def test_notebook_is_graded_at_the_terminal_as_the_learners_own(
    drills: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    written(drills.find("warmup1"), RIGHT)
    assert "warmup1     started" in "\n".join(list_lines(drills, set()))
    assert run_command(["solution", "warmup1"]) == 2
    assert run_command(["warmup1", "exercises/warmups/warmup1.ipynb"]) == 0
    assert run_command(["exercises/warmups/warmup1.ipynb"]) == 0
    assert run_command(["solution", "warmup1"]) == 0
    assert RIGHT in capsys.readouterr().out


def test_reset_puts_the_notebook_back_and_keeps_yours(
    drills: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = drills.find("warmup1")
    written(exercise, RIGHT)
    mine = notebook_file(exercise).read_bytes()
    assert is_notebook_edited(exercise)
    assert run_command(["reset", "warmup1"]) == 0
    assert "what it replaced is kept in" in capsys.readouterr().out
    assert notebook_file(exercise).read_bytes() == notebook_of(exercise)
    (kept,) = (drills.home / ".grade" / "replaced").iterdir()
    assert kept.read_bytes() == mine
    assert start_anew(exercise, drills) == []  # it is already the stub


def test_update_renews_what_is_untouched_and_adds_what_is_missing(drills: Kit) -> None:
    first, second, third = drills.exercises[:3]
    written(first, RIGHT)
    mine = notebook_file(first).read_bytes()
    notebook = opened(second)
    notebook.cells[0].source = "an earlier text"
    nbformat.write(notebook, notebook_file(second))
    notebook_file(third).unlink()
    update_folder(drills)
    assert notebook_file(first).read_bytes() == mine
    assert notebook_file(second).read_bytes() == notebook_of(second)
    assert not notebook_file(third).exists()
    assert update_folder(drills, notebooks=True) == {third.name: "new"}
    assert notebook_file(third).read_bytes() == notebook_of(third)


def test_notebook_that_is_none_is_never_written_over(drills: Kit) -> None:
    file = notebook_file(drills.find("warmup1"))
    file.write_text("mine")
    assert is_notebook_edited(drills.find("warmup1"))
    update_folder(drills, notebooks=True)
    assert file.read_text() == "mine"


def test_one_notebook_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["init", "drills"]) == 0
    monkeypatch.chdir(tmp_path / "drills")
    assert not list(Path().rglob("*.ipynb"))
    assert run_command(["notebook", "3"]) == 0
    assert "exercise3.ipynb` is made" in capsys.readouterr().out
    assert read_submission(Path("exercises/variants/exercise3.ipynb")).cells
    assert run_command(["notebook", "exercise3"]) == 2
    assert "already exists; `grade reset exercise3`" in capsys.readouterr().err
    assert run_command(["init", "other", "--notebooks"]) == 0
    assert len(list(Path("other").rglob("*.ipynb"))) == len(KIT.exercises)


@pytest.mark.slow("a kernel or a terminal that imports torch")
def test_watch_grades_a_notebook_that_is_saved(drills: Kit) -> None:
    with Terminal(drills.home, "watch", "warmup1", rows=80) as terminal:
        terminal.until("edit exercises/warmups/warmup1.py")
        written(drills.find("warmup1"), RIGHT.replace("dim=-1)", "dim=-2)"))
        terminal.until("the softmax runs over the queries", "score ")
        written(drills.find("warmup1"), RIGHT)
        terminal.until("warmup1 is solved")
        terminal.press("m")
        terminal.until("attention without a mask")
        terminal.press("q")
        assert terminal.left() == 0
    with open_history(drills) as history:
        assert [one.solved for one in history.gradings("warmup1")] == [False, True]
