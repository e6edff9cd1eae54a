"""Mutation testing of the suites: cosmic-ray's mutants of our solutions, each graded.

Usage: python benchmarks/mutants.py [EXERCISE...]

A mutant that earns every point survives: a hole in the suite, unless it computes the same as the
solution. Equivalent mutants are listed with the reason in ``equivalent_mutants.toml`` beside this
file. Needs ``pip install -c constraints.txt -e '.[mutants]'``.
"""

from __future__ import annotations

import ast
import difflib
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.mutating import mutate_code

from grader.grading import Options, grade
from grader.kit import Exercise, load_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission

ROOT = Path(__file__).parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")


def mutants(source: str) -> Iterator[str]:
    """Yield each different program that one mutation makes of a source, annotations ignored."""
    seen = {ast.dump(_bare(source))}
    for name in plugins.operator_names():
        if "Variable" in name:
            continue  # these operators need the name of a variable to replace
        operator = plugins.get_operator(name)()
        occurrence = 0
        while (text := mutate_code(source.encode(), operator, occurrence)) is not None:
            occurrence += 1
            text = text.decode() if isinstance(text, bytes) else text
            try:
                tree = ast.dump(_bare(text))
            except SyntaxError:
                continue
            if tree not in seen:
                seen.add(tree)
                yield text


def _bare(source: str) -> ast.Module:
    """Parse a source without its annotations, which change no result."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


def changed(before: str, after: str) -> str:
    """Return the lines of a mutant that differ from the solution, as one text."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return " | ".join(line[2:].strip() for line in lines if line.startswith("+ "))


def try_all(exercise: Exercise, sandbox: Sandbox, known: dict[str, str]) -> tuple[int, int]:
    """Grade the mutants not known as equivalent; return their number, and how many survive."""
    source = read_submission(exercise.solution).source
    options = Options(device="cpu", timeout=2.0, explain=Explain.NOTHING)
    counted = survived = 0
    for text in mutants(source):
        submission = Submission(Path(f"{exercise.name}.py"), text)
        line = changed(source, text)
        if any(fnmatchcase(line, pattern) for pattern in known):
            continue
        counted += 1
        if grade(submission, exercise, options, sandbox).solved:
            survived += 1
            print(f"  survives: {line}")
    return counted, survived


def main(*names: str) -> None:
    """Grade the mutants of all solutions, or of the named exercises', and print the rates."""
    kit = load_kit(ROOT)
    chosen = [kit.find(name) for name in names] or list(kit.exercises)
    text = EQUIVALENT.read_text(encoding="utf-8") if EQUIVALENT.exists() else ""
    equivalent = tomllib.loads(text)
    total = lost = 0
    with Sandbox() as sandbox:
        for exercise in chosen:
            known = equivalent.get(exercise.name, {})
            counted, survived = try_all(exercise, sandbox, known)
            total, lost = total + counted, lost + survived
            print(f"{exercise.name:<10} {counted - survived} of {counted} killed", flush=True)
    print(f"{100 * (total - lost) / total:.1f} % of {total} killed (to reach: 98)")


if __name__ == "__main__":
    main(*sys.argv[1:])
