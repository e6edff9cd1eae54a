"""Make a Submission of a cell that a kernel has run, and of what it needs from the other cells."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from grader.submission.notebook.cells import join_cells
from grader.submission.notebook.magics import parses, plain_python
from grader.submission.notebook.slicing import needed_groups
from grader.submission.source import Submission

NOTEBOOK_PATH = Path("notebook")  # a kernel does not know the name of its file
MAX_HEADING_BYTES = 20  # of the line ``# cell N`` above a cell
MAX_CELLS_BYTES = 1 << 20  # of all cells that are read; they are the learner's own


def submission_from(ran: Sequence[str], cell: str, entry_points: Sequence[str]) -> Submission:
    """Return the submission to grade from a notebook that is running.

    Args:
        ran: Every cell that has run, in this order, including the one that asks for a grading; a
            cell that has run twice is there twice.
        cell: The cell to grade, with its magic.
        entry_points: The names that the exercise asks for.

    Returns:
        The cell to grade and those earlier ones that hold what the entry points need. Cells are
        numbered in the order in which they ran, as a kernel numbers them.
    """
    body = cell.partition("\n")[2].rstrip("\n")
    if not ran or not ran[-1].endswith(body):  # the magic was called from within another cell
        ran = [*ran, cell]
    cells = [*_usable(ran[:-1], MAX_CELLS_BYTES - len(ran[-1].encode())), ran[-1]]
    source, starts = join_cells(cells)
    groups = needed_groups(Submission(NOTEBOOK_PATH, source, starts), entry_points) or []
    needed = {bisect_right(starts, group.lines.start) for group in groups} | {len(cells)}
    kept = [text if number in needed else None for number, text in enumerate(cells, 1)]
    return Submission(NOTEBOOK_PATH, *join_cells(kept))


def _usable(cells: Sequence[str], room: int) -> list[str | None]:
    """Return the Python of each cell; None for one that does not parse or is beyond ``room`` bytes.

    The room is given to the newest cells first.
    """
    usable: list[str | None] = []
    for text in map(plain_python, reversed(cells)):
        room -= len(text.encode(errors="replace")) + MAX_HEADING_BYTES
        usable.append(text if room >= 0 and parses(text) else None)
    return usable[::-1]
