"""Builds a notebook for an exercise: its contract, its stub in a graded cell, its hints."""

from __future__ import annotations

import ast
import html
import json
import re
from pathlib import Path

from grader.errors import GradeError
from grader.kit.kits import Exercise, Kit
from grader.kit.stubs import digest, replace_file, shipped_stub
from grader.languages import say
from grader.languages.stubs import rules_of, translate_paragraphs
from grader.submission import max_bytes_of, read_bounded, without_outputs
from grader.submission.notebook.cells import read_cells

SETUP_CELL = """\
import importlib.util

if importlib.util.find_spec("grader") is None:  # in Colab, say
    %pip install -q "attention-drills @ {address}"
%load_ext grader"""
FALLBACK_ADDRESS = "git+https://github.com/YOUR-ORGANISATION/attention-drills"  # not on PyPI
ADDRESS_PATTERN = re.compile(r'(?<=attention-drills @ )[^"]*')
TRY_CELL = """\
import torch

x = torch.randn(2, 5, 8)  # (B, T, C): what does yours make of it?"""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook_file(exercise: Exercise) -> Path:
    """Return the path of the learner's notebook, beside the learner's file; it may not exist."""
    return exercise.file.with_suffix(".ipynb")


def notebook_of(exercise: Exercise) -> bytes:
    """Return an exercise's notebook as shipped, in version 4.5 of the format.

    Raises:
        GradeError: The stub is nowhere to be found.
    """
    stub = shipped_stub(exercise).decode()
    cells = [
        _markdown_cell("contract", _contract_markdown(exercise, stub)),
        _code_cell("setup", SETUP_CELL.format(address=_install_address())),
        _code_cell("stub", f"%%grade {exercise.name}\n{stub}"),
        _code_cell("try", TRY_CELL),
        _markdown_cell("hints", _hints_markdown(exercise)),
    ]
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(whole, ensure_ascii=False, indent=1) + "\n").encode()


def is_notebook_edited(exercise: Exercise) -> bool:
    """Return whether the code in the learner's notebook differs from that in one as shipped."""
    file = notebook_file(exercise)
    if not file.is_file():
        return False
    try:
        data = read_bounded(file, max_bytes_of(file))
        cells = read_cells(without_outputs(file, data), file)
    except GradeError:
        return True
    stubs = [cell for cell in cells if cell.startswith("%%grade")]
    others = [ADDRESS_PATTERN.sub("{address}", cell) for cell in cells if cell not in stubs]
    if len(stubs) != 1 or others != [SETUP_CELL, TRY_CELL]:
        return True
    return digest(stubs[0].partition("\n")[2].encode()) not in exercise.stub_digests


def put_notebook(exercise: Exercise, kit: Kit) -> Path | None:
    """Write a fresh notebook beside the learner's file.

    Returns:
        Path at which the replaced notebook is kept; None where there was none, or the same one.

    Raises:
        GradeError: The notebook cannot be written, or the stub is nowhere to be found.
    """
    file, fresh = notebook_file(exercise), notebook_of(exercise)
    return replace_file(file, fresh, kit, lambda: file.exists() and not _holds(file, fresh))


def _holds(file: Path, data: bytes) -> bool:
    """Return whether a file, which may be of any size or none that ends, holds these bytes."""
    return file.is_file() and read_bounded(file, len(data)) == data


def _install_address() -> str:
    """Return where pip installed this package from; ``FALLBACK_ADDRESS`` if that was a folder.

    Source: PEP 610
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        text = distribution("attention-drills").read_text("direct_url.json")
    except PackageNotFoundError:
        return FALLBACK_ADDRESS
    direct_url = json.loads(text or "{}")
    match direct_url:
        case {"url": str(url), **how} if url.startswith("https://"):
            match how:
                case {"vcs_info": {"vcs": tool, "commit_id": commit}}:
                    return f"{tool}+{url}@{commit}"
            return url
    return FALLBACK_ADDRESS


def _contract_markdown(exercise: Exercise, stub: str) -> str:
    """Return the Markdown of a notebook's first cell: what the exercise asks for.

    It has the title, the formula in LaTeX, the docstring of the stub without the title, and the
    rules that stand in the stub.
    """
    docstring = ast.get_docstring(ast.parse(stub)) or ""
    docstring = docstring.removeprefix(f"{exercise.title}.\n").lstrip("\n")
    text = "\n\n".join(part for part in (docstring, rules_of(stub)) if part)
    parts = [f"# {exercise.name}: {say(exercise.title)}"]
    parts += [f"$$\n{exercise.formula}\n$$"] if exercise.formula else []
    return "\n\n".join([*parts, _markdown(translate_paragraphs(text))])


def _markdown(text: str) -> str:
    """Return a docstring as Markdown, escaping characters of formulas that have a meaning there."""
    spans = re.split(r"(``.+?``)", text, flags=re.DOTALL)
    for at, span in enumerate(spans):
        spans[at] = span[1:-1] if at % 2 else re.sub(r"([\\*_$<\[])", r"\\\1", span)
    return "".join(spans)


def _hints_markdown(exercise: Exercise) -> str:
    blocks = [
        f"<details><summary>{say(f'hint {number} of {len(exercise.hints)}').capitalize()}</summary>"
        f"{html.escape(say(hint), quote=False)}</details>"
        for number, hint in enumerate(exercise.hints, start=1)
    ]
    return "\n\n".join([say("One hint at a time:"), *blocks])


def _markdown_cell(name: str, text: str) -> dict[str, object]:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": _lines(text)}


def _code_cell(name: str, text: str) -> dict[str, object]:
    outputs: dict[str, object] = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": name, "metadata": {}, "source": _lines(text), **outputs}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
