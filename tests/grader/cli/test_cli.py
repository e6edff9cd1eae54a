"""The command as a person meets it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import click
import pytest

from grader.cli import cli
from grader.cli.group import COMMANDS
from grader.cli.saying import first_sentence
from grader.diagnosis.catalogue import catalogue
from grader.kit import installed_kit
from grader.outputs.mistakes import NOTEBOOKS, with_notebook_titles
from grader.records import Report
from tests.grader.cli.conftest import Grade
from tests.support import commands
from tests.support.paths import ROOT, TINY_KIT
from tests.support.terminal import COMMAND

KIT = installed_kit()
SOLUTION = KIT.find("warmup1").solution


def one_line(err: str) -> str:
    assert len(err.splitlines()) == 1, err
    assert "Traceback" not in err
    return err


@pytest.mark.slow("a process that imports torch", always=True)
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


@pytest.mark.slow("a process that imports torch")
def test_mistake_is_named_unless_told_otherwise(grade: Grade) -> None:
    mine = Path("exercises/warmups/warmup1.py")
    text = SOLUTION.read_text(encoding="utf-8")
    mine.write_text(text.replace("softmax(dim=-1)", "softmax(dim=-2)"), encoding="utf-8")
    code, out, _ = grade("warmup1", "--seed", "1")
    assert code == 1, out
    assert "Your output is exactly what comes out when the softmax runs over the queries" in out
    assert "attention without a mask" in out
    assert "more of it: `grade mistakes softmax-over-the-queries`" in out
    assert "1 ×  `grade mistakes softmax-over-the-queries`" in grade("progress")[1]
    code, out, _ = grade("warmup1", "--explain", "nothing")
    assert code == 1, out
    assert "exactly what comes out" not in out
    assert "attention without a mask" not in out
    assert (
        "attention without a mask"
        in grade("warmup1", "--explain", "nothing", "--map", "--seed", "1")[1]
    )


@pytest.mark.slow("a process that imports torch")
def test_file_to_repair_is_not_explained_unless_asked(grade: Grade) -> None:
    assert "exactly what comes out" not in grade("bug4")[1]
    assert "the weights mix the input x" in grade("bug4", "--explain", "cause")[1]


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


def test_notebooks_have_titles_where_a_learner_reads(grade: Grade) -> None:
    numbered = re.compile(r"notebooks? \d")
    read = [file.read_text(encoding="utf-8") for file in Path("exercises").glob("*/*.py")]
    read += [exercise.solution.read_text(encoding="utf-8") for exercise in KIT.exercises]
    read += [with_notebook_titles(mistake.source) for mistake in catalogue().values()]
    assert not [text for text in read if numbered.search(text)]
    sources = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
    assert all(title in sources for title in NOTEBOOKS.values())
    shown = " ".join(grade("mistakes", "scaled-after-the-softmax")[1].split())
    assert 'the notebook "Self-attention by hand"' in shown


@pytest.mark.slow("a process that imports torch")
def test_progress_and_diff_look_back(grade: Grade) -> None:
    assert "nothing graded yet" in grade("progress")[1]
    assert "has not been graded yet" in one_line(grade("diff", "warmup1")[2])
    mine = Path("exercises/warmups/warmup1.py")
    grade("warmup1")
    grade("hint", "warmup1")
    mine.write_bytes(SOLUTION.read_bytes() + b"# \x1b]0;title\x07seen\n")
    code, out, _ = grade("diff", "warmup1")
    assert code == 0
    assert "\n+# seen\n" in out
    assert "-    raise NotImplementedError" in out
    assert "graded 20" in out
    solved = mine.read_bytes()
    for end in (b"\n", b"\f"):
        mine.write_bytes((b"a" + end) * 2_002)
        assert "more than 2,000 lines" in one_line(grade("diff", "warmup1")[2])
    mine.write_bytes(solved)
    grade("warmup1")
    grade("warmup2", SOLUTION)  # another's file is no progress of one's own
    assert "is as it was graded: 20 / 20" in grade("diff", "warmup1")[1]
    code, out, _ = grade("progress")
    assert code == 0
    assert out.startswith(f"1 of {len(KIT.exercises)} exercises solved, 2 gradings\n")
    assert "warmup1         2   20 / 20" in out
    assert out.rstrip().endswith("    1  ▁█")
    headings, line = out.splitlines()[2:4]
    assert headings.index("best") + len("best") == line.index("20 / 20") + len("20 / 20")
    assert headings.index("hints") + len("hints") == line.index("1  ▁") + 1
    assert headings.index("scores") == line.index("▁")


@pytest.mark.slow("a process that imports torch")
def test_several_files_give_a_list_of_reports(grade: Grade) -> None:
    code, out, err = grade("warmup1", SOLUTION, "warmup2", "--json", "all.json", "--device", "cpu")
    assert code == 1, out + err
    reports = json.loads(Path("all.json").read_text())
    assert [r["exercise"] for r in reports] == ["warmup1", "warmup2"]
    assert [r["score"]["solved"] for r in reports] == [True, False]


@pytest.mark.slow("a process that imports torch")
def test_several_end_with_a_table(grade: Grade) -> None:
    _, out, _ = grade("warmup1", SOLUTION, "warmup2", "--device", "cpu")
    table = out[out.index("\nexercise ") :].splitlines()[1:]
    assert [line.split() for line in table] == [
        ["exercise", "score"],
        ["warmup1", "20", "/", "20", "solved"],
        ["warmup2", "0", "/", "26", "still", "a", "stub"],
        ["all", "20", "/", "46", "1", "of", "2", "solved"],
    ]
    assert "1 of 1 solved" not in grade("warmup1", SOLUTION)[1]


def test_json_on_standard_output_is_json_alone(grade: Grade) -> None:
    code, out, err = grade("warmup1", SOLUTION, "--json", "-")
    assert (code, err) == (0, "")
    assert json.loads(out)["score"]["solved"]
    assert not Path("-").exists()
    code, _, err = grade("warmup1", SOLUTION, "--json", "-", "--format", "junit")
    assert code == 2
    assert "both want standard output" in one_line(err)


def test_pages_say_where_they_are(grade: Grade) -> None:
    _, _, err = grade("warmup1", "--html", "mine.html")
    assert err == "wrote `mine.html`\n"
    assert "wrote `far.html`" in grade("progress", "--html", "far.html")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_list_of_commands_says_how_the_help_of_each_begins(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name][1] == first_sentence(command)


def test_page_of_commands_says_what_their_help_says() -> None:
    """Where it doesn't: ``python -m tests.support.commands``."""
    assert commands.COMMANDS_PAGE.read_text(encoding="utf-8") == commands.page()


@pytest.mark.parametrize("words", [["-h"], ["hint", "-h"], ["interview", "submit", "-h"]])
def test_short_help(grade: Grade, words: list[str]) -> None:
    code, out, _ = grade(*words)
    assert code == 0
    assert "Usage: " in out


@pytest.mark.parametrize("word", ["3", "Exercise3", "EXERCISE3"])
def test_exercises_are_understood(grade: Grade, word: str) -> None:
    assert "exercise3  exercises/variants/exercise3.py" in grade(word)[1]
    assert grade("hint", word)[1].startswith("hint 1 of ")
    assert "hint 2 of" in grade("hint", "exercise3")[1]
    assert "is not solved" in grade("solution", word)[2]
    assert "is as it was graded" in grade("diff", word)[1]


@pytest.mark.slow("a process that imports torch")
def test_next_step_fits_the_state(grade: Grade) -> None:
    assert "next: edit `exercises/warmups/warmup1.py`, then grade again" in grade("warmup1")[1]
    assert "next: edit `exercises/bugs/bug4.py`, then grade again" in grade("bug4")[1]
    mine = Path("exercises/bugs/bug4.py")
    mine.write_text(mine.read_text() + "\n# tried\n")
    assert "next: `grade hint bug4`" in grade("bug4")[1]
    for _ in range(2):
        grade("hint", "bug4")
    _, out, _ = grade("bug4", "--html", "page.html")
    assert "next: no hints left; `grade solution bug4 --reveal` shows ours" in out
    assert "no hints left" in Path("page.html").read_text(encoding="utf-8")


def test_own_kit_by_path(grade: Grade, tmp_path: Path) -> None:
    tiny = tmp_path / "tiny"
    shutil.copytree(TINY_KIT, tiny)
    code, out, err = grade("double", tiny / "solutions/basics/double.py", "--kit", tiny)
    assert code == 0, out + err
    assert "score 4 / 4" in out
    assert f"`grade solution double --kit {tiny}` for ours, `grade next --kit {tiny}`" in out
    assert one_line(err) == (
        f"grade: the kit is that in `{tiny}`, history in `{tiny}/.grade/history.sqlite`\n"
    )
    assert grade("list", "--kit", tiny)[2] == ""


def test_kit_from_elsewhere_is_said(
    grade: Grade, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert grade("list")[2] == ""
    (tmp_path / "drills/exercises/deep").mkdir()
    monkeypatch.chdir("exercises/deep")
    assert grade("list")[2] == ""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    elsewhere = replace(installed_kit(), own_stubs=False, home=home / "kit")
    monkeypatch.setattr("grader.cli.names.load_kit", lambda _: elsewhere)
    monkeypatch.setenv("HOME", str(home))
    own = "; `grade init drills` makes a folder of your own"
    assert one_line(grade("list")[2]) == f"grade: the kit is that in `{home}/kit`{own}\n"
    said = one_line(grade("hint", "exercise3")[2])
    assert f"history in `{home}/.config/attention-drills/history.sqlite`{own}" in said


def test_broken_suite_is_not_the_learners_fault(grade: Grade) -> None:
    tiny = TINY_KIT
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
    assert "none of ours: set aside as `history.sqlite.damaged-" in one_line(err)
    assert list(Path(".grade").glob("history.sqlite.damaged-*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["exercize3"], "there is no exercise `exercize3`; did you mean `exercise3`?"),
        (["exercise3", "nowhere.py"], "`nowhere.py` cannot be read: no such file or directory"),
        (["exercise3", "exercises/"], "`exercises` is a folder; name the Python file to grade"),
        (["exercise3", "./fifo"], "`fifo` is not a regular file; name the Python file to grade"),
        (["exercise3", "./socket"], "cannot be read"),
        (["exercise3", "./unread"], "`unread` cannot be read: "),
        (["exercise3", "utf16.py"], "`utf16.py` is not UTF-8 (byte 0 is 0xff); save it as UTF-8"),
        (["exercise3", "big.py"], "`big.py` is larger than 128 KiB"),
        (["mine.py"], "`mine.py` does not say which exercise it is"),
        (["hint", "exercise33"], "did you mean `exercise3`?"),
        (["wach"], "there is no command or exercise `wach`; did you mean `grade watch`?"),
        (["99"], "there is no exercise `99`"),
        (["list", "--kit", "exercises"], "`exercises` is not a kit"),
        (["init", "."], "`exercises` already exists"),
    ],
)
def test_bad_input_is_one_clear_line(grade: Grade, words: list[str], message: str) -> None:
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    Path("utf16.py").write_text("x = 1", encoding="utf-16")
    Path("big.py").write_bytes(b"#" * 50_000_000)
    Path("mine.py").touch()
    Path("unread").symlink_to("/proc/self/mem")
    code, _, err = grade(*words)
    assert code == 2
    assert message in one_line(err)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class SelfAttentionV1(:\n", "work.py:1: does not parse"),
        ("import json.nowhere\nclass SelfAttentionV1: pass\n", "work.py:1: does not import"),
        ("class Other: pass\n", "defines no class `SelfAttentionV1`; it has `Other`"),
        ("\x00", "does not parse"),
    ],
)
def test_file_that_cannot_be_tried_is_said_once(
    grade: Grade, source: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("work.py").write_text(source)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    code, out, err = grade("exercise1", "work.py")
    assert code == 1, err
    assert out.count(message) == 1, out
    begin, *lines, end = out.splitlines()
    assert len(lines) <= 6
    assert end == f"::{begin.removeprefix('::stop-commands::')}::"  # no line between is a command


@pytest.mark.slow("a process that imports torch")
def test_wrong_constructor_and_no_module_are_clear(grade: Grade) -> None:
    work = Path("work.py")
    work.write_text("class SelfAttentionV1:\n    def __init__(self, hidden_dim): pass\n")
    out = grade("exercise1", "work.py")[1]
    assert out.count("gives an object of type `SelfAttentionV1`, not an `nn.Module`") == 1, out
    work.write_text("from torch import nn\nclass SelfAttentionV1(nn.Module):\n    pass\n")
    out = grade("exercise1", "work.py")[1]
    assert "unexpected keyword argument 'hidden_dim'" in out
    assert "grader/" not in out


@pytest.mark.slow("a process that imports torch")
def test_declared_encoding_is_read(grade: Grade) -> None:
    text = SOLUTION.read_text(encoding="utf-8").replace("ᵀ", "T").replace("·", "*")
    for declared in ("latin-1", "cp1252"):
        Path("work.py").write_bytes(f"# -*- coding: {declared} -*-\n# é\n{text}".encode(declared))
        assert grade("warmup1", "work.py")[0] == 0
    Path("work.py").write_bytes(f"#!/usr/bin/python\n# coding=gbk\n# 注意\n{text}".encode("gbk"))
    assert grade("warmup1", "work.py")[0] == 0
    Path("work.py").write_bytes(b"x = 1\n# coding: latin-1\n# \xe9\n")
    assert "is not UTF-8 (byte 26 is 0xe9)" in one_line(grade("warmup1", "work.py")[2])
    for declared in ("punycode", "no-such", "zlib", "undefined", "utf-16"):
        Path("work.py").write_text(f"# coding: {declared}\n")
        assert f"declares the encoding `{declared}`" in one_line(grade("warmup1", "work.py")[2])
    Path("work.py").write_text(f"# coding: {'a' * 400_000}\n")
    assert len(one_line(grade("warmup1", "work.py")[2])) < 300
    Path("work.py").write_bytes(b"# coding: ascii\n# \xe9\n")
    assert "declares the encoding `ascii` and is not in it" in grade("warmup1", "work.py")[2]


def test_missing_device_is_usage(grade: Grade) -> None:
    code, _, err = grade("warmup1", SOLUTION, "--device", "mps")
    assert code == 2
    assert "no device `mps` that torch can use; it has `cpu`" in one_line(err)


def test_name_that_is_not_utf_8_is_shown_as_far_as_it_can_be(grade: Grade, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"mine\xff.py")
    odd.write_text(SOLUTION.read_text(encoding="utf-8"), encoding="utf-8")
    code, out, _ = grade("warmup1", odd, "--json", "report.json", "--html", "report.html")
    assert code == 0
    assert r"mine\xff.py" in out
    assert json.loads(Path("report.json").read_text())["submission"].endswith(r"mine\xff.py")


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


def test_report_is_printed_where_python_is_told_to_print_ascii(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, *COMMAND, "mistakes", "never-scaled"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env=env,
    )
    assert done.returncode == 0, done.stderr
    assert "█" in done.stdout.decode()


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
