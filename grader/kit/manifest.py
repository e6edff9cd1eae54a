"""A kit's manifest, `kit.toml`, as it is written."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from grader.errors import GradeError
from grader.records import Explain
from grader.submission import read_whole

MANIFEST = "kit.toml"
MAX_MANIFEST_BYTES = 1 << 20  # some forty times as much as ours
RESTORE = "restore it, or `grade init` a new kit"
MAX_DOTS_IN_LINE = 50  # a key of many parts takes memory and time by their square


class ExerciseEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[exercise]]`` entry of a manifest."""

    name: str
    track: str
    title: str
    entry_points: list[Annotated[str, msgspec.Meta(min_length=1)]]
    hints: list[str]
    stub: str  # the digest of the stub as shipped
    source: str = ""  # where what the exercise asks for was first written down
    earlier: list[str] = []  # digests of earlier stubs that said the same in other words
    level: Literal["easy", "medium", "hard"] = "medium"
    diagnosis: bool = True  # False where finding the mistake is the exercise
    formula: str = ""  # in LaTeX, for a notebook
    formerly: list[str] = []  # names of the exercise in earlier versions
    forbidden: list[str] = []  # names of torch that it forbids in addition to those of the kit
    operations: list[str] = []  # patterns of operations that it forbids in addition, likewise
    begins_at: int = 0  # points that the stub earns as it is, which count for nobody
    asks: list[str] | None = None  # what it asks for beyond one-head attention; None if not listed


class KitEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``[kit]`` entry of a manifest, either of a whole kit or of a learner's folder of stubs.

    Attributes:
        stubs_of: Name of the kit whose stubs a learner's folder holds; empty for a whole kit.
        forbidden: Names of torch that no submission may use.
        operations: Patterns of operations in torch's dispatcher that no submission may have carried
            out, by any way: ``*attention*`` covers ``torch.ops.aten._flash_attention…``. Patterns
            are in lower case, whatever the operations' names are.
        imports: Packages that a submission may import beside the standard library; all where empty.
        version: Version of this package when the learner's folder was made.
        interview: Whether an interview is under way in the learner's folder.
        only: Names of the exercises in the learner's folder; all where empty.
        explain: How much reports tell of a mistake.
    """

    name: str = ""
    title: str = ""
    forbidden: list[str] = []
    operations: list[str] = []
    imports: list[str] = []
    stubs_of: str = ""
    version: str = ""
    interview: bool = False
    only: list[str] = []
    explain: Explain = Explain.CAUSE


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole ``kit.toml``."""

    kit: KitEntry
    exercise: list[ExerciseEntry] = []
    ideas: dict[str, list[str]] = {}
    stubs: dict[str, str] = {}  # in a learner's folder: the digest of each stub that was given


def read_manifest(home: Path) -> Manifest:
    """Return the manifest in a kit's folder.

    Raises:
        GradeError: There is none, or it is damaged.
    """
    path = home / "exercises" / MANIFEST
    if not path.is_file():
        raise GradeError(f"`{home}` is not a kit: it has no `exercises/{MANIFEST}`")
    data = read_whole(path, MAX_MANIFEST_BYTES, RESTORE)
    try:
        if any(line.count(b".") > MAX_DOTS_IN_LINE for line in data.splitlines()):
            raise ValueError(f"a line has more than {MAX_DOTS_IN_LINE} dots")
        return msgspec.convert(tomllib.loads(data.decode()), Manifest)
    except (ValueError, RecursionError) as error:  # in TOML, UTF-8 or a type; too long a number
        raise GradeError(
            f"`{path}` is damaged: {error}; {RESTORE}; docs/kits.md says what it holds"
        ) from None
