"""A failing case is a script that fails as the check did, and passes with our solution."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from grader.cli import run_command
from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.outputs.case_script import case_script
from grader.outputs.tensor_text import PACKED_SOURCE, STRIDED_SOURCE, tensor_text
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import Submission
from grader.suite.case import Case
from tests.support.answers import find

KIT = installed_kit()
CLOSE = "AssertionError: Tensor-likes are not close!"
# What is made wrong in our solution, and what the first comparison is of.
WRONG = [
    ("warmup1", "dim=-1)", "dim=-2)", "output"),
    ("exercise5", "sqrt(D)", "sqrt(C)", "output"),
    ("exercise3", "attention_mask == 0", "attention_mask != 1", "output"),
    ("exercise3", "return self.output_proj(mixed)", "return self.output_proj(mixed) * 2", "output"),
    ("exercise1", "return weights @ v", "return weights.detach() @ v", "gradient of x"),
    (
        "exercise6",
        "self.norm1 = nn.LayerNorm(embed_dim)",
        "self.norm1 = nn.LayerNorm(embed_dim, 1e-2)",
        "output",
    ),
    ("exercise6", "weights, v)  #", "weights, v.detach())  #", "gradient of"),
]


def script_of(folder: Path, file: Path, case: Case | None, exercise: str) -> Path:
    assert case is not None
    script = folder / "case.py"
    script.write_text(case_script(case, exercise, file, 3), encoding="utf-8")
    return script


def run_alone(script: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where nothing of ours can be imported."""
    code = (
        "import sys; sys.modules['grader'] = None\n"
        f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        cwd=script.parent,
        check=False,
    )


@pytest.mark.slow("each script is a process that imports torch")
@pytest.mark.parametrize(("name", "text", "instead", "what"), WRONG)
def test_script_fails_with_the_wrong_file_and_passes_with_ours(
    name: str, text: str, instead: str, what: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    solution = KIT.find(name).solution.read_text(encoding="utf-8")
    assert text in solution
    expect_script(tmp_path, sandbox, name, solution.replace(text, instead), what)


@pytest.mark.slow("each script is a process that imports torch")
def test_script_lends_weights_as_the_check_did(tmp_path: Path, sandbox: Sandbox) -> None:
    source = find(KIT.find("warmup3"), "situations/wrong_flat_weights").submission.source
    expect_script(tmp_path, sandbox, "warmup3", source, "output with weights")
    assert "torch.func.functional_call(" in (tmp_path / "case.py").read_text(encoding="utf-8")


def expect_script(folder: Path, sandbox: Sandbox, name: str, source: str, what: str) -> None:
    exercise = KIT.find(name)
    file = folder / "mine.py"
    file.write_text(source, encoding="utf-8")
    cases: list[Case | None] = []
    options = Options(seed=3, device="cpu", explain=Explain.NOTHING, case=cases.append)
    report = grade(Submission(file, file.read_text()), exercise, options, sandbox)
    script = script_of(folder, file, cases[0], name)
    assert cases[0] is not None
    assert cases[0].comparison.what.startswith(what)
    failed = next(check for check in report.checks if check.name == cases[0].check)
    assert failed.difference is not None
    wrong = run_alone(script)
    assert CLOSE in wrong.stderr, wrong.stderr
    assert f"{failed.difference.wrong} / {failed.difference.total}" in wrong.stderr
    file.write_text(exercise.solution.read_text(encoding="utf-8"), encoding="utf-8")
    right = run_alone(script)
    assert right.returncode == 0, right.stderr


TENSORS = {
    "strided": torch.randn(3, 5, 7).transpose(0, 1),
    "sliced": torch.randn(3, 10)[:, 1::2],
    "expanded": torch.randn(1, 5).expand(4, 5),
    "packed": torch.randn(40, 41),
    "packed bools": torch.rand(40, 41) > 0.5,
    "half": torch.randn(3, 2, dtype=torch.bfloat16),
    "double": torch.randn(3, 2, dtype=torch.float64),
    "integers": torch.arange(6, dtype=torch.int16).view(2, 3),
    "not finite": torch.tensor([float("inf"), -float("inf"), float("nan")]),
    "no dimension": torch.tensor(1e-30),
    "empty": torch.zeros(2, 0, 3),
    "learning": torch.randn(3, requires_grad=True),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensor_is_written_bit_by_bit(name: str) -> None:
    known = {"torch": torch, "inf": float("inf"), "nan": float("nan")}
    exec(f"import base64, zlib\n{PACKED_SOURCE}{STRIDED_SOURCE}", known)
    wanted, made = TENSORS[name], eval(tensor_text(TENSORS[name]), known)
    assert made.dtype == wanted.dtype
    assert made.stride() == wanted.stride()
    assert made.requires_grad == wanted.requires_grad
    assert torch.equal(made.isnan(), wanted.isnan())
    assert torch.equal(made.nan_to_num(), wanted.nan_to_num())


@pytest.fixture
def graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of stubs, as the current one."""
    assert run_command(["init", str(tmp_path / "drills")]) == 0
    monkeypatch.chdir(tmp_path / "drills")
    return tmp_path / "drills"


@pytest.mark.slow("each script is a process that imports torch")
def test_command_writes_the_script_or_says_why_not(
    graded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solution = KIT.find("warmup1").solution.read_text(encoding="utf-8")
    sources = {
        "wrong.py": solution.replace("dim=-1)", "dim=-2)"),
        "right.py": solution,
        "raises.py": "def self_attention(x):\n    raise ValueError(3)\n",
    }
    for name, source in sources.items():
        Path(name).write_text(source, encoding="utf-8")
    assert run_command(["run", "warmup1", "wrong.py", "--case", "case.py"]) == 1
    hostile = 'a""", open("ran", "w"), """b.py'
    assert run_command(["run", "warmup1", "wrong.py", "--case", hostile]) == 1
    run_alone(Path(hostile).absolute())
    assert not Path("ran").exists()
    assert "wrote `case.py`" in capsys.readouterr().err
    assert CLOSE in run_alone(graded / "case.py").stderr
    said = {"right.py": "nothing failed", "raises.py": "nothing was compared, since it"}
    for name, why in said.items():
        code = run_command(["run", "warmup1", name, "--case", "other.py"])
        assert code == (0 if name == "right.py" else 1)
        assert f"no case is written: {why}" in capsys.readouterr().err
        assert not Path("other.py").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bug1"], "shows where `bug1` goes wrong, which is yours to find; with `--explain cause`"),
        (["warmup1", "warmup2"], "`--case` is for one exercise"),
        (["warmup1", "work.ipynb"], "`work.ipynb` is a notebook, which a script cannot import"),
    ],
)
def test_where_no_script_can_be_is_one_clear_line(
    graded: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = {"cell_type": "code", "source": "def self_attention(x):\n    return x\n"}
    Path("work.ipynb").write_text(json.dumps({"nbformat": 4, "cells": [cell], "metadata": {}}))
    assert run_command(["run", *words, "--case", "case.py"]) == 2
    assert said in capsys.readouterr().err
    assert not Path("case.py").exists()


def test_script_never_replaces_what_is_graded(
    graded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solution = KIT.find("warmup1").solution.read_text(encoding="utf-8")
    wrong = solution.replace("dim=-1)", "dim=-2)")
    Path("mine.py").write_text(wrong)
    assert run_command(["run", "warmup1", "mine.py", "--case", "./mine.py"]) == 2
    assert "is the file that is graded" in capsys.readouterr().err
    assert Path("mine.py").read_text() == wrong
