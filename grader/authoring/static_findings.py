"""What falls short in an exercise as it is written, found without a grading."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.authoring.answers import read_answers
from grader.authoring.equivalent import equivalent_file, read_equivalent
from grader.authoring.findings import Finding, line_of
from grader.authoring.sentences import sentence_findings, sentences_file, stale_shared
from grader.diagnosis.edits import read_edits
from grader.errors import GradeError
from grader.kit import MANIFEST, Exercise, Kit
from grader.submission import SourceProblem, parse, read_submission
from grader.suite.reuse import checks_of, load_suite

MIN_HINTS = 2


def kit_findings(kit: Kit) -> Iterator[Finding]:
    """Yield what in the files that all exercises share belongs to none of them."""
    if any(list(file_findings(exercise)) for exercise in kit.exercises):
        return  # who shares what cannot be said without all stubs
    yield from stale_shared(kit)
    names = {exercise.name for exercise in kit.exercises}
    for exercise in kit.exercises[:1]:
        file = equivalent_file(exercise)
        for name in sorted({*read_equivalent(file)} - names):
            told = f"there is no exercise `{name}`; take out its table, or mend the name"
            yield Finding(file, line_of(file, f"[{name}]"), told)


def file_findings(exercise: Exercise) -> Iterator[Finding]:
    """Yield which files are missing or cannot be read; with these, nothing else can be said."""
    for what, file in (
        ("stub", exercise.stub), ("solution", exercise.solution), ("suite", exercise.suite)
    ):  # fmt: skip
        if not file.is_file():
            yield Finding(file, 0, f"the {what} of `{exercise.name}` is missing; write it")
            continue
        try:
            parse(read_submission(file))
        except (GradeError, SourceProblem) as error:
            yield Finding(file, 0, f"cannot be read: {error}")


def suite_findings(exercise: Exercise) -> Iterator[Finding]:
    """Yield why a suite cannot be loaded, or which of its checks say nothing."""
    suite = exercise.suite
    if not suite.is_file():
        return
    try:
        checks = checks_of(load_suite(str(suite), suite.name))
    except Exception as error:  # whatever its author's code raises
        yield Finding(suite, 0, f"cannot be loaded: {type(error).__name__}: {error}")
        return
    if not checks:
        yield Finding(suite, 0, "has no check; a function `test_…` with `@points` is one")
    for name, check in checks.items():
        if not inspect.getdoc(check):
            line = inspect.getsourcelines(check)[1]
            yield Finding(suite, line, f"`{name}` says nothing; give it a docstring, why it is")


def entry_findings(kit: Kit, exercise: Exercise) -> Iterator[Finding]:
    """Yield what falls short in the manifest's entry, and where stub and solution differ."""
    manifest = kit.home / "exercises" / MANIFEST
    line = line_of(manifest, f'name = "{exercise.name}"')
    if len(exercise.hints) < MIN_HINTS:
        told = f"has {len(exercise.hints)} hints; write {MIN_HINTS} at least, each a question"
        yield Finding(manifest, line, f"`{exercise.name}` {told}")
    for hint in exercise.hints:
        if not hint.endswith("?"):
            where = line_of(manifest, hint[:40])
            yield Finding(manifest, where, "a hint is no question; end it with `?`")
    stub, solution = (_signatures(file) for file in (exercise.stub, exercise.solution))
    defined = {name.partition(".")[0] for name in stub}
    for name in exercise.entry_points:
        if name not in defined:
            told = f"defines no `{name}`, which `entry_points` names; define it, or mend that"
            yield Finding(exercise.stub, 0, told)
    for name, signature in stub.items():
        if (there := solution.get(name)) != signature:
            told = f"`{name}{signature}` of the stub is `{name}{there or ' missing'}` here"
            yield Finding(exercise.solution, 0, f"{told}; make them the same")


def _signatures(file: Path) -> dict[str, str]:
    """Return every function and method of a file, with its arguments and all types."""
    tree = parse(read_submission(file))
    owners: list[tuple[str, ast.Module | ast.ClassDef]] = [("", tree)]
    owners += [(f"{n.name}.", n) for n in tree.body if isinstance(n, ast.ClassDef)]
    return {
        prefix + node.name: f"({ast.unparse(node.args)})"
        + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
        for prefix, owner in owners
        for node in owner.body
        if isinstance(node, ast.FunctionDef)
    }


def contract_findings(kit: Kit, exercise: Exercise) -> Iterator[Finding]:
    """Yield which sentences of the stub nothing holds, and which entries for them are wrong."""
    checks = checks_of(load_suite(str(exercise.suite), exercise.suite.name))
    try:
        loses: dict[str, Collection[str]] = {
            one.name: {one.loses} for one in read_edits(exercise.mistakes)
        }
        wrong = [one for one in read_answers(exercise) if one.kind == "wrong"]
        loses |= {one.name: one.loses for one in wrong if not one.accepted}
        yield from sentence_findings(kit, exercise, checks, loses)
    except GradeError as error:
        yield Finding(sentences_file(exercise), 0, str(error))
