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

from grader.diagnosis.clues import CLUES, hidden_from, tree_of
from grader.diagnosis.shapes import CLUES_OF_SHAPES
from grader.records import Fault

# What is compared to find what was meant, which takes the product of the lengths for each pair.
MAX_NAME = 40  # characters
MAX_NAMES = 500  # of a file's own
EVERY_CLUE = CLUES | CLUES_OF_SHAPES


class Crash(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known exception.

    Attributes:
        clue: In ``EVERY_CLUE``: what must be found beside the message; empty for nothing.
    """

    name: str
    type: str
    message: str
    says: str
    line: str = ""
    clue: str = ""


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
    known = find_crash(fault, source)
    if known is None:
        return ""
    crash, found, clue = known
    near = ""
    if "{near}" in crash.says:
        line = fault.frames[-1].line if fault.frames else 0
        near = _nearest(found.group(1), found.group(2), source, line)
    return crash.says.format(found.group(), *found.groups(), near=near, clue=clue)


def find_crash(fault: Fault, source: str) -> tuple[Crash, re.Match[str], str] | None:
    """The known exception that this is, what was found in its message, and its clue."""
    line = fault.frames[-1].source if fault.frames else ""
    for crash in crashes():
        if crash.type == fault.type and (not crash.line or re.search(crash.line, line)):
            found = re.search(crash.message, fault.message)
            clue = EVERY_CLUE[crash.clue](fault, source) if found and crash.clue else ""
            if found and clue is not None:
                return crash, found, clue
    return None


@functools.lru_cache(maxsize=64)  # one exception fails many checks
def _nearest(owner: str, name: str, source: str, line: int) -> str:
    """The end of a sentence about a name that does not exist: what may have been meant."""
    known = [word for word in _known(owner, source, line) if word != name and len(word) <= MAX_NAME]
    parts = [word for word in known if _is_part(word, name) or _is_part(name, word)]
    close = difflib.get_close_matches(name[: MAX_NAME + 1], known, n=3, cutoff=0.65)
    near = list(dict.fromkeys([*parts, *close]))[:3]
    return f": did you mean {' or '.join(f'`{word}`' for word in near)}?" if near else "."


def _is_part(word: str, name: str) -> bool:
    """Whether a name says this word and more, as `attention_mask` says `mask`."""
    return len(word) > 2 and word in name.split("_")


def _known(owner: str, source: str, line: int) -> list[str]:
    """Names that something has, each once; of a file's own not more than a person would write."""
    if owner == "Tensor":
        return [word for word in dir(Tensor) if not word.startswith("_")]
    if owner.startswith("torch"):  # in a message anything may stand: nothing is imported for it
        module = sys.modules.get(owner)
        return [word for word in getattr(module, "__dict__", ()) if not word.startswith("_")]
    attributes, names = _own_names(source, line)
    return list(attributes if owner else dict.fromkeys((*names, *dir(builtins))))


@functools.lru_cache(maxsize=1)
def _own_names(source: str, line: int) -> tuple[list[str], list[str]]:
    """What a file assigns to attributes, with its methods; and what a line may call by its name."""
    attributes: dict[str, None] = {}
    names: dict[str, None] = {}
    hidden = hidden_from(source, line)
    for node in ast.walk(tree_of(source)):
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
    return list(attributes)[:MAX_NAMES], seen[:MAX_NAMES]
