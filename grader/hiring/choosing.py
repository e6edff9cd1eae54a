"""Which of somebody's files belongs to which exercise: by its name, else by what it defines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from grader.errors import GradeError
from grader.hiring.archives import unpacked
from grader.hiring.files import Contents, Read
from grader.submission import SourceProblem, parse, readable, submission_of

MOST_READ = 40  # files of one candidate that are looked into
MOST_NAMED = 5  # files that a message names

Files = Mapping[PurePosixPath, Read]


@dataclass(frozen=True)
class Handed:
    """A file that a candidate handed in for one exercise.

    Attributes:
        name: The file within what was handed in, as a POSIX path; empty where there is none.
        read: Gives its bytes; raises ``GradeError`` where it cannot be read.
        problem: Why there is no file to grade; empty where there is.
        note: Where it was found, if under another name.
    """

    name: str
    read: Read
    problem: str = ""
    note: str = ""

    @property
    def unread(self) -> bool:
        """Whether there is something, and it cannot be read."""
        return bool(self.name and self.problem)

    def take(self) -> tuple[bytes, str]:
        """Its bytes; or none, and why."""
        if self.problem:
            return b"", self.problem
        try:
            return self.read(), ""
        except GradeError as error:
            return b"", str(error)


def choose(
    contents: Contents, exercises: Sequence[str], defines: Mapping[str, Sequence[str]]
) -> dict[str, Handed]:
    """The file of each exercise.

    That is the file of its name, the nearest to the top; else the only one whose name holds the
    exercise's, as ``ada_exercise3 (1).py`` does; else the only one that defines what it asks for;
    where one exercise was sent, the only file there is. Archives within are looked into last.

    Args:
        contents: What was handed in.
        exercises: That were sent.
        defines: What a file of each exercise of the kit defines.
    """
    if contents.archives:
        direct = _Chooser(contents, exercises, defines)
        if any(direct.choose(name).problem for name in exercises):
            inner = unpacked(contents)
            files = {**contents.files, **inner.files}
            contents = Contents(files, {}, [*contents.others, *inner.others])
    chooser = _Chooser(contents, exercises, defines)
    return {name: chooser.choose(name) for name in exercises}


class _Chooser:
    """Looks into a candidate's files, each at most once."""

    def __init__(
        self, contents: Contents, exercises: Sequence[str], defines: Mapping[str, Sequence[str]]
    ) -> None:
        self._contents = contents
        self._exercises = exercises
        self._defines = defines
        self._files = {
            path: read for path, read in contents.files.items() if not path.name.startswith("test_")
        }
        names = {*exercises, *defines}
        self._spoken_for = {path for path in self._files if any(_holds(path, n) for n in names)}
        self._made: dict[PurePosixPath, frozenset[str]] | None = None

    def choose(self, exercise: str) -> Handed:
        """The file of one exercise."""
        exact = [path for path in self._files if path.stem == exercise]
        if exact:
            return self._nearest(exact)
        named = [path for path in self._files if _holds(path, exercise)]
        if len(named) == 1:
            return self._found(named[0], f"found as `{_shown(named[0])}`")
        if len(named) > 1:
            return _missing(f"{_listed(named)} could each be `{exercise}.py`")
        if len(self._exercises) == 1 and len(self._files) == 1:
            (only,) = self._files
            return self._found(only, "" if len(only.parts) == 1 else f"found as `{_shown(only)}`")
        return self._by_definition(exercise)

    def _nearest(self, paths: list[PurePosixPath]) -> Handed:
        paths.sort(key=lambda path: (len(path.parts), path))
        first = paths[0]
        if len(paths) > 1 and len(paths[1].parts) == len(first.parts):
            return _missing(f"`{first}` and `{paths[1]}` both claim to be it")
        return self._found(first)

    def _by_definition(self, exercise: str) -> Handed:
        wanted = frozenset(self._defines.get(exercise, ()))
        if not wanted:
            return self._nothing(f"`{exercise}.py` was not handed in")
        asked = " and ".join(f"`{name}`" for name in sorted(wanted))
        fitting = [path for path, made in self._definitions().items() if wanted <= made]
        rivals = [
            other
            for other in self._exercises
            if other != exercise and not wanted.isdisjoint(self._defines.get(other, ()))
        ]
        if len(fitting) == 1 and not rivals:
            where = _shown(fitting[0])
            return self._found(fitting[0], f"found in `{where}`, which defines {asked}")
        if fitting and rivals:
            return _missing(
                f"no file is called `{exercise}.py`, and {_listed(fitting)} could be `{rivals[0]}` "
                "as well"
            )
        if fitting:
            return _missing(f"{_listed(fitting)} each define {asked}; one of them has to go")
        return self._nothing(f"no file that defines {asked}")

    def _definitions(self) -> Mapping[PurePosixPath, frozenset[str]]:
        """The classes and functions of each file that is not another exercise's by its name."""
        if self._made is None:
            free = [path for path in self._files if path not in self._spoken_for]
            self._made = {path: _made_in(path, self._files[path]) for path in free[:MOST_READ]}
        return self._made

    def _nothing(self, problem: str) -> Handed:
        there = [*map(str, self._contents.files), *self._contents.others]
        what = f"there were {_listed(there)}" if there else "it is empty"
        return _missing(f"{problem}; {what}")

    def _found(self, path: PurePosixPath, note: str = "") -> Handed:
        return Handed(_shown(path), self._files[path], note=note)


def _shown(path: PurePosixPath) -> str:
    """A file's name as it is told."""
    return readable(str(path))


def _missing(problem: str) -> Handed:
    return Handed("", bytes, readable(problem))


def _holds(path: PurePosixPath, exercise: str) -> bool:
    """Whether a file's name holds an exercise's, and does not go on with a digit or a letter."""
    return bool(_pattern(exercise).search(path.stem.lower()))


@cache
def _pattern(exercise: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(exercise.lower())}(?![a-z0-9])")


def _made_in(path: PurePosixPath, read: Read) -> frozenset[str]:
    """The classes and functions that a file defines; none where it cannot be read."""
    try:
        tree = parse(submission_of(Path(path.name), read()))
    except (GradeError, SourceProblem):
        return frozenset()
    kinds = (ast.ClassDef, ast.FunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def _listed(paths: Iterable[object]) -> str:
    names = [f"`{path}`" for path in paths]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
