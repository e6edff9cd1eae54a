"""One server for all tests of a file; the folder that it looks at is made anew for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.kit import Kit, load_kit
from grader.practice.folder import make_folder
from tests.support.assistant import KIT, Assistant, connected


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server was started."""
    return tmp_path_factory.mktemp("drills")


@pytest.fixture(scope="module")
def connection(folder: Path) -> Iterator[Assistant]:
    # Nothing here runs into a limit: where it did, a test that calls off would prove nothing.
    if not (folder / "exercises").exists():
        make_folder(folder, KIT)
    with connected(folder, "--timeout", "3600") as one:
        yield one


@pytest.fixture
def drills(folder: Path) -> Kit:
    """The learner's folder, fresh."""
    for path in folder.iterdir():
        shutil.rmtree(path)
    make_folder(folder, KIT)
    return load_kit(folder)


@pytest.fixture
def assistant(connection: Assistant, drills: Kit) -> Assistant:
    """A client of the server in that folder."""
    return connection
