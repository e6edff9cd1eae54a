"""Choosing a candidate's file for each exercise: one that was changed, by name or content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath

from grader.errors import GradeError
from grader.hiring.archives import nested_contents
from grader.hiring.files import Contents, Reader
from grader.hiring.lazy_file import LazyFile
from grader.outputs.sanitise import show_invisible, show_quoted
from grader.submission import escape_undecodable

MAX_FILES_READ = 40  # of one candidate
MAX_FILES_NAMED = 5  # in one message


@dataclass(frozen=True)
class HandedFile:
    """A file that a candidate handed in for one exercise.

    Attributes:
        name: The file within what was handed in, as a POSIX path; empty where there is none.
        read: Returns the file's bytes; raises ``GradeError`` where it cannot be read.
        problem: Why there is no file to grade; empty where there is.
        note: Where the file was found, if under another name, and which files were left aside.
    """

    name: str
    read: Reader
    problem: str = ""
    note: str = ""

    @property
    def unread(self) -> bool:
        """Whether there is a file, but it cannot be read."""
        return bool(self.name and self.problem)

    def read_or_explain(self) -> tuple[bytes, str]:
        """Return the file's bytes and an empty text, or no bytes and the reason."""
        if self.problem:
            return b"", self.problem
        try:
            return self.read(), ""
        except GradeError as error:
            return b"", str(error)


def choose_files(
    contents: Contents,
    exercises: Sequence[str],
    defines: Mapping[str, Sequence[str]],
    stubs: Mapping[str, str],
) -> dict[str, HandedFile]:
    """Return the file of each exercise.

    That is the file with the exercise's name; else one whose name contains it, as
    ``ada_exercise3 (1).py`` does; else one that defines what the exercise asks for; where only one
    exercise was sent, the only file there is. Whatever their names, a changed file goes before one
    that is as it was sent. Of several that are equal in this, the one nearest to the top folder
    wins, then the one with the highest number; its note names those left aside.

    Args:
        contents: What was handed in.
        exercises: The exercises that were sent.
        defines: What a file of each exercise of the kit defines.
        stubs: The source of each exercise as it was sent.
    """
    if contents.archives:
        inner = nested_contents(contents)
        files = {**contents.files, **inner.files}
        contents = Contents(files, {}, [*contents.others, *inner.others], inner.damaged)
    chooser = _Chooser(contents, exercises, defines)
    return {name: chooser.choose(name, stubs.get(name, "")) for name in exercises}


def is_chosen_by_name(
    contents: Contents, exercises: Sequence[str], defines: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether ``choose_files`` unpacks nothing and reads no file."""
    chooser = _Chooser(contents, exercises, defines)
    return not contents.archives and all(chooser.choose_by_name(one) for one in exercises)


class _Chooser:
    """Chooses among the files of one candidate."""

    def __init__(
        self, contents: Contents, exercises: Sequence[str], defines: Mapping[str, Sequence[str]]
    ) -> None:
        self._contents = contents
        self._exercises = exercises
        self._defines = defines
        self._files = [
            LazyFile(path, read)
            for path, read in contents.files.items()
            if not path.name.startswith("test_")
        ]
        names = {*exercises, *defines}
        # Files that belong to no exercise by their name.
        unclaimed = [
            one for one in self._files if not any(_name_contains(one.path, name) for name in names)
        ]
        self._unclaimed = unclaimed[:MAX_FILES_READ]

    def choose_by_name(self, exercise: str) -> HandedFile | None:
        """Return the file of one exercise if names decide, so that no file is read; else None."""
        named, required_names = self._named(exercise), self._required_names(exercise)
        if not named and len(self._exercises) == len(self._files) == 1:  # whatever it is called
            (only,) = self._files
            return _handed_file(only, [] if len(only.path.parts) == 1 else [_found_as(only)])
        if self._unclaimed or len(named) > 1:
            return None
        if not named:
            return self._nothing(exercise, required_names, [], "")
        return _handed_file(named[0], _where_found(named[0], exercise, required_names))

    def choose(self, exercise: str, stub: str) -> HandedFile:
        """Return the file of one exercise."""
        if by_name := self.choose_by_name(exercise):
            return by_name
        named, required_names = self._named(exercise), self._required_names(exercise)
        rival = self._rival(exercise, required_names)
        fitting = [
            one
            for one in self._unclaimed
            if required_names and required_names <= one.defined.keys()
        ]
        possible_files = [*named, *([] if rival else fitting)]
        if not possible_files:
            return self._nothing(exercise, required_names, fitting, rival)
        possible_files.sort(key=_copy_numbers, reverse=True)
        possible_files.sort(key=lambda one: _rank(one, exercise, stub))
        return _handed_file(
            possible_files[0], self._notes(possible_files, exercise, stub, required_names)
        )

    def _required_names(self, exercise: str) -> frozenset[str]:
        return frozenset(self._defines.get(exercise, ()))

    def _named(self, exercise: str) -> list[LazyFile]:
        return [one for one in self._files if _name_contains(one.path, exercise)][:MAX_FILES_READ]

    def _rival(self, exercise: str, required_names: Set[str]) -> str:
        """Return another exercise that was sent and has one of ``required_names``; else empty.

        A file that defines these names could belong to either.
        """
        others = [one for one in self._exercises if one != exercise]
        same = [one for one in others if not required_names.isdisjoint(self._defines.get(one, ()))]
        return same[0] if same else ""

    def _notes(
        self,
        possible_files: Sequence[LazyFile],
        exercise: str,
        stub: str,
        required_names: Set[str],
    ) -> Iterator[str]:
        """Yield where the best file was found, and which files could have been meant as well."""
        best, *others = possible_files
        left = [one for one in others if not one.is_as_sent(stub) and one.source != best.source]
        yield from _where_found(best, exercise, required_names)
        if left and best.stem == exercise:
            yield f"taken from `{_printable_path(best.path)}`"
        if left:
            yield f"left aside: {_some_listed(_printable_path(one.path) for one in left)}"
        if not best.is_as_sent(stub):
            as_sent = [one for one in others if one.is_as_sent(stub)]
            yield from [f"`{_printable_path(one.path)}` is as it was sent" for one in as_sent[:1]]
        elif self._unclaimed:
            yield "it is as it was sent"
            yield f"left aside: {_some_listed(_printable_path(f.path) for f in self._unclaimed)}"

    def _nothing(
        self, exercise: str, required_names: Set[str], fitting: Sequence[LazyFile], rival: str
    ) -> HandedFile:
        """Return a ``HandedFile`` that has no file, only the reason why there is none."""
        if fitting:
            could = _some_listed(_printable_path(one.path) for one in fitting)
            return _no_file(
                f"no file is called `{exercise}.py`, and {could} could be `{rival}` as well"
            )
        nothing = f"`{exercise}.py` was not handed in"
        problem = (
            f"no file that defines {_quoted_names(required_names)}" if required_names else nothing
        )
        damaged = self._contents.damaged
        there = [*map(str, self._contents.files), *self._contents.others]
        what = (
            [f"there were {_some_listed(there)}"] if there else [] if damaged else ["it is empty"]
        )
        found = _no_file("; ".join([problem, *what, *damaged.values()]))
        unread = [*damaged, *map(PurePosixPath, self._contents.others)]
        meant = [path for path in unread if _name_contains(path, exercise)]
        meant += [] if self._contents.files else unread
        return replace(found, name=_printable_path(meant[0])) if meant else found


def _rank(one: LazyFile, exercise: str, stub: str) -> tuple[bool, bool, bool, bool, int]:
    """Return a sort key; the file with the lowest is the one that was meant."""
    holds = _name_contains(one.path, exercise)
    exact = one.stem == exercise
    return one.is_as_sent(stub), one.source is None, not exact, not holds, len(one.path.parts)


def _copy_numbers(one: LazyFile) -> list[tuple[str, int, str]]:
    """Return a sort key by the numbers in a path: a later copy has a higher one."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", str(one.path))
    return [(text, len(digits.lstrip("0")), digits.lstrip("0")) for text, digits in parts]


def _where_found(one: LazyFile, exercise: str, required_names: Set[str]) -> list[str]:
    """Return where a file was found, if under another name."""
    if one.stem == exercise:
        return []
    if _name_contains(one.path, exercise):
        return [_found_as(one)]
    return [
        f"found in `{_printable_path(one.path)}`, which defines {_quoted_names(required_names)}"
    ]


def _found_as(one: LazyFile) -> str:
    return f"found as `{_printable_path(one.path)}`"


def _handed_file(one: LazyFile, notes: Iterable[str]) -> HandedFile:
    return HandedFile(_printable_path(one.path), one.read, note="; ".join(notes))


def _printable_path(path: PurePosixPath) -> str:
    """Return a path as it is shown: on one line, with invisible characters by number."""
    return show_quoted(escape_undecodable(str(path)))


def _no_file(problem: str) -> HandedFile:
    return HandedFile("", bytes, show_invisible(escape_undecodable(problem)))


def _name_contains(path: PurePosixPath, exercise: str) -> bool:
    """Return whether a file's name contains an exercise's, with no letter or digit beside it."""
    return bool(_pattern(exercise).search(path.stem.lower()))


@cache
def _pattern(exercise: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9]){re.escape(exercise.lower())}(?![a-z0-9])")


def _quoted_names(words: Iterable[str]) -> str:
    return " and ".join(f"`{word}`" for word in sorted(words))


def _some_listed(paths: Iterable[object]) -> str:
    names = [f"`{path}`" for path in paths]
    more = f" and {len(names) - MAX_FILES_NAMED} more" if len(names) > MAX_FILES_NAMED else ""
    return ", ".join(names[:MAX_FILES_NAMED]) + more
