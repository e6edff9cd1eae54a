"""A notebook on disk -> its code cells, joined to one source."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from pathlib import PurePath

import msgspec

from grader.errors import GradeError
from grader.submission.notebook.magics import plain_python
from grader.submission.source import MAX_BYTES

MAX_JSON = 4 * MAX_BYTES  # that the code cells take in the file, where code is 1 to 2 times as long
MAX_CELLS = 10_000


class _Cell(msgspec.Struct, gc=False):
    """What is read of a cell; its text stays as it is in the file until its length is known."""

    cell_type: str
    source: msgspec.Raw = msgspec.Raw(b'""')
    input: msgspec.Raw = msgspec.Raw()  # the source, before version 4


class _Sheet(msgspec.Struct, gc=False):
    cells: list[_Cell]


class _Notebook(msgspec.Struct):
    nbformat: int
    cells: list[_Cell] = []
    worksheets: list[_Sheet] = []  # before version 4


def read_cells(data: bytes, path: PurePath) -> list[str]:
    """The text of each code cell, in the notebook's order.

    Outputs are skipped, not decoded: a file that was made for it would take fifty times its size
    in memory. What is left is two fields of a cell, so nothing beside JSON is needed to read it.

    Args:
        data: The file's JSON, in UTF-8, of version 2 or later of the format.
        path: The file, as messages name it.

    Raises:
        GradeError: It is not a notebook, or holds no code cell or too much code.
    """
    try:
        text = memoryview(data)[len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0 :]
        notebook = msgspec.json.decode(text, type=_Notebook)
        sheets = [notebook.cells, *(sheet.cells for sheet in notebook.worksheets)]
        cells = [cell for sheet in sheets for cell in sheet if cell.cell_type == "code"]
        raws = [cell.input or cell.source for cell in cells]
        if len(raws) > MAX_CELLS or sum(memoryview(raw).nbytes for raw in raws) > MAX_JSON:
            raise too_much_code(path)
        codes = [msgspec.json.decode(raw, type=str | list[str]) for raw in raws]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GradeError(
            f"`{path}` is not a notebook: {error}; clear its outputs and save it again"
        ) from None
    except RecursionError:
        raise GradeError(f"`{path}` is not a notebook: it is nested too deeply") from None
    if not codes:
        raise GradeError(f"`{path}` holds no code cell; write the exercise in one")
    return ["".join(code).replace("\r\n", "\n").replace("\r", "\n") for code in codes]


def too_much_code(path: PurePath) -> GradeError:
    """The error to raise for a notebook with too much code."""
    return GradeError(
        f"`{path}` holds more than {MAX_BYTES >> 10} KiB of code; a submission is short"
    )


def join_cells(cells: Iterable[str | None]) -> tuple[str, tuple[int, ...]]:
    """One source of the Python in code cells, each below a line ``# cell N``.

    Args:
        cells: Their texts in order; None for one that is left out and takes no line.

    Returns:
        The source, and the line of it on which each cell begins; one that is left out begins
        where the next does.
    """
    lines: list[str] = []
    starts = []
    for number, cell in enumerate(cells, 1):
        starts.append(len(lines) + 1)
        if cell is not None:
            lines += [f"# cell {number}", *plain_python(cell).removesuffix("\n").split("\n")]
    return "\n".join(lines) + "\n", tuple(starts)
