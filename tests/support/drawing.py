"""Of many tests alike, some are drawn each time: other ones with every commit.

The rest has the mark ``exhaustive``: ``pytest -m exhaustive`` tries it.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections import defaultdict
from collections.abc import Collection, Sequence

import pytest

from tests.support.paths import ROOT

WITHOUT_GIT = "0"


def some(group: str, most: int) -> pytest.MarkDecorator:
    """A test's mark: of all that bear it with the same group, so many are drawn each time."""
    return pytest.mark.drawn(group, most)


def commit() -> str:
    """The digest of the commit that is checked out; without git, always the same."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return WITHOUT_GIT
    return done.stdout.strip()


def share(seed: str, name: str) -> float:
    """A number from 0 to 1, drawn for a name."""
    drawn = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(drawn[:6], "big") / 2**48


def draw(items: Sequence[pytest.Item], seed: str, always: Collection[str]) -> None:
    """Mark as ``exhaustive`` what is not drawn.

    Args:
        items: All tests.
        seed: Draws.
        always: The ids of tests that are tried each time, beside those that are drawn.
    """
    groups: dict[str, list[tuple[float, int, pytest.Item]]] = defaultdict(list)
    for place, item in enumerate(items):
        for mark in item.iter_markers("drawn"):
            group, most = mark.args
            groups[f"{group} {most}"].append((share(seed, item.nodeid), place, item))
    for name, members in groups.items():
        for _, _, item in sorted(members)[int(name.rpartition(" ")[2]) :]:
            if item.nodeid not in always:
                item.add_marker("exhaustive")
