"""``%%grade`` in a real kernel."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

from grader.cli import run_command
from grader.kit import installed_kit, load_kit
from grader.kit.stubs import digest
from grader.practice.history import open_history
from grader.records import Report
from grader.submission.notebook.kernel import submission_from

KERNEL = "this-python"  # the one that runs the tests
SOLUTION = installed_kit().find("warmup1").solution.read_text(encoding="utf-8")
IMPORTS, RIGHT = SOLUTION.split("def ")[0], "def " + SOLUTION.split("def ")[1]
SLOW = RIGHT.replace("    scores =", "    while True: pass\n    scores =")
DOUBLE = "def double(x):\n    return 2 * x\n"


@pytest.fixture(scope="module")
def drills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A learner's folder, and a place for what Jupyter writes."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(home / "ipython"))
        patch.setenv("JUPYTER_RUNTIME_DIR", str(home / "runtime"))
        patch.setenv("JUPYTER_PLATFORM_DIRS", "1")
        patch.setenv("JUPYTER_PATH", str(home / "share"))
        write_kernel_spec(home / "share" / "kernels" / KERNEL)
        assert run_command(["init", str(home / "drills")]) == 0
        yield home / "drills"


def solved(text: str) -> bool:
    """Whether a report as text shows every point."""
    return re.search(r"^score (\d+) / \1 ", text, re.MULTILINE) is not None


class Ran:
    """What came of the cells of a notebook, by their first lines."""

    def __init__(self, notebook: nbformat.NotebookNode) -> None:
        self.cells = {cell.source.partition("\n")[0]: cell.outputs for cell in notebook.cells}

    def shown(self, cell: str, form: str) -> str:
        """The one report below a cell, in one of its forms."""
        (output,) = [o for o in self.cells[cell] if o.output_type == "display_data"]
        return str(output.data[form])

    def said(self, cell: str) -> str:
        """What a cell wrote to standard error, when that is all there is of it."""
        (output,) = self.cells[cell]
        assert (output.output_type, output.name) == ("stream", "stderr"), output
        return str(output.text)


CELLS = [
    "import time, torch",
    "%load_ext grader",
    f"{IMPORTS}\nfactor = 1",
    "%%grade warmup1 --seed 1\n" + RIGHT.replace("softmax(dim=-1)", "softmax(dim=-2)"),
    "%%grade warmup1 --seed 2\n" + RIGHT.replace("x @", "factor * x @") + "\nprint('ran')",
    "assert self_attention(torch.eye(2)[None]).shape == (1, 2, 2)",
    "%%grade warmup1 --seed 3\n" + RIGHT.replace("softmax", "sofmax"),
    "%%grade warmup1 --seed 4 --explain nothing --map --device cpu\n" + RIGHT,
    "%%grade warmup9\nneither = 1",
    "%%grade warmup1 --seed x\nneither = 1",
    "%%grade warmup1 'x\nneither = 1",
    "%%grade --help\nneither = 1",
    "neither",
    "%%grade warmup1 --seed 5\nx = (",
    "%%grade warmup1 --seed 6\n" + RIGHT + "\nraise RuntimeError('mine')",
    "torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)",
    "%%grade warmup1 --seed 7\n" + RIGHT,
    "print(torch.get_default_dtype(), torch.is_grad_enabled())",
    "%unload_ext grader",
    "%%grade warmup1 --seed 8\n" + RIGHT,
]


@pytest.fixture(scope="module")
def ran(drills: Path) -> Ran:
    """A notebook that was run in that folder."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    NotebookClient(
        notebook,
        kernel_name=KERNEL,
        allow_errors=True,
        timeout=120,
        resources={"metadata": {"path": str(drills)}},
    ).execute()
    return Ran(notebook)


@pytest.mark.slow("a kernel that imports torch")
def test_report_is_shown_as_html_and_as_text(ran: Ran) -> None:
    text = ran.shown("%%grade warmup1 --seed 1", "text/plain")
    assert re.search(r"fail +0/\d+  \d+ checks fail for this reason", text), text
    assert "softmax runs over the queries" in text
    assert "seed 1 · cpu" in text
    assert "\x1b" not in text
    html = ran.shown("%%grade warmup1 --seed 1", "text/html")
    assert "softmax runs over the queries" in html
    assert "output matches the formula" in html


@pytest.mark.slow("a kernel that imports torch", always=True)
def test_cell_runs_as_ever_and_is_graded_with_what_it_needs(ran: Ran) -> None:
    cell = "%%grade warmup1 --seed 2"
    assert ran.cells[cell][0].text == "ran\n"
    assert solved(ran.shown(cell, "text/plain"))
    assert ran.cells["assert self_attention(torch.eye(2)[None]).shape == (1, 2, 2)"] == []


def test_line_is_named_as_the_notebook_numbers_it(ran: Ran) -> None:
    text = ran.shown("%%grade warmup1 --seed 3", "text/plain")
    line = ("%%grade\n" + RIGHT).split("\n").index("    weights = scores.softmax(dim=-1)") + 1
    assert f"notebook cell 7:{line} in self_attention: weights = scores.sofmax" in text, text
    assert "did you mean `softmax`" in text


def test_options_are_those_of_the_command(ran: Ran) -> None:
    cell = "%%grade warmup1 --seed 4 --explain nothing --map --device cpu"
    assert "attention without a mask" in ran.shown(cell, "text/plain")
    assert "--explain" in ran.cells["%%grade --help"][0].text


def test_wrong_words_are_one_line_and_run_nothing(ran: Ran) -> None:
    said = ran.said("%%grade warmup9")
    assert said == "grade: there is no exercise `warmup9`; did you mean `warmup4`?\n"
    assert ran.said("%%grade warmup1 --seed x").startswith("grade: Invalid value for '--seed'")
    assert ran.said("%%grade warmup1 'x") == "grade: No closing quotation in `warmup1 'x`\n"
    assert ran.cells["neither"][0].ename == "NameError"


def test_cell_that_does_not_parse_is_not_graded(ran: Ran) -> None:
    (output,) = ran.cells["%%grade warmup1 --seed 5"]
    assert output.ename in ("SyntaxError", "_IncompleteInputError")  # the latter from 3.13 on


@pytest.mark.slow("a kernel that imports torch")
def test_cell_that_raises_is_graded_all_the_same(ran: Ran) -> None:
    cell = "%%grade warmup1 --seed 6"
    assert ran.cells[cell][0].evalue == "mine"
    assert solved(ran.shown(cell, "text/plain"))


def test_what_the_notebook_sets_for_torch_stays_out_of_it(ran: Ran) -> None:
    assert solved(ran.shown("%%grade warmup1 --seed 7", "text/plain"))
    (output,) = ran.cells["print(torch.get_default_dtype(), torch.is_grad_enabled())"]
    assert output.text == "torch.float64 False\n"


def test_unloaded_extension_is_gone(ran: Ran) -> None:
    assert ran.cells["%unload_ext grader"] == []
    assert "Cell magic `%%grade` not found" in ran.said("%%grade warmup1 --seed 8")


def test_gradings_are_recorded_as_the_learners_own(ran: Ran, drills: Path) -> None:
    with open_history(load_kit(drills)) as history:
        past = history.gradings("warmup1")
        assert history.solved() == {"warmup1"}
    assert [grading.solved for grading in past] == [False, True, False, True, True, True]
    first = RIGHT.replace("softmax(dim=-1)", "softmax(dim=-2)")
    assert past[0].digest == digest(first.encode())


class Kernel:
    """A kernel that can be interrupted."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client

    def run(self, cell: str, interrupt_after: float | None = None) -> str:
        """What a cell wrote and showed as text."""
        number = self._client.execute(cell)
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            self._manager.interrupt_kernel()
        said: list[str] = []
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=120 if interrupt_after is None else 60)
            except Empty:  # a busy machine had not begun with the cell
                self._manager.interrupt_kernel()
                continue
            content: dict[str, Any] = message["content"]
            if message["parent_header"].get("msg_id") != number:
                continue
            if content.get("execution_state") == "idle":
                return "".join(said)
            data = content.get("data", {}).get("text/plain", "")
            said.append(content.get("text", "") + data + content.get("ename", ""))


@pytest.fixture(scope="module")
def kernel(drills: Path) -> Iterator[Kernel]:
    manager = KernelManager(kernel_name=KERNEL)
    manager.start_kernel(cwd=str(drills))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)
        made = Kernel(manager, client)
        made.run(f"%load_ext grader\nimport grader.magic\n{IMPORTS}")
        yield made
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.slow("a kernel that imports torch")
@pytest.mark.parametrize("seconds", [0.3, 1.0, 4.0])
def test_interrupt_stops_a_grading_and_nothing_else(kernel: Kernel, seconds: float) -> None:
    said = kernel.run(f"%%grade warmup1\n{SLOW}", interrupt_after=seconds)
    assert said == "stopped\n"
    assert kernel.run("1 + 1") == "2"
    assert solved(kernel.run(f"%%grade warmup1\n{RIGHT}"))


def test_interrupt_of_the_cell_itself_is_the_kernels(kernel: Kernel) -> None:
    said = kernel.run("%%grade warmup1\nwhile True: pass", interrupt_after=1.0)
    assert said == "KeyboardInterrupt"


@pytest.mark.slow("a kernel that imports torch")
def test_endless_loop_is_a_timeout(kernel: Kernel) -> None:
    said = kernel.run(f"%%grade warmup1 --timeout 2\n{SLOW}")
    assert "the submission took too long and was stopped" in said, said


def test_sandbox_is_kept_between_gradings(kernel: Kernel) -> None:
    ask = "[p for p in __import__('psutil').Process().children() if 'worker' in str(p.cmdline())]"
    cell = f"%%grade warmup1 --timeout 2\n{RIGHT}"
    assert solved(kernel.run(cell))  # what a test before this one has stopped is started again
    before = kernel.run(ask)
    assert solved(kernel.run(cell))
    assert kernel.run(ask) == before
    assert before.count("psutil.Process") == 1


def test_package_itself_loads_nothing_heavy() -> None:
    names = "('IPython', 'torch', 'pytest', 'rich', 'jinja2')"
    code = f"import sys, grader, grader.cli; print([m for m in {names} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_cell_is_graded_with_what_it_needs_of_earlier_ones() -> None:
    cell = "%%grade double\nfrom math import pi\ndouble = lambda x: (n, torch, pi)\nprint(1)"
    ran = ["import os", "import torch\nx = (", "import torch", "n = 1", "n = 2\n!ls", "!ls", cell]
    submission = submission_from(ran, cell, ["double"])
    assert submission.source == (
        "# cell 3\nimport torch\n# cell 5\nn = 2\npass  # !ls\n"
        "# cell 7\n# %%grade double\n" + cell.partition("\n")[2] + "\n"
    )
    report = Report(
        "double", "notebook", "0", (), 1, "cpu", "full", "now", 0.0, {}, cells=submission.cells
    )
    assert [report.place(line) for line in (2, 4, 8)] == [
        "notebook cell 3:1", "notebook cell 5:1", "notebook cell 7:2",
    ]  # fmt: skip


def test_cell_stands_alone_where_nothing_is_asked_for() -> None:
    cell = "%%grade double\nx = 1"
    assert submission_from(["y = 1", cell], cell, ["double"]).source == (
        "# cell 2\n# %%grade double\nx = 1\n"
    )
    assert submission_from(["y = 1", "f()"], cell, ["double"]).cells == (1, 1, 1)
    assert submission_from([], cell, ["double"]).cells == (1,)


def test_oldest_cells_give_way_to_a_mebibyte() -> None:
    long = "# " + "x" * 700_000
    cell = "%%grade double\n" + DOUBLE.replace("2", "n + m")
    source = submission_from([f"n = 1\n{long}", f"m = 2\n{long}", cell], cell, ["double"]).source
    assert "m = 2" in source
    assert "n = 1" not in source
