"""Explain a submission's exceptions in plain words, by the entries of ``crashes.toml``."""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import re
import sys
from pathlib import Path

import msgspec
from torch import Tensor

from grader.diagnosis.clues import CLUES, hidden_from
from grader.diagnosis.shapes import CLUES_OF_SHAPES
from grader.diagnosis.trees import nodes_of
from grader.kit.repairs import MAX_NODES
from grader.kit.toml_files import read_toml
from grader.records import Fault
from grader.wire.plain import one_line

# Limits of the names compared to guess which was meant: a pair costs the product of its lengths.
MAX_NAME_CHARS = 40
MAX_OWN_NAMES = 500  # of a file
MAX_QUOTED_CHARS = 100  # of a message, or of the file, in an explanation
EVERY_CLUE = CLUES | CLUES_OF_SHAPES


class KnownException(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known exception, and what it means.

    Attributes:
        name: Name of the entry.
        type: Type of the exception.
        message: Regular expression to be found in its message.
        says: The explanation, in which ``{clue}``, ``{1}`` or ``{near}`` stands for what was found.
        line: Regular expression to be found in the failing line; empty for any line.
        clue: Key in ``EVERY_CLUE`` of what must be found beside the message; empty for nothing.
    """

    name: str
    type: str
    message: str
    says: str
    line: str = ""
    clue: str = ""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    crash: list[KnownException]


@functools.cache
def known_exceptions() -> tuple[KnownException, ...]:
    """Return all known exceptions, the more specific ones first."""
    return tuple(read_toml(Path(__file__).with_name("crashes.toml"), _File).crash)


def explain_exception(fault: Fault, source: str) -> str:
    """Return a sentence that says what an exception means; empty where it is not a known one.

    Args:
        fault: The exception that the submission raised.
        source: Source of the submission.
    """
    known = match_exception(fault, source)
    if known is None:
        return ""
    crash, found, clue = known
    near = ""
    if "{near}" in crash.says:
        line = fault.frames[-1].line if fault.frames else 0
        near = _nearest(found.group(1), found.group(2), source, line)
    said = [one_line(group or "", MAX_QUOTED_CHARS) for group in (found.group(), *found.groups())]
    return crash.says.format(*said, near=near, clue=one_line(clue, MAX_QUOTED_CHARS))


def match_exception(fault: Fault, source: str) -> tuple[KnownException, re.Match[str], str] | None:
    """Return the known exception that a fault matches, the match in its message, and its clue."""
    line = fault.frames[-1].source if fault.frames else ""
    for crash in known_exceptions():
        if crash.type == fault.type and (not crash.line or re.search(crash.line, line)):
            found = re.search(crash.message, fault.message)
            clue = _find_clue(crash.clue, fault, source) if found and crash.clue else ""
            if found and clue is not None:
                return crash, found, clue
    return None


def _find_clue(name: str, fault: Fault, source: str) -> str | None:
    if len(nodes_of(source)) > MAX_NODES:
        return None
    try:
        return EVERY_CLUE[name](fault, source)
    except (RecursionError, ValueError):  # nested too deeply, or a number too long, to be written
        return None


@functools.lru_cache(maxsize=64)  # the same exception often fails many checks
def _nearest(owner: str, name: str, source: str, line: int) -> str:
    """Return the end of a sentence on an unknown name: which names of ``owner`` may be meant."""
    known = [
        word
        for word in _known_names(owner, source, line)
        if word != name and len(word) <= MAX_NAME_CHARS
    ]
    parts = [word for word in known if _is_part(word, name) or _is_part(name, word)]
    close = difflib.get_close_matches(name[: MAX_NAME_CHARS + 1], known, n=3, cutoff=0.65)
    near = list(dict.fromkeys([*parts, *close]))[:3]
    return f": did you mean {' or '.join(f'`{word}`' for word in near)}?" if near else "."


def _is_part(word: str, name: str) -> bool:
    """Return whether a name contains this word, as `attention_mask` contains `mask`."""
    return len(word) > 2 and word in name.split("_")


def _known_names(owner: str, source: str, line: int) -> list[str]:
    """Return the names that exist in ``owner``: ``Tensor``, a part of torch, or else a class.

    For an empty ``owner``, these are the names that the line may use, with Python's builtins. Of
    the file's own names at most ``MAX_OWN_NAMES`` are returned.
    """
    if owner == "Tensor":
        return [word for word in dir(Tensor) if not word.startswith("_")]
    if owner.startswith("torch"):  # a message may hold anything: nothing is imported for it
        module = sys.modules.get(owner)
        return [word for word in getattr(module, "__dict__", ()) if not word.startswith("_")]
    attributes, names = _own_names(source, line)
    return list(attributes if owner else dict.fromkeys((*names, *dir(builtins))))


@functools.lru_cache(maxsize=1)
def _own_names(source: str, line: int) -> tuple[list[str], list[str]]:
    """Return the attributes that a file sets, with its functions, and the names a line may use."""
    attributes: dict[str, None] = {}
    names: dict[str, None] = {}
    hidden = hidden_from(source, line)
    for node in nodes_of(source):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store()):
                attributes[name] = None
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.ClassDef(name=name):
                names[name] = None
            case ast.FunctionDef(name=name):
                attributes[name] = names[name] = None
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= dict.fromkeys(alias.asname or alias.name for alias in aliases)
    seen = [name for name in names if name not in hidden]
    return list(attributes)[:MAX_OWN_NAMES], seen[:MAX_OWN_NAMES]
