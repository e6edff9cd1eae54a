"""Of many tests alike, some are drawn each time: other ones with every commit.

So are some of a folder's slow ones, unless files or folders are named: then all are tried. The rest
has the mark ``exhaustive``: ``pytest -m exhaustive`` tries it.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import pytest

from tests.support.paths import ROOT

COMMIT_WITHOUT_GIT = "0"
SLOW_TESTS_PER_DRAWN = 8  # of so many slow tests of a folder, one is drawn


def sampled(group: str, most: int) -> pytest.MarkDecorator:
    """A test's mark: of all that bear it with the same group, so many are drawn each time."""
    return pytest.mark.drawn(group, most)


def commit() -> str:
    """The digest of the commit that is checked out; without git, always the same."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return COMMIT_WITHOUT_GIT
    return done.stdout.strip()


def share(seed: str, name: str) -> float:
    """A number from 0 to 1, drawn for a name."""
    drawn = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(drawn[:6], "big") / 2**48


def draw(items: Sequence[pytest.Item], seed: str, always: Collection[str], is_all: bool) -> None:
    """Mark as ``exhaustive`` what is not drawn.

    Args:
        items: All tests.
        seed: Draws.
        always: The ids of tests that are tried each time, beside those that are drawn.
        is_all: Whether no files were named, so that of slow tests too some are drawn.
    """
    groups: dict[tuple[str, int | None], list[tuple[float, int, pytest.Item]]] = defaultdict(list)
    for place, item in enumerate(items):
        for group in _groups(item, is_all):
            groups[group].append((share(seed, item.nodeid), place, item))
    for (_, most), members in groups.items():
        drawn = -(-len(members) // SLOW_TESTS_PER_DRAWN) if most is None else most
        for _, _, item in sorted(members)[drawn:]:
            if item.nodeid not in always:
                item.add_marker("exhaustive")


def _groups(item: pytest.Item, is_all: bool) -> Iterator[tuple[str, int | None]]:
    """What a test is drawn from, each with how many of it are drawn; None for a share of it."""
    drawn = [mark.args for mark in item.iter_markers("drawn")]
    yield from drawn
    slow = item.get_closest_marker("slow")
    if is_all and slow and not drawn and not slow.kwargs.get("always"):
        yield item.nodeid.partition("::")[0].rpartition("/")[0], None
