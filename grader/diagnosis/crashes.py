"""What an exception of a submission means, in plain words; from ``crashes.toml``."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import re
import sys
import tomllib
from pathlib import Path

import msgspec
from torch import Tensor

from grader.records import Fault
from grader.submission import SourceProblem, Submission, parse

# What is compared to find what was meant, which takes the product of the lengths for each pair.
MAX_NAME = 40  # characters
MAX_NAMES = 500  # of a file's own


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
    near = _nearest(found.group(1), found.group(2), source) if "{near}" in crash.says else ""
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


@functools.lru_cache(maxsize=64)  # one exception fails many checks
def _nearest(owner: str, name: str, source: str) -> str:
    """The end of a sentence about a name that does not exist: what may have been meant."""
    known = [word for word in _known(owner, source) if word != name and len(word) <= MAX_NAME]
    near = difflib.get_close_matches(name[: MAX_NAME + 1], known, n=3, cutoff=0.65)
    return f": did you mean {' or '.join(f'`{word}`' for word in near)}?" if near else "."


def _known(owner: str, source: str) -> list[str]:
    """Names that something has, each once; of a file's own not more than a person would write."""
    if owner == "Tensor":
        return [word for word in dir(Tensor) if not word.startswith("_")]
    if owner.startswith("torch"):  # in a message anything may stand: nothing is imported for it
        module = sys.modules.get(owner)
        return [word for word in getattr(module, "__dict__", ()) if not word.startswith("_")]
    attributes, names = _own_names(source)
    return list(attributes if owner else dict.fromkeys((*names, *dir(builtins))))


@functools.lru_cache(maxsize=1)
def _own_names(source: str) -> tuple[list[str], list[str]]:
    """What a file assigns to attributes, with its methods; and what it calls by a bare name."""
    try:
        tree = parse(Submission(Path(), source))
    except SourceProblem:
        return [], []
    attributes: dict[str, None] = {}
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                attributes[name] = None
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ClassDef(name=name):
                names[name] = None
            case ast.FunctionDef(name=name):
                attributes[name] = names[name] = None
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= dict.fromkeys(alias.asname or alias.name for alias in aliases)
    return list(attributes)[:MAX_NAMES], list(names)[:MAX_NAMES]
