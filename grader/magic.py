"""``%load_ext grader``, then ``%%grade exercise3`` as the first line of a notebook's cell.

The suites run in the notebook's own process, beside what the learner does there, so the score is
for the learner's eyes only. ``grade exercise3 work.ipynb`` gives a score that can be trusted.
"""

from __future__ import annotations

import atexit
import shlex
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import click
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from grader.cli.names import ExerciseName, kit_in_use
from grader.cli.options import wants_cuda, warn_of_untried_versions
from grader.cli.run import record_in_history, run
from grader.cli.saying import complain
from grader.errors import GradeError
from grader.records import Report
from grader.sandbox.process import Sandbox
from grader.submission.notebook.kernel import submission_from
from grader.wire.levels import Limits, limits_for

if TYPE_CHECKING:
    from grader.kit import Exercise
    from grader.submission import Submission

MAGIC = "grade"
OPTIONS_OF_RUN = {"device", "seed", "timeout", "explain", "maps"}  # as `grade run` has them
STOP_TIMEOUT_S = 5.0  # an interrupt waits so long for a grading to end


class NotebookGrader:
    """Grades cells of one kernel, in a sandbox that stays warm between them.

    Args:
        shell: The kernel's shell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._limits = Limits()
        self._sandbox: Sandbox | None = None
        # A grading has a thread of its own: an interrupt, which comes to the main thread, then
        # leaves no request half done.
        self._thread = ThreadPoolExecutor(1)
        atexit.register(self.close)

    def close(self) -> None:
        """End the sandbox."""
        if self._sandbox is not None:
            self._sandbox.close()
            self._sandbox = None

    def grade_cell(self, line: str, cell: str) -> None:
        """Run this cell, then grade it, and show the report below it.

        What it needs of the cells that ran before it, such as imports, is graded with it. The
        report calls a cell by the number that stands before it.

        Example: %%grade exercise3 --seed 1 --map
        All options: %%grade --help
        """
        try:
            chosen = COMMAND.main(_split_arguments(line), f"%%{MAGIC}", standalone_mode=False)
            if isinstance(chosen, dict):  # else its help was shown
                self._run_and_grade(line, cell, **chosen)
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
        except click.ClickException as error:
            complain(error.format_message())
        except GradeError as error:
            complain(str(error))

    def _run_and_grade(self, line: str, cell: str, exercise: str, **options: Any) -> None:
        kit = kit_in_use(None, keeps_history=True)
        asked = kit.find(exercise)
        # The sandbox gets ready while the cell runs.
        sandbox = self._started(options["timeout"], options["device"])
        ran = self._shell.run_cell(cell)
        if ran.error_before_exec or isinstance(ran.error_in_exec, KeyboardInterrupt):
            return  # the shell has shown the error
        assert self._shell.history_manager is not None
        cells = self._shell.history_manager.input_hist_raw[1:]
        submission = submission_from(cells, f"%%{MAGIC} {line}\n{cell}", asked.entry_points)
        grading = self._thread.submit(_grade, submission, asked, options, sandbox)
        try:
            report = grading.result()
        except KeyboardInterrupt:
            if not grading.cancel():
                sandbox.stop.set()
                wait([grading], STOP_TIMEOUT_S)
            raise
        except Exception:
            self.close()
            raise
        _show(report, submission.source)
        record_in_history(report, kit, cell, own=True)

    def _started(self, timeout: float, device: str) -> Sandbox:
        limits, on_gpu = limits_for(timeout), wants_cuda(device)
        if self._sandbox is not None and (limits, on_gpu) != (self._limits, self._sandbox.on_gpu):
            self.close()
        if self._sandbox is None:
            warn_of_untried_versions()
            self._sandbox = Sandbox(limits=limits, on_gpu=on_gpu)
            self._limits = limits
        return self._sandbox


COMMAND = click.Command(
    f"%%{MAGIC}",
    params=[
        click.Argument(["exercise"], type=ExerciseName()),
        *(option for option in run.params if option.name in OPTIONS_OF_RUN),
    ],
    callback=lambda **chosen: chosen,
)


def _grade(
    submission: Submission, asked: Exercise, options: dict[str, Any], sandbox: Sandbox
) -> Report:
    """Grade with torch's initial default dtype, whatever default the notebook has set."""
    sandbox.stop.clear()
    import torch

    from grader.grading import Options, grade

    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        return grade(submission, asked, Options(**options), sandbox)
    finally:
        torch.set_default_dtype(dtype)


def _split_arguments(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise click.UsageError(f"{error} in `{line}`") from None


def _show(report: Report, source: str) -> None:
    """Show a report as HTML and as plain text, of which the front end picks one."""
    from grader.outputs.html import report_fragment
    from grader.outputs.plain import plain_text
    from grader.outputs.terminal import render_report

    text = plain_text(render_report(report))
    display({"text/html": report_fragment(report, source), "text/plain": text}, raw=True)


def load(shell: InteractiveShell) -> None:
    """Register the cell magic with a shell."""
    shell.magics_manager.register_function(NotebookGrader(shell).grade_cell, "cell", MAGIC)


def unload(shell: InteractiveShell) -> None:
    """Remove the cell magic from a shell, and end its sandbox."""
    magic = shell.magics_manager.magics["cell"].pop(MAGIC, None)
    if magic is not None:
        magic.__self__.close()
        atexit.unregister(magic.__self__.close)
