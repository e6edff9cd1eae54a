"""The command as a person meets it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli import run_command
from grader.kit import installed_kit
from grader.records import Report

SOLUTION = installed_kit().find("warmup1").solution
Grade = Callable[..., tuple[int, str, str]]


@pytest.fixture
def grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Grade:
    """Run the command in a learner's fresh folder; its exit code, output and errors."""

    def run(*words: object) -> tuple[int, str, str]:
        code = run_command([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    assert run("init", "drills")[0] == 0
    monkeypatch.chdir(tmp_path / "drills")
    return run


def one_line(err: str) -> str:
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    return err


def test_stub_then_solution_then_ours(grade: Grade) -> None:
    code, out, _ = grade("warmup1")
    assert code == 1, out
    assert "still a stub" in out
    code, _, err = grade("solution", "warmup1")
    assert code == 2
    assert "not solved yet" in one_line(err)
    mine = Path("exercises/warmups/warmup1.py")
    mine.write_bytes(SOLUTION.read_bytes())
    code, out, err = grade("warmup1", "--json", "report.json", "--seed", 3)
    assert code == 0, out + err
    report = Report.from_json(Path("report.json").read_bytes())
    assert report.solved
    assert report.seed == 3
    code, out, _ = grade("solution", "warmup1")
    assert code == 0
    assert out == SOLUTION.read_text(encoding="utf-8")
    assert "solved" in grade("list")[1]


def test_mistake_is_named_unless_told_otherwise(grade: Grade) -> None:
    mine = Path("exercises/warmups/warmup1.py")
    text = SOLUTION.read_text(encoding="utf-8")
    mine.write_text(text.replace("softmax(dim=-1)", "softmax(dim=-2)"), encoding="utf-8")
    code, out, _ = grade("warmup1")
    assert code == 1, out
    assert "Your output is exactly what comes out when the softmax runs over the queries" in out
    assert "attention without a mask" in out
    code, out, _ = grade("warmup1", "--no-diagnosis")
    assert code == 1, out
    assert "exactly what comes out" not in out
    assert "attention without a mask" not in out
    assert "attention without a mask" in grade("warmup1", "--no-diagnosis", "--map")[1]


def test_file_to_repair_is_not_explained_unless_asked(grade: Grade) -> None:
    assert "exactly what comes out" not in grade("bug4")[1]
    assert "the weights mix the input x" in grade("bug4", "--diagnosis")[1]


def test_mistakes_are_listed_and_explained(grade: Grade) -> None:
    code, out, _ = grade("mistakes")
    assert code == 0
    assert "  scaled-by-the-model-width\n" in out
    code, out, _ = grade("mistakes", "mask-inverted")
    assert code == 0
    assert "What is done: the mask is read the wrong way around" in out
    assert "under a causal mask" in out
    assert "right all the same" in grade("mistakes", "output-never-projected")[1]
    code, _, err = grade("mistakes", "mask-inverte")
    assert code == 2
    assert "did you mean `mask-inverted`?" in one_line(err)


def test_progress_and_diff_look_back(grade: Grade) -> None:
    assert "nothing graded yet" in grade("progress")[1]
    assert "has not been graded yet" in one_line(grade("diff", "warmup1")[2])
    mine = Path("exercises/warmups/warmup1.py")
    grade("warmup1")
    grade("hint", "warmup1")
    mine.write_bytes(SOLUTION.read_bytes())
    code, out, _ = grade("diff", "warmup1")
    assert code == 0
    assert "-    raise NotImplementedError" in out
    assert "graded 20" in out
    grade("warmup1")
    grade("warmup2", SOLUTION)  # another's file is no progress of one's own
    assert "is as it was graded: 20 / 20" in grade("diff", "warmup1")[1]
    code, out, _ = grade("progress")
    assert code == 0
    assert out.startswith("1 of 24 exercises solved, 2 gradings\n")
    assert "warmup1         2   20 / 20" in out
    assert out.rstrip().endswith("    1  ▁█")


def test_several_files_give_a_list_of_reports(grade: Grade) -> None:
    code, out, err = grade("warmup1", SOLUTION, "warmup2", "--json", "all.json", "--device", "cpu")
    assert code == 1, out + err
    reports = json.loads(Path("all.json").read_text())
    assert [r["exercise"] for r in reports] == ["warmup1", "warmup2"]
    assert [r["score"]["solved"] for r in reports] == [True, False]


def test_own_kit_by_path(grade: Grade) -> None:
    tiny = Path(__file__).parents[1] / "kit"
    code, out, err = grade("double", tiny / "solutions/basics/double.py", "--kit", tiny)
    assert code == 0, out + err
    assert "score 4 / 4" in out


def test_broken_suite_is_not_the_learners_fault(grade: Grade) -> None:
    tiny = Path(__file__).parents[1] / "kit"
    code, out, err = grade("broken", tiny / "solutions/basics/broken.py", "--kit", tiny)
    assert code == 3, out
    assert "the check `test_divides_by_zero` itself failed" in err


def test_hints_come_one_by_one(grade: Grade) -> None:
    for shown in (1, 2):
        code, out, _ = grade("hint", "exercise3")
        assert code == 0
        assert out.count("hint ") == shown
    for _ in range(3):
        _, out, _ = grade("hint", "exercise3")
    assert "--reveal" in out


def test_reset_and_reveal(grade: Grade) -> None:
    Path("exercises/variants/exercise3.py").write_text("mine")
    code, out, _ = grade("reset", "exercise3")
    assert code == 0
    assert "kept in" in out
    code, out, _ = grade("solution", "exercise3", "--reveal")
    assert code == 0
    assert "class SelfAttentionV3" in out


def test_damaged_history_is_set_aside(grade: Grade) -> None:
    grade("hint", "exercise3")
    Path(".grade/history.sqlite").write_text("no database at all, for a long while " * 200)
    code, out, err = grade("hint", "exercise3")
    assert code == 0, err
    assert out.startswith("hint 1 of")
    assert "was damaged: set aside as `history.sqlite.damaged-" in one_line(err)
    assert list(Path(".grade").glob("history.sqlite.damaged-*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["exercize3"], "there is no exercise `exercize3`; did you mean `exercise3`?"),
        (["exercise3", "nowhere.py"], "`nowhere.py` cannot be read: no such file or directory"),
        (["exercise3", "exercises/"], "`exercises` is a folder; name the Python file to grade"),
        (["exercise3", "./fifo"], "`fifo` is no regular file; name the Python file to grade"),
        (["exercise3", "./socket"], "cannot be read"),
        (["exercise3", "utf16.py"], "`utf16.py` is not UTF-8 (byte 0 is 0xff); save it as UTF-8"),
        (["exercise3", "big.py"], "`big.py` is larger than 512 KiB"),
        (["mine.py"], "`mine.py` does not say which exercise it is"),
        (["hint", "exercise33"], "did you mean `exercise3`?"),
        (["list", "--kit", "exercises"], "`exercises` is no kit"),
        (["init", "."], "`exercises` is there already"),
    ],
)
def test_bad_input_is_one_clear_line(grade: Grade, words: list[str], message: str) -> None:
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    Path("utf16.py").write_text("x = 1", encoding="utf-16")
    Path("big.py").write_bytes(b"#" * 50_000_000)
    Path("mine.py").touch()
    code, _, err = grade(*words)
    assert code == 2
    assert message in one_line(err)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class SelfAttentionV1(:\n", "work.py:1: does not parse"),
        ("import nowhere\nclass SelfAttentionV1: pass\n", "work.py:1: does not import"),
        ("class Other: pass\n", "defines no class `SelfAttentionV1`; it has `Other`"),
        ("\x00", "does not parse"),
    ],
)
def test_file_that_cannot_be_tried_is_said_once(grade: Grade, source: str, message: str) -> None:
    Path("work.py").write_text(source)
    code, out, err = grade("exercise1", "work.py")
    assert code == 1, err
    assert out.count(message) == 1, out
    assert len(out.splitlines()) <= 5


def test_wrong_constructor_and_no_module_are_clear(grade: Grade) -> None:
    work = Path("work.py")
    work.write_text("class SelfAttentionV1:\n    def __init__(self, hidden_dim): pass\n")
    out = grade("exercise1", "work.py")[1]
    assert out.count("gives an object of type `SelfAttentionV1`, not an `nn.Module`") == 1, out
    work.write_text("from torch import nn\nclass SelfAttentionV1(nn.Module):\n    pass\n")
    out = grade("exercise1", "work.py")[1]
    assert "unexpected keyword argument 'hidden_dim'" in out
    assert "grader/" not in out


def test_missing_device_is_usage(grade: Grade) -> None:
    code, _, err = grade("warmup1", SOLUTION, "--device", "mps")
    assert code == 2
    assert "no device `mps` that torch can use; it has `cpu`" in one_line(err)


def test_name_that_is_not_utf_8_is_shown_as_far_as_it_can_be(grade: Grade, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"mine\xff.py")
    odd.write_text(SOLUTION.read_text(encoding="utf-8"), encoding="utf-8")
    code, out, _ = grade("warmup1", odd, "--json", "report.json", "--html", "report.html")
    assert code == 0
    assert "mine\ufffd.py" in out
    assert json.loads(Path("report.json").read_text())["submission"].endswith("mine\ufffd.py")


def test_unwritable_json_is_said(grade: Grade) -> None:
    code, _, err = grade("warmup1", SOLUTION, "--json", "nowhere/report.json")
    assert code == 2
    assert "cannot be written" in one_line(err)


@pytest.mark.parametrize("words", [["--help"], ["list"], ["hint", "exercise3"], ["mistakes"]])
def test_light_commands_load_neither_torch_nor_pytest(words: list[str], tmp_path: Path) -> None:
    code = (
        "import sys; from grader.cli import run_command; run_command(sys.argv[1:]);"
        "print([m for m in ('torch', 'pytest', 'rich', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout


def test_shell_completes_names_and_commands() -> None:
    def complete(words: str) -> list[str]:
        env = {**os.environ, "_GRADE_COMPLETE": "bash_complete", "COMP_WORDS": words}
        env["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        code = "from grader.cli import cli; cli(prog_name='grade')"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert "exercise3" in complete("grade exerc")
    assert "hint" in complete("grade h")
    assert "exercise3" in complete("grade hint ex")
    assert "exercise4" in complete("grade exercise3 exer")
    assert "--device" in complete("grade run --de")


def test_users_pytest_settings_change_nothing(
    grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("conftest.py").write_text("raise SystemExit('planted')")
    Path("pytest.ini").write_text("[pytest]\naddopts = --collect-only -p nowhere\n")
    Path("torch.py").write_text("raise SystemExit('planted')")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    monkeypatch.setenv("PYTEST_PLUGINS", "nowhere")
    monkeypatch.setenv("PYTHONSTARTUP", "conftest.py")
    code, out, err = grade("warmup1", SOLUTION)
    assert code == 0, out + err
    assert os.environ["PYTEST_ADDOPTS"] == "--collect-only"
