"""Which versions are known to work, said in one way."""

from __future__ import annotations

import re
import tomllib

import pytest

from grader.versions import TESTED_PYTHONS, TESTED_TORCH_RANGE, newer_than_tested
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_project_names_the_versions_that_are_known() -> None:
    named = re.findall(r":: Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert tuple(named) == TESTED_PYTHONS
    assert PROJECT["requires-python"] == f">={TESTED_PYTHONS[0]}"
    assert f"torch>={TESTED_TORCH_RANGE[0]}" in PROJECT["dependencies"]


@pytest.mark.parametrize(
    ("python", "torch", "said"),
    [
        ("3.11.7", "2.5.0", ""),
        ("3.13.0", "2.15.1+cu130", ""),
        ("3.10.1", "2.4.0", ""),
        ("3.99.0rc1", "2.13.0", "Python 3.99.0rc1 is newer than 3.13,"),
        ("3.12.1", "2.100.0a0+git1234", "torch 2.100.0a0+git1234 is newer than 2.15,"),
        ("3.12.1", "3.0.0", "torch 3.0.0 is newer than"),
    ],
)
def test_only_what_is_newer_is_said_to_be_untried(python: str, torch: str, said: str) -> None:
    assert newer_than_tested(python, torch).startswith(said)
    assert bool(newer_than_tested(python, torch)) == bool(said)
