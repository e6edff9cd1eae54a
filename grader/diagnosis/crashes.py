"""What an exception of a submission means, in plain words; from ``crashes.toml``."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from grader.records import Fault


class Crash(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known exception."""

    name: str
    type: str
    message: str
    says: str
    line: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    crash: list[Crash]


@functools.cache
def crashes() -> tuple[Crash, ...]:
    """All known exceptions, the more special first."""
    text = Path(__file__).with_name("crashes.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(tomllib.loads(text), _File).crash)


def explain_crash(fault: Fault, source: str) -> str:
    """A sentence that says what an exception means; empty where none is known.

    Args:
        fault: What the submission raised.
        source: Of the submission.
    """
    known = find_crash(fault)
    if known is None:
        return ""
    crash, found = known
    near = _nearest(found, source) if "{near}" in crash.says else ""
    return crash.says.format(found.group(), *found.groups(), near=near)


def find_crash(fault: Fault) -> tuple[Crash, re.Match[str]] | None:
    """The known exception that this is, and what was found in its message."""
    line = fault.frames[-1].source if fault.frames else ""
    for crash in crashes():
        if crash.type == fault.type and (not crash.line or re.search(crash.line, line)):
            found = re.search(crash.message, fault.message)
            if found:
                return crash, found
    return None


def _nearest(found: re.Match[str], source: str) -> str:
    """The end of a sentence about a name that does not exist: what may have been meant."""
    owner, name = found.group(1), found.group(2)
    known = [word for word in _known(owner, source) if word != name]
    near = difflib.get_close_matches(name, dict.fromkeys(known), n=3, cutoff=0.65)
    return f": did you mean {' or '.join(f'`{word}`' for word in near)}?" if near else "."


def _known(owner: str, source: str) -> list[str]:
    if owner == "Tensor":
        return [word for word in dir(Tensor) if not word.startswith("_")]
    if owner.startswith("torch"):
        module: Any = torch
        for part in owner.split(".")[1:]:
            module = getattr(module, part, None)
        return [word for word in dir(module) if not word.startswith("_")]
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []
    if owner:  # what the file assigns to self, and its methods
        return [
            *(n.attr for n in nodes if isinstance(n, ast.Attribute) and _is_set(n)),
            *(n.name for n in nodes if isinstance(n, ast.FunctionDef)),
        ]
    return [
        *(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)),
        *(n.arg for n in nodes if isinstance(n, ast.arg)),
        *(
            a.asname or a.name
            for n in nodes
            if isinstance(n, ast.Import | ast.ImportFrom)
            for a in n.names
        ),
        *(n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)),
        *dir(builtins),
    ]


def _is_set(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)
