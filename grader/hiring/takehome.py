"""The record of a take-home: what was sent to candidates, how it is graded, and how it counts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Template

import msgspec
from msgspec import structs

from grader.errors import GradeError
from grader.kit import Kit
from grader.records import FeedbackDepth
from grader.sandbox.gpu import DEVICES
from grader.submission.reading import read_whole
from grader.wire.levels import Limits

RECORD_TEMPLATE = Path(__file__).with_name("takehome.template")
MAX_SEEDS = 20  # gradings of one file
SEED_BITS = 53  # too many to be found by trying, and JSON holds them
MAX_RECORD_BYTES = 1 << 20
MAX_WEIGHT = 1e6  # of one exercise
MIN_TIMEOUT_S, MAX_TIMEOUT_S = 0.1, 3600.0  # of one check
MIN_MEMORY_MIB, MAX_MEMORY_MIB = 64, 1 << 20  # of one submission
# Raised where text is not UTF-8 or TOML, or has huge numbers, endless brackets or wrong types.
DAMAGE_ERRORS = (ValueError, OverflowError, RecursionError, msgspec.ValidationError)


class GradingRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the files of all candidates are graded, and how much each candidate is told.

    Attributes:
        seeds: How often each file is graded, on other inputs each time; the lowest score counts.
        timeout: The time limit of one check, in seconds of processor time.
        memory: The memory limit of a submission, on top of Python and torch, in MiB.
        device: The device of the tensors, one of ``DEVICES``.
        feedback: How much the pages of feedback tell, in the word of a ``FeedbackDepth``.
    """

    seeds: int = 1
    timeout: float = 10.0
    memory: int = Limits().memory
    device: str = "cpu"
    feedback: str = FeedbackDepth.CAUSE.value

    @property
    def depth(self) -> FeedbackDepth:
        """How much the pages of feedback tell."""
        return FeedbackDepth(self.feedback)


class TakehomeItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One exercise of a take-home.

    Attributes:
        exercise: The exercise's name.
        stub: The digest of the stub that was sent.
        weight: How much its score counts in comparison with the others.
    """

    exercise: str
    stub: str
    weight: float = 1.0


class Takehome(GradingRules, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What was sent to candidates, and how what comes back is graded.

    Attributes:
        title: The title that the candidate reads.
        minutes: The minutes that the candidate was given.
        kit: The kit's name.
        kit_version: The kit's version.
        grader: The version of ``attention-drills`` that packed it.
        archive: The name of the bundle.
        sha256: The SHA-256 digest of the bundle, in hexadecimal.
        sent: The exercises, in the order of the README.
        seed: The seed that draws what every candidate's files are tried with; None in old records,
            of a time when each batch drew a seed of its own.
    """

    title: str
    minutes: int
    kit: str
    kit_version: str
    grader: str
    archive: str
    sha256: str
    sent: tuple[TakehomeItem, ...] = ()
    seed: int | None = None

    def identity(self) -> str:
        """Return what was sent, as TOML: neither weights nor how it is graded.

        A batch compares this, as weights may change between its runs; it has the rest apart.
        """
        items = (structs.replace(one, weight=1.0) for one in self.sent)
        return f"{self._sent_facts()}\n\n{_items_as_toml(items)}\n"

    def to_toml(self) -> str:
        """Return this record as TOML, with comments on what may be changed."""
        rules = {name: _toml(getattr(self, name)) for name in GradingRules.__struct_fields__}
        template = Template(RECORD_TEMPLATE.read_text(encoding="utf-8"))
        return template.substitute(
            rules, sent_facts=self._sent_facts(), exercises=_items_as_toml(self.sent)
        )

    def _sent_facts(self) -> str:
        own = ("title", "minutes", "kit", "kit_version", "grader", "archive", "sha256")
        lines = [f"{name} = {_toml(getattr(self, name))}" for name in own]
        if self.seed is not None:
            lines.append(f"seed = {self.seed}  # secret: all inputs are drawn from it")
        return "\n".join(lines)


def _items_as_toml(items: Iterable[TakehomeItem]) -> str:
    tables = []
    for one in items:
        fields = structs.asdict(one)
        lines = ["[[sent]]", *(f"{name} = {_toml(fields[name])}" for name in fields)]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _toml(value: str | float) -> str:
    if not isinstance(value, str):
        return repr(value)
    # JSON escapes all that TOML wants escaped, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_takehome(path: Path, kit: Kit) -> Takehome:
    """Read the record of a take-home that this kit can grade.

    Raises:
        GradeError: The record cannot be read, is damaged, or was packed from something else.
    """
    if not path.exists():
        raise GradeError(f"there is no `{path}`; `grade pack` writes one next to its zip")
    data = read_whole(path, MAX_RECORD_BYTES, "name a take-home's record")
    try:
        takehome = msgspec.convert(tomllib.loads(data.decode()), Takehome)
    except DAMAGE_ERRORS as error:
        raise GradeError(
            f"`{path}` is damaged: {error}; restore it, or `grade pack` the same anew"
        ) from None
    for fault in (*record_problems(takehome), *_kit_mismatches(takehome, kit)):
        raise GradeError(f"`{path}`: {fault}")
    return takehome


def record_problems(takehome: Takehome) -> Iterator[str]:
    """Yield what is wrong with a record, whatever the kit."""
    if not takehome.title.strip() or not takehome.title.isprintable():
        yield f"the title is {takehome.title!r}; give one line of text"
    if takehome.minutes <= 0:
        yield f"`minutes` is {takehome.minutes}; give 1 or more"
    if takehome.seed is not None and not 0 <= takehome.seed <= 2**53:
        yield f"`seed` is {takehome.seed}; give a whole number from 0 to {2**53}"
    yield from _rule_problems(takehome)
    names = [one.exercise for one in takehome.sent]
    if not names:
        yield "it holds no exercise; name one or more"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"`{name}` is there twice; name it once"
    for one in takehome.sent:
        if not 0 <= one.weight <= MAX_WEIGHT:
            yield f"the weight of `{one.exercise}` is {one.weight}; give 0 to {MAX_WEIGHT:,.0f}"
    if names and not any(one.weight for one in takehome.sent):
        yield "all weights are 0, so there is no total; give one of them more"


def _rule_problems(rules: GradingRules) -> Iterator[str]:
    """Yield what is wrong with how files are to be graded."""
    if not 1 <= rules.seeds <= MAX_SEEDS:
        yield f"`seeds` is {rules.seeds}; give a whole number from 1 to {MAX_SEEDS}"
    if not MIN_TIMEOUT_S <= rules.timeout <= MAX_TIMEOUT_S:
        yield f"`timeout` is {rules.timeout}; give {MIN_TIMEOUT_S} to {MAX_TIMEOUT_S:.0f} seconds"
    if not MIN_MEMORY_MIB <= rules.memory <= MAX_MEMORY_MIB:
        yield f"`memory` is {rules.memory}; give {MIN_MEMORY_MIB} to {MAX_MEMORY_MIB} MiB"
    for name, value, known in (
        ("device", rules.device, DEVICES),
        ("feedback", rules.feedback, tuple(FeedbackDepth)),
    ):
        if value not in known:
            yield f"`{name}` is {value!r}; give one of {', '.join(known)}"


def _kit_mismatches(takehome: Takehome, kit: Kit) -> Iterator[str]:
    """Yield the reasons why this kit cannot grade a take-home as it was sent."""
    if takehome.kit != kit.name:
        yield f"it is of the kit `{takehome.kit}`, this one is `{kit.name}`; name it with --kit"
    known = {exercise.name: exercise for exercise in kit.exercises}
    with_it = f"grade with `attention-drills` {takehome.grader}, which packed it"
    for one in takehome.sent:
        if one.exercise not in known:
            yield f"this kit has no exercise `{one.exercise}`; {with_it}"
        elif one.stub not in known[one.exercise].stub_digests:
            yield (
                f"`{one.exercise}` was sent as stub {one.stub}, this kit has "
                f"{known[one.exercise].digest}; {with_it}"
            )
