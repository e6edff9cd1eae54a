"""Where things lie."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "tests" / "answers"
ATTACKS = ROOT / "tests" / "attacks"
CASES = ROOT / "tests" / "grader" / "cases"
CONTRACTS = ROOT / "tests" / "support" / "contracts"
TINY_KIT = ROOT / "tests" / "support" / "tiny_kit"
