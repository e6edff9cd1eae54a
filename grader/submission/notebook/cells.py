"""Read the code cells of a notebook, and join them to one source."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from pathlib import PurePath

import msgspec

from grader.errors import GradeError
from grader.submission.notebook.magics import plain_python
from grader.submission.source import MAX_SOURCE_BYTES
from grader.wire.plain import with_newlines

MAX_CODE_JSON_BYTES = (
    4 * MAX_SOURCE_BYTES
)  # of code cells; JSON is 1 to 2 times as long as the code
MAX_CELLS = 10_000


class _Cell(msgspec.Struct, gc=False):
    """The fields read of a cell; its text is not decoded until its length is known."""

    cell_type: str
    source: msgspec.Raw = msgspec.Raw(b'""')
    input: msgspec.Raw = msgspec.Raw()  # the source, before version 4


class _Worksheet(msgspec.Struct, gc=False):
    cells: list[_Cell]


class _Notebook(msgspec.Struct):
    nbformat: int
    cells: list[_Cell] = []
    worksheets: list[_Worksheet] = []  # before version 4


def read_cells(data: bytes, path: PurePath) -> list[str]:
    """Return the text of each code cell, in the notebook's order.

    Outputs are skipped, not decoded: a file crafted for it would take fifty times its size in
    memory. Only two fields of a cell are left, so no library beyond JSON is needed to read it.

    Args:
        data: The file's JSON, in UTF-8, of version 2 or later of the format.
        path: The file, as messages name it.

    Raises:
        GradeError: The file is not a notebook, or holds no code cell or too much code.
    """
    try:
        text = memoryview(data)[len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0 :]
        notebook = msgspec.json.decode(text, type=_Notebook)
        sheets = [notebook.cells, *(sheet.cells for sheet in notebook.worksheets)]
        cells = [cell for sheet in sheets for cell in sheet if cell.cell_type == "code"]
        raws = [cell.input or cell.source for cell in cells]
        if (
            len(raws) > MAX_CELLS
            or sum(memoryview(raw).nbytes for raw in raws) > MAX_CODE_JSON_BYTES
        ):
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
    texts = [with_newlines("".join(code)) for code in codes]
    if sum(len(text.encode()) for text in texts) > MAX_SOURCE_BYTES:
        raise too_much_code(path)  # before anybody looks for magics, for which a cell is parsed
    return texts


def too_much_code(path: PurePath) -> GradeError:
    """Return the error to raise for a notebook with too much code."""
    return GradeError(
        f"`{path}` holds more than {MAX_SOURCE_BYTES >> 10} KiB of code; a submission is short"
    )


def join_cells(cells: Iterable[str | None]) -> tuple[str, tuple[int, ...]]:
    """Join the Python of code cells to one source, each below a line ``# cell N``.

    Args:
        cells: The texts of the cells, in order; None for a cell left out, which takes no line.

    Returns:
        The source, and the line of it on which each cell begins; a cell left out begins where the
        next one does.
    """
    lines: list[str] = []
    starts = []
    for number, cell in enumerate(cells, 1):
        starts.append(len(lines) + 1)
        if cell is not None:
            lines += [f"# cell {number}", *plain_python(cell).removesuffix("\n").split("\n")]
    return "\n".join(lines) + "\n", tuple(starts)
