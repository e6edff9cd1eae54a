"""A notebook as a submission: its cells, its magics, and what of it is run."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.cli import run_command
from grader.errors import GradeError
from grader.grading import Options, grade
from grader.kit import Kit, installed_kit
from grader.records import Explain, Report, Verdict
from grader.sandbox.process import Sandbox
from grader.submission import SourceProblem, Submission, parse, read_submission
from grader.submission.notebook.cells import join_cells
from grader.submission.notebook.slicing import only_needed
from tests.support.paths import TINY_KIT

DOUBLE = "def double(x):\n    return 2 * x\n"


def code(source: str | list[str], **more: Any) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, **more}


def written(path: Path, *cells: dict[str, Any] | str, **more: Any) -> Path:
    """A notebook file of these cells."""
    whole = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    path.write_text(json.dumps({"nbformat": 4, "cells": whole, **more}), encoding="utf-8")
    return path


def joined(*cells: str) -> Submission:
    return Submission(Path("work.ipynb"), *join_cells(cells))


def kept(submission: Submission, *entry_points: str) -> list[str]:
    """The lines that are run."""
    lines = only_needed(submission, entry_points or ("double",)).source.split("\n")
    assert len(lines) == len(submission.source.split("\n"))
    return [line for line in lines if line]


# --- the file


def test_code_cells_are_joined_in_order(tmp_path: Path) -> None:
    path = written(
        tmp_path / "work.ipynb",
        {"cell_type": "markdown", "source": "# Attention"},
        code("import torch\nx = 1", metadata={}, outputs=[{"data": "x"}], execution_count=7),
        {"cell_type": "raw", "source": "no code"},
        code(["def double(x):\n", "    return 2 * x"], id="a"),
        code("", id="a"),
        {"cell_type": "code"},
    )
    submission = read_submission(path)
    assert submission.source == (
        "# cell 1\nimport torch\nx = 1\n"
        "# cell 2\ndef double(x):\n    return 2 * x\n# cell 3\n\n# cell 4\n\n"
    )
    assert submission.cells == (1, 4, 7, 9)
    assert submission.name == "work.ipynb"


def test_older_versions_and_odd_bytes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "WORK.IPYNB"
    sheet = {
        "cells": [{"cell_type": "code", "input": ["x = 1\r\n", "y = 'ä'"], "language": "python"}]
    }
    text = json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [sheet]}, ensure_ascii=False)
    path.write_text(text, encoding="utf-8-sig")
    assert read_submission(path).source == "# cell 1\nx = 1\ny = 'ä'\n"


def test_outputs_may_be_large(tmp_path: Path) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "iVBO" * (4 << 20)}}
    path = written(tmp_path / "work.ipynb", code(DOUBLE, outputs=[picture]))
    assert path.stat().st_size > 16 << 20
    assert read_submission(path).source == "# cell 1\n" + DOUBLE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a notebook: Input data was truncated"),
        ("def double(x):\n", "is not a notebook: JSON is malformed"),
        ("[]", "is not a notebook: Expected `object`, got `array`"),
        ("{}", "is not a notebook: Object missing required field `nbformat`"),
        ('{"nbformat": "4"}', "is not a notebook: Expected `int`, got `str`"),
        ('{"nbformat": 4}', "holds no code cell; write the exercise in one"),
        ('{"nbformat": 4, "cells": {}}', "is not a notebook: Expected `array`, got `object`"),
        ('{"nbformat": 4, "cells": [3]}', "is not a notebook: Expected `object`, got `int`"),
        ('{"nbformat": 4, "cells": [{"source": ""}]}', "missing required field `cell_type`"),
        ('{"nbformat": 4, "cells": [{"cell_type": "markdown"}]}', "holds no code cell"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": 3}]}', "Expected `str | arr"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": [3]}]}', "Expected `str`"),
        (
            '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "\\ud800xxxxxx"}]}',
            "is not a notebook: JSON is malformed: unexpected end of hex escape",
        ),
        ('{"nbformat": 4, "a": ' + "[" * 100_000, "is not a notebook: it is nested too deeply"),
        (
            '{"nbformat": 4, "cells": [{"cell_type": "code", "source": '
            + "[" * 5_000 + "]" * 5_000 + "}]}",
            "is not a notebook: ",  # too deep for one Python, no text for another
        ),
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_one_clear_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "work.ipynb"
    path.write_text(text)
    with pytest.raises(GradeError) as caught:
        read_submission(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"`{path}` ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "cells",
    [["x = 1\n" * 200_000], ["x"] * 10_001, ["'" + "ä" * 600_000 + "'"], [code([""] * 2_000_000)]],
    ids=["one long cell", "many cells", "many bytes", "many lines of nothing"],
)
def test_too_much_code_is_refused(tmp_path: Path, cells: list[Any]) -> None:
    with pytest.raises(GradeError, match="holds more than 128 KiB of code"):
        read_submission(written(tmp_path / "work.ipynb", *cells))


def test_too_large_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "work.ipynb"
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(GradeError, match="is larger than 64 MiB; clear its outputs"):
        read_submission(path)


# --- what is run


@pytest.mark.parametrize(
    ("cells", "lines"),
    [
        # The name's own definition, and nothing that only shows it.
        ([DOUBLE, "print(double(3))", "out = double(4)"], DOUBLE),
        (["import torch", "import matplotlib", DOUBLE], DOUBLE),
        # What it uses: imports, helpers, constants, those of those.
        (["N = 2", "def two():\n    return N", "def double(x):\n    return two() * x"], None),
        (["import torch.nn as nn\nimport os", "class double(nn.Module):\n    y = 1"],
         "import torch.nn as nn\nclass double(nn.Module):\n    y = 1\n"),
        (["N = 2", "def double(x, by=N):\n    return x", "N = 3"],
         "N = 2\ndef double(x, by=N):\n    return x\n"),
        (["import torch", "import torch.nn", "def double(x):\n    return torch.nn"], None),
        (["def double(x):\n    N = 2\n    return N * x", "N = 3"],
         "def double(x):\n    N = 2\n    return N * x\n"),
        (["from math import *", DOUBLE], None),
        # Several ways to set a name.
        (["if True:\n    N = 2\nelse:\n    N = 3", "def double(x):\n    return N * x"], None),
        (["try:\n    import cuda as N\nexcept ImportError:\n    N = 2",
          "def double(x):\n    return N * x"], None),
        (["def f(): ...", "a, (b, *c) = f()\nd: int = 3\nd += 1", "double = lambda x: (b, d)"],
         None),
        (["table = {}", "for i in range(3):\n    table[i] = i", "table[3] = 2",
          "def double(x):\n    return table"], None),
        (["class A: ...", "def forward(self): ...", "A.forward = forward", "double = A"], None),
        (["with open('x') as f:\n    text = f.read()", DOUBLE], DOUBLE),
        # The last definition counts, with what it takes from an earlier one.
        (["def double(x):\n    return scaled_dot_product_attention(x)", DOUBLE], DOUBLE),
        (["class double(nn.module): ...",
          "class double:\n    def f(self): super(double, self)"],
         "class double:\n    def f(self): super(double, self)\n"),
        (["class double: ...", "class double(double): ..."], None),
        (["N = 1", "def f(): return N", "T = f()", "N = 2", "def double(x): return T"],
         "N = 1\ndef f(): return N\nT = f()\ndef double(x): return T\n"),
        (["N = 1", "def f(): return N", "T = f()", "N = 2", "def double(x): return f(T)"], None),
        (["N = 1", "N = 2", "def double(x): return N"], "N = 2\ndef double(x): return N\n"),
        # Lines are kept or left out as a whole.
        (["print(1); N = 2; print(3)", "double = N"], None),
        (["def wrap(f):\n    return f", "@wrap\ndef double(x): ...", "print('''\n1\n''')"],
         "def wrap(f):\n    return f\n@wrap\ndef double(x): ...\n"),
    ],
)  # fmt: skip
def test_only_what_is_needed_is_run(cells: list[str], lines: str | None) -> None:
    wanted = "\n".join(cells) if lines is None else lines
    assert kept(joined(*cells)) == wanted.removesuffix("\n").split("\n")


@pytest.mark.parametrize(
    "cells",
    [["print(1)"], ["print(1)", "x = ("], [DOUBLE, "nonlocal x"]],
    ids=["no entry point", "no Python", "breaks a rule"],
)
def test_what_cannot_be_sorted_stays_whole(cells: list[str]) -> None:
    submission = joined(*cells)
    assert only_needed(submission, ["double"]) == submission


def test_plain_file_is_run_whole() -> None:
    submission = Submission(Path("work.py"), "print(1)\n" + DOUBLE)
    assert only_needed(submission, ["double"]) is submission


def test_future_import_comes_before_all_else() -> None:
    submission = joined("import os", "from __future__ import annotations", "def double(x: No): ...")
    lines = kept(submission)
    assert lines == ["from __future__ import annotations", "def double(x: No): ..."]
    compile(only_needed(submission, ["double"]).source, "work.ipynb", "exec", dont_inherit=True)


def test_hostile_notebook_is_sorted_in_time() -> None:
    chain = "".join(f"def a{i}(): return a{i + 1}, b\n" for i in range(3_000))
    many = "".join(f"b[{i}] = b, c\nc[b] = b\n" for i in range(3_000))
    assert kept(joined(chain + many, DOUBLE)) == DOUBLE.removesuffix("\n").split("\n")
    tangled = joined(chain + many, "double = a0")
    assert only_needed(tangled, ["double"]) == tangled


# --- places


def test_a_line_is_named_by_its_cell() -> None:
    report = _report("drills/work.ipynb", cells=(1, 4, 4, 9))
    places = [report.place(line) for line in (0, 1, 2, 3, 4, 5, 8, 10, 99)]
    assert [place.removeprefix("work.ipynb") for place in places] == [
        "", " cell 1:1", " cell 1:1", " cell 1:2", " cell 3:1", " cell 3:1", " cell 3:4",
        " cell 4:1", " cell 4:90",
    ]  # fmt: skip
    plain = _report("drills/exercise3.py")
    assert [plain.place(line) for line in (0, -3, 44)] == ["exercise3.py"] * 2 + ["exercise3.py:44"]
    assert Report.from_json(report.to_json()) == report


def _report(name: str, cells: tuple[int, ...] = ()) -> Report:
    return Report("double", name, "0", (), 1, "cpu", "full", "now", 0.0, {}, cells=cells)


@pytest.mark.parametrize(
    ("cell", "line", "message"),
    [
        ("x = 1\nif x:\n", 5, "expected an indented block after 'if' statement on line 2"),
        ("x = (1,\ny = 2", 4, "'(' was never closed"),
        ("y\n'''", 5, "unterminated triple-quoted string literal (detected at line 2)"),
        ("x\x00", 3, "null bytes"),
        ("(" * 300, 4, "too many nested parentheses"),
        ("@double", 4, "invalid syntax"),
        ("x = 1 \\", 4, "unexpected EOF"),
    ],
)
def test_cell_that_does_not_parse_is_named(cell: str, line: int, message: str) -> None:
    with pytest.raises(SourceProblem, match="does not parse") as caught:
        parse(joined(DOUBLE.replace("\n    ", " "), cell, "x = 3\n# '''"))
    assert message in str(caught.value)
    assert caught.value.line == line


def test_crash_and_broken_rule_name_the_cell(kit: Kit, sandbox: Sandbox) -> None:
    def graded(*cells: str) -> Report:
        options = Options(seed=1, device="cpu")
        return grade(joined(*cells), kit.find("double"), options, sandbox)

    report = graded("# a\n%time\n", "\ndef double(x):\n    return x.sofmax()")
    fault = report.checks[0].fault
    assert fault is not None
    assert report.checks[0].verdict is Verdict.ERROR
    assert report.place(fault.frames[-1].line) == "work.ipynb cell 2:3"
    assert fault.frames[-1].source == "return x.sofmax()"
    report = graded("import nowhere as n", "x = 1", DOUBLE.replace("2", "n.two"))
    assert report.place(report.problem_line) == "work.ipynb cell 1:1"
    use = "from torch.nn.functional import scaled_dot_product_attention as f\n"
    report = graded("x = 1", use + DOUBLE.replace("2 * x", "f(x)"))
    assert "which this exercise forbids" in report.problem
    assert report.place(report.problem_line) == "work.ipynb cell 2:3"
    assert graded(use + "print(f(x, x, x))", DOUBLE).solved


@pytest.mark.parametrize("name", ["warmup4", "exercise6", "bug14"])
def test_solution_in_cells_is_solved(name: str, sandbox: Sandbox) -> None:
    exercise = installed_kit().find(name)
    source = exercise.solution.read_text(encoding="utf-8")
    cells = [str(ast.get_source_segment(source, node)) for node in ast.parse(source).body]
    submission = joined("%matplotlib inline", *cells, "open('nowhere')", "import nowhere")
    report = grade(
        submission, exercise, Options(seed=1, device="cpu", explain=Explain.NOTHING), sandbox
    )
    assert report.solved, report.problem or [c for c in report.checks if not c.earned]
    assert len(report.cells) == len(cells) + 3


# --- the command


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command in an empty folder; its exit code, output and errors."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        exit_code = run_command([*words, "--kit", str(TINY_KIT)])
        return exit_code, *capsys.readouterr()

    return command


def test_notebook_with_demonstrations_is_graded(run: Callable[..., tuple[int, str, str]]) -> None:
    written(
        Path("double.ipynb"),
        "%load_ext grader\n!pip install seaborn\nimport seaborn as sns, torch",
        "def double(x):\n    raise NotImplementedError",
        "%%bash\nexit 1",
        "%%grade double\nfactor = 2\ndef double(x):\n    return factor * x",
        "sns.lineplot(double(torch.load('data.pt')))\ninput('go on?')",
        "while True:\n    loss = double(3)",
        "assert double(2) == 5",
    )
    code, out, err = run("double.ipynb")
    assert code == 0, out + err
    assert "score 4 / 4" in out


def test_notebook_of_stubs_is_still_a_stub(run: Callable[..., tuple[int, str, str]]) -> None:
    written(Path("work.ipynb"), "def double(x):\n    raise NotImplementedError", "y = double(3)")
    code, out, _ = run("double", "work.ipynb")
    assert code == 1
    assert "still a stub" in out


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["x = 1", "\ndef double(x:\n  return"], "work.ipynb cell 2:2: does not parse"),
        (["x = 1"], "work.ipynb: defines no function `double`; it has no class or function"),
        (["!ls", "def double(x):\n  return x.no"], "work.ipynb cell 2:2 in double: return x.no"),
    ],
)
def test_problem_names_its_cell(
    run: Callable[..., tuple[int, str, str]], cells: list[str], message: str
) -> None:
    written(Path("work.ipynb"), *cells)
    code, out, err = run("double", "work.ipynb", "--device", "cpu")
    assert code == 1, err
    assert out.count(message) == 1, out


def test_no_notebook_is_usage(run: Callable[..., tuple[int, str, str]]) -> None:
    Path("work.ipynb").write_text("print(1)")
    code, out, err = run("double", "work.ipynb")
    assert (code, out) == (2, "")
    where, what = err.splitlines()
    assert where.startswith("grade: the kit is that in ")
    assert what.startswith("grade: `work.ipynb` is not a notebook: ")


def test_cell_that_does_not_parse_costs_nothing_where_it_is_not_needed(
    kit: Kit, sandbox: Sandbox
) -> None:
    work = joined("this is not python !!", DOUBLE, "x\x00", "def double(x:\n    first try")
    assert grade(work, kit.find("double"), Options(seed=1, device="cpu"), sandbox).solved
