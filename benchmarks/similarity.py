"""Measure the comparison of a batch: how long it takes, what it finds, whom it names wrongly.

Usage: python benchmarks/similarity.py [SIZES] [PEOPLE]

In a batch of simulated people, one in twenty is copied, in one of several disguises; then each of
the right answers of every exercise, which real people differ like, is copied among the others. For
comparison, also print what winnowing alone finds, as MOSS and copydetect do it.
"""

from __future__ import annotations

import random
import resource
import sys
import time
import zlib
from collections import Counter

from pygments import token as kinds
from pygments.lexers import PythonLexer

from benchmarks.people import EXERCISE, STUB, Person
from grader.hiring.similarity import find_similar
from tests.support.disguises import WAYS, disguise
from tests.support.independent import KIN, KIT, WRITTEN, answers, solution_of, stub_of

SOLUTION = EXERCISE.solution.read_text(encoding="utf-8")
DISGUISES: tuple[tuple[str, ...], ...] = (
    (),
    ("order",),
    ("dead code",),
    ("structure",),
    ("structure", "order", "dead code"),
    ("names",),
    ("structure", "names", "order", "dead code"),
    tuple(WAYS),
)
Pairs = set[tuple[str, str]]


def batch(size: int, seed: int) -> tuple[dict[str, str], dict[tuple[str, str], tuple[str, ...]]]:
    """Return a batch of honest people and some copies; and who was copied by whom, and how."""
    rng = random.Random(seed)
    files = {f"person{n:05}": Person(rng.randrange(1 << 40)).file() for n in range(size)}
    copies = {}
    for n, source in enumerate(rng.sample(sorted(files), max(1, size // 20))):
        ways = DISGUISES[(n + seed) % len(DISGUISES)]
        files[f"robber{n:05}"] = disguise(files[source], STUB, rng.randrange(1 << 40), *ways)
        copies[source, f"robber{n:05}"] = ways
    return files, copies


def winnow(source: str) -> set[int]:
    """Return fingerprints as copydetect's defaults take them: of 25 characters, one in every 30."""
    text = "".join(_symbol(kind, value) for kind, value in PythonLexer().get_tokens(source))
    prints = [zlib.crc32(text[i : i + 25].encode()) for i in range(max(1, len(text) - 24))]
    return {min(prints[i : i + 6]) for i in range(max(1, len(prints) - 5))}


def _symbol(kind: object, value: str) -> str:
    if kind in kinds.Text or kind in kinds.Comment or kind in kinds.String.Doc:
        return ""
    if kind in kinds.Name.Function or kind in kinds.Name.Class:
        return "F"
    return "V" if kind in {kinds.Name, kinds.Name.Attribute} else value


def winnowed(files: dict[str, str], share: float) -> Pairs:
    """Return the pairs that share more than this share of the smaller one's fingerprints."""
    prints = {name: winnow(source) - winnow(STUB) for name, source in sorted(files.items())}
    found: Pairs = set()
    for first, mine in prints.items():
        for second, theirs in prints.items():
            if first < second and len(mine & theirs) > share * min(len(mine), len(theirs)):
                found.add((first, second))
    return found


class Tally:
    """How many copies there were in each disguise, how many were found, and who besides."""

    def __init__(self) -> None:
        self.hits: Counter[tuple[str, ...]] = Counter()
        self.tried: Counter[tuple[str, ...]] = Counter()
        self.wrong = 0

    def add(self, found: Pairs, copies: dict[tuple[str, str], tuple[str, ...]]) -> None:
        """Count the pairs that were found in a batch with these copies."""
        self.wrong += len(found - copies.keys())
        self.tried.update(copies.values())
        self.hits.update(copies[pair] for pair in found & copies.keys())

    def print(self) -> None:
        """Print what was found, disguise by disguise."""
        for ways in DISGUISES:
            if self.tried[ways]:
                name = " + ".join(("layout and comments", *ways))
                print(f"         {self.hits[ways]:>4} of {self.tried[ways]:<4} copies: {name}")


def rounds(size: int, count: int) -> None:
    """Print the time, and what is found rightly and wrongly, over `count` batches of a size."""
    tally, seconds = Tally(), 0.0
    for seed in range(count):
        files, copies = batch(size, seed)
        started = time.process_time()
        similarity = find_similar(files, STUB, [SOLUTION], max_listed=len(files))
        seconds += time.process_time() - started
        tally.add({(pair.first, pair.second) for pair in similarity.pairs}, copies)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size:>6} people, {count} batches: {seconds / count:.1f} s each, {peak:.0f} MiB at most; "
        f"{tally.wrong / count:.2f} honest pairs listed a batch"
    )
    tally.print()


def among_answers(track: str) -> None:
    """Print what is found among the right answers of a track's exercises, one copy at a time."""
    tally = Tally()
    names = [name for name in WRITTEN if KIT.find(name).track == track]
    for name in names:
        files, stub = answers(name), stub_of(name)
        for number, source in enumerate(files):
            kin = {tuple(sorted(pair)) for pair in KIN}
            kin |= {(*(pair - {source}), "zz") for pair in KIN if source in pair}
            for ways in DISGUISES:
                copy = disguise(files[source], stub, number, *ways)
                similarity = find_similar({**files, "zz": copy}, stub, [solution_of(name)])
                found = {(pair.first, pair.second) for pair in similarity.pairs}
                tally.add(found - kin, {(source, "zz"): ways})
    print(f"right answers of {', '.join(names)}: {tally.wrong} honest pairs listed")
    tally.print()


def peer(size: int) -> None:
    """Print what winnowing alone finds in one batch."""
    files, copies = batch(size, seed=0)
    for share in (0.33, 0.8, 0.9):
        found = winnowed(files, share)
        print(
            f"winnowing, {size} people, share {share}: {len(found - copies.keys())} honest pairs, "
            f"{len(found & copies.keys())} of {len(copies)} copies"
        )


def main(sizes: str = "5,20,100,1000,5000", count: str = "20000") -> None:
    """Print the figures for several batch sizes, each with about `count` people altogether."""
    for size in map(int, sizes.split(",")):
        rounds(size, max(1, min(200, int(count) // size)))
    for track in dict.fromkeys(KIT.find(name).track for name in WRITTEN):
        among_answers(track)
    peer(1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
