"""The files of a candidate's bundle: stubs, public checks and what it takes to run them.

A bundle never holds a suite, a solution, a hint or the catalogue.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from string import Template

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.spoilers import written_out
from grader.kit.stubs import shipped_stub

BUNDLE_FOLDER = Path(__file__).with_name("bundle")
REQUIRED_PACKAGES = ("numpy", "pytest", "torch")


def bundle_files(
    kit: Kit, exercises: Sequence[Exercise], title: str, minutes: int
) -> dict[str, bytes]:
    """Return every file of a bundle, by name.

    Raises:
        GradeError: An exercise has no public checks, or its stub cannot be found.
    """
    contracts = _contracts(kit, exercises)
    checks = [_public_checks(exercise) for exercise in exercises]
    words = {
        "title": title,
        "time": "1 minute" if minutes == 1 else f"{minutes} minutes",
        "tasks": "\n".join(f"| `{e.name}.py` | {e.title} | {_instruction(e)} |" for e in exercises),
        "contracts": _where_to_read(contracts),
        "first": f"checks/{checks[0].name}",
        "forbidden": _forbidden(exercises),
        "files": _listed(f"{e.name}.py" for e in exercises),
    }
    return {
        **{f"{e.name}.py": shipped_stub(e) for e in exercises},
        **{f"contracts/{e.name}.py": shipped_stub(e) for e in contracts},
        **{f"checks/{path.name}": path.read_bytes() for path in checks},
        "README.md": _filled("README.md", words),
        "requirements.txt": _filled("requirements.txt", _versions()),
        "pytest.ini": _filled("pytest.ini", {}),
    }


def _public_checks(exercise: Exercise) -> Path:
    """Return the file of checks that a candidate may see, the public twin of the suite."""
    path = exercise.suite.parents[2] / "public" / exercise.track / exercise.suite.name
    if not path.is_file():
        raise GradeError(f"`{exercise.name}` has no public checks; write some in `{path}`")
    return path


def _contracts(kit: Kit, exercises: Sequence[Exercise]) -> list[Exercise]:
    """Return the other exercises to which the docstrings of these refer their reader."""
    docs = [ast.get_docstring(ast.parse(shipped_stub(e))) or "" for e in exercises]
    named = {word for doc in docs for word in re.findall(r"\w+", doc)}
    return [e for e in kit.exercises if e.name in named and e not in exercises]


def _where_to_read(contracts: Sequence[Exercise]) -> str:
    if not contracts:
        return ""
    files = _listed(f"contracts/{e.name}.py" for e in contracts)
    return f"Where one speaks of another exercise, see {files}: only to be read."


def _instruction(exercise: Exercise) -> str:
    repair = written_out(exercise).issuperset(exercise.entry_points)
    return "find what is wrong, and repair it" if repair else "write it"


def _forbidden(exercises: Sequence[Exercise]) -> str:
    names = sorted({name for e in exercises for name in e.forbidden})
    if not names:
        return ""
    return (
        f"- Outside `if __name__ == \"__main__\":` don't use torch's {_listed(names)}, under "
        "whatever name. A file that does earns nothing.\n"
    )


def _listed(words: Iterable[str]) -> str:
    """Return words in backticks as a list: `a`, `b` and `c`."""
    quoted = [f"`{word}`" for word in words]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)


def _versions() -> dict[str, str]:
    """Return the versions installed here, which the team grades with."""
    # A local version, as in 2.13.0+cpu, is on no index that pip uses by default.
    found = {name: version(name).partition("+")[0] for name in REQUIRED_PACKAGES}
    return {**found, "python": f"{sys.version_info.major}.{sys.version_info.minor}"}


def _filled(name: str, words: Mapping[str, object]) -> bytes:
    template = Template((BUNDLE_FOLDER / name).read_text(encoding="utf-8"))
    return template.substitute(words).encode()
