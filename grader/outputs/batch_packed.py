"""The reports of a batch, rendered and packed so that thousands fit into one page."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from grader.outputs.jinja import render
from grader.outputs.view_models import ShownReport
from grader.records import CheckResult, Report

WINDOW = 1 << 15  # bytes that deflate looks back
PRINTED = 1000  # characters of what one check printed
SAMPLE = 12  # texts that words and a dictionary are chosen from
RAW = -zlib.MAX_WBITS  # without a header
# What stands for a word: characters that `clean` lets into no page.
CODES = [chr(code) for code in (*range(1, 9), *range(14, 32), *range(127, 160))]
MARKUP = [
    re.compile(pattern)
    for pattern in (
        r"(?:<[^<>]*>)+",
        r'<[a-z][^<>"]*"[^"<>]*"(?: [a-z-]+=")?',
        r'"[^"<>\n]{0,30}" [a-z-]+="',
    )
]


class Shelf:
    """Packs texts that are much alike.

    What is frequent in their markup is written as one character, so that most of a text lies
    within the window of deflate; that halves the page. Then each text is deflated by itself, with
    one of the first as a dictionary. A browser's ``DecompressionStream`` takes none, but the
    dictionary, deflated and not ended, put before a packed text, gives both, one after the other.

    Args:
        name: Of this shelf; no other on the page has it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._waiting: list[tuple[int, str]] = []
        self._words: list[tuple[str, str]] = []
        self._common = b""

    def add(self, place: int, text: str) -> Iterator[str]:
        """Take a text; gives the blocks for the page that are ready.

        Args:
            place: By which the page finds it.
            text: Of one candidate.
        """
        if self._common:
            yield self._block(place, text)
            return
        self._waiting.append((place, text))
        if len(self._waiting) == SAMPLE:
            yield from self.rest()

    def rest(self) -> Iterator[str]:
        """The blocks that waited for the first of them to be seen together."""
        if not self._waiting:
            return
        self._words = _frequent([text[: 2 * WINDOW] for _, text in self._waiting])
        texts = [self._shortened(text) for _, text in self._waiting]
        self._common = min(
            (text[-WINDOW:] for text in texts),
            key=lambda common: sum(len(_deflated(text[:WINDOW], common)) for text in texts),
        )
        deflate = zlib.compressobj(9, zlib.DEFLATED, RAW)
        packed = deflate.compress(self._common) + deflate.flush(zlib.Z_SYNC_FLUSH)
        yield _data(f"common-{self._name}", packed, f' data-size="{len(self._common)}"')
        yield json_block(f"words-{self._name}", self._words)
        for place, text in self._waiting:
            yield self._block(place, text)
        self._waiting = []

    def _shortened(self, text: str) -> bytes:
        for code, word in self._words:
            text = text.replace(word, code)
        return text.encode()

    def _block(self, place: int, text: str) -> str:
        packed = _deflated(self._shortened(text), self._common)
        return _data(f"packed-{self._name}-{place}", packed)


def _frequent(texts: list[str]) -> list[tuple[str, str]]:
    """Codes and the pieces of markup that they stand for; one may hold those before it."""
    words: list[tuple[str, str]] = []
    for code in CODES:
        times = Counter(m for text in texts for kind in MARKUP for m in kind.findall(text))
        saved = {word: (len(word) - 1) * count for word, count in times.items()}
        word = max(saved, key=lambda word: saved[word], default="")
        if len(word) < 2:
            break
        words.append((code, word))
        texts = [text.replace(word, code) for text in texts]
    return words


def _deflated(text: bytes, common: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, RAW, 9, zdict=common)
    return deflate.compress(text) + deflate.flush()


def _data(name: str, packed: bytes, more: str = "") -> str:
    """A block that no browser runs or reads as HTML: base64 ends nothing."""
    return f'<script type="text/plain" id="{name}"{more}>{b64encode(packed).decode()}</script>\n'


def json_block(name: str, value: object) -> str:
    """The same for JSON, which is in ASCII, and in which nothing ends a script."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


class ShownGrading(ShownReport):
    """A report as a hiring team needs it."""

    @property
    def next_step(self) -> str:
        """What to do now."""
        return f"`grade {self.report.exercise} FILE --seed {self.report.seed}` gives it again"

    @property
    def lost(self) -> list[str]:
        """The checks that did not bring their points, as claims."""
        return [one.check.claim for one in self.wrong]


def candidate_part(key: str, graded: Sequence[tuple[Report, str]], note: str = "") -> str:
    """What a candidate's page shows of one exercise.

    Args:
        key: What its anchors begin with.
        graded: Each report with the source of its submission, one for each seed.
        note: What there is to say of it beside.
    """
    shown = [
        ShownGrading(_nameless(report), source, f"{key}-{number}")
        for number, (report, source) in enumerate(graded)
    ]
    counts = min(shown, key=lambda one: one.report.earned)
    return render(
        "batch_candidate.html",
        gradings=shown,
        counts=counts,
        always=set.intersection(*(set(one.lost) for one in shown)),
        agree=len({one.report.earned for one in shown}) == 1,
        handed=graded[0][0].submission,
        note=note,
    )


def _nameless(report: Report) -> Report:
    """The same report, its file called by the exercise: candidates put their names into those.

    What it printed is cut; those who print whole tensors would make the page many times as large.
    """
    own = PurePath(report.submission).name
    plain = report.exercise + PurePath(own).suffix
    checks = (_renamed(replace(c, output=_cut(c.output)), own, plain) for c in report.checks)
    return replace(report, submission=plain, checks=tuple(checks), output=_cut(report.output))


def _cut(printed: str) -> str:
    more = len(printed) - PRINTED
    if more <= 0:
        return printed
    return f"{printed[:PRINTED]}\n… {more:,} characters more, in results.jsonl"


def _renamed(check: CheckResult, own: str, plain: str) -> CheckResult:
    fault = check.fault
    if fault is None:
        return check
    frames = (replace(f, file=plain) if f.file == own else f for f in fault.frames)
    return replace(check, fault=replace(fault, frames=tuple(frames)))
