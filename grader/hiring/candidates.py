"""Finding the candidates in a folder of what was handed in, with the names on a list."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.errors import GradeError
from grader.hiring.choosing import HandedFile
from grader.hiring.downloads import MOODLE_MARK, Owner, owner_of
from grader.hiring.files import archive_ending, is_folder, is_source_file
from grader.hiring.handed import find_files
from grader.outputs.sanitise import composed, looks, show_invisible, show_spelling
from grader.submission import escape_undecodable
from grader.submission.reading import read_whole

NUMBERED = re.compile(r" \(\w+\)$")  # ends a name that somebody shares, or chose to look so
MAX_NAMES_BYTES = 8 << 20
TOOL_FILES = ("__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini")  # made by tools, not people


@dataclass(frozen=True)
class Candidate:
    """Somebody who handed something in.

    Attributes:
        name: The name from the list of names, else from a course system, else from the entry.
        handed: The file handed in for each exercise.
        key: What results are kept by, whatever the name: the entry in the folder of submissions,
            as it is written, or the student as a course system named the files.
        files: The names of all the candidate's entries in that folder.
        owner: The student as a course system named the files; None where none did.
    """

    name: str
    handed: dict[str, HandedFile]
    key: str
    files: tuple[str, ...] = ()
    owner: Owner | None = None


class ListedPerson(NamedTuple):
    """Somebody in the list of names.

    Attributes:
        id: What a course system knows the person by; may be empty.
    """

    name: str
    id: str = ""


@dataclass
class _Person:
    """A person's entries in the folder, known by their owner, or else by the first entry."""

    key: str
    entries: list[Path]
    owner: Owner | None
    listed: ListedPerson | None


def find_candidates(
    folder: Path,
    exercises: Sequence[str],
    names: Mapping[str, ListedPerson] | None = None,
    others: Sequence[Path] = (),
    defines: Mapping[str, Sequence[str]] | None = None,
    stubs: Mapping[str, str] | None = None,
) -> list[Candidate]:
    """Return the candidates of a folder; every entry belongs to one, even if it cannot be read.

    Args:
        folder: The folder with everything that was handed in.
        exercises: The exercises that were sent.
        names: Names of candidates, by file in the folder; files with one id are one person's.
        others: What is no candidate's, should it lie in the folder too: results, a list of names.
        defines: What a file of each exercise of the kit defines, to recognise a renamed file.
        stubs: The source of each exercise as it was sent, to see what was changed.

    Raises:
        GradeError: The folder holds no candidate, or two with the same name.
    """
    if not folder.is_dir():
        raise GradeError(f"`{folder}` is not a folder; name the one with a file for each candidate")
    left_out = {path.resolve() for path in others}
    entries = sorted(
        entry
        for entry in folder.iterdir()
        if not entry.name.startswith(".")
        and entry.name not in TOOL_FILES
        and (entry.is_symlink() or entry.resolve() not in left_out)
    )
    sent = (exercises, defines or {}, stubs or {})
    found: dict[str, Candidate] = {}
    texts = _texts(entries, names or {})
    for person, name in _with_names(_people(texts, names or {}), texts):
        if name in found:
            raise GradeError(
                f"two candidates in `{folder}` are called `{name}`; rename one, or give both "
                "names in a CSV file with the columns file,name,id, one id where they are one "
                "person: --names FILE"
            )
        files = tuple(texts[entry] for entry in person.entries)
        handed = find_files(folder, person.entries, sent)
        found[name] = Candidate(name, handed, person.key, files, person.owner)
    if not found:
        raise GradeError(f"`{folder}` holds nothing that a candidate handed in")
    return list(found.values())


def _texts(entries: Sequence[Path], names: Collection[str]) -> dict[Path, str]:
    """Return each entry's name as text, the same however its accented letters are written.

    Where two look alike that differ in accents or blanks, or one looks like nothing, these are
    shown by number, unless ``names``, the list, has a name for each.

    Raises:
        GradeError: The list has one name for two that differ in how accents are written.
    """
    written = {entry: escape_undecodable(entry.name) for entry in entries}
    own = {entry: _own_name(entry, text) for entry, text in written.items()}
    count = Counter(looks(name) for name in own.values())
    texts = {entry: composed(text) for entry, text in written.items()}
    same = Counter(texts.values())
    for entry, name in own.items():
        text = texts[entry]
        if text in names and same[text] > 1:
            raise GradeError(
                f"the list of names has `{text}`, and {same[text]} files are called that, their "
                "accents written in other ways: rename them"
            )
        is_alone = looks(name) and count[looks(name)] == 1
        if text not in names and not is_alone and looks(name) != name:
            texts[entry] = show_spelling(written[entry])
    return texts


def _people(texts: Mapping[Path, str], names: Mapping[str, ListedPerson]) -> list[_Person]:
    """Group the entries by person: by the list of names, else as a course system named them."""
    owned: dict[str, _Person] = {}
    for entry, shown in texts.items():
        owner, key = owner_of(composed(escape_undecodable(entry.name))), _key(entry)
        one = _Person(owner.key if owner else key, [entry], owner, names.get(shown))
        known = owned.setdefault(one.key, one)
        if known is not one and known.listed and one.listed and known.listed != one.listed:
            owned[key] = replace(one, key=key)  # the list names two people
        elif known is not one:
            known.entries.append(entry)
            known.owner, known.listed = known.owner or owner, known.listed or one.listed
    by_id: dict[tuple[str, str], _Person] = {}
    for one in owned.values():
        number = one.listed.id if one.listed else ""
        first = by_id.setdefault(("id", number) if number else ("key", one.key), one)
        if first is not one:
            first.entries += one.entries
    return list(by_id.values())


def _key(entry: Path) -> str:
    """Return a key of an entry, which is the same whatever else lies in the folder."""
    text = escape_undecodable(entry.name)
    return text if text == entry.name else f"{text}/"  # somebody may have named a file so


def _with_names(
    people: Sequence[_Person], texts: Mapping[Path, str]
) -> Iterator[tuple[_Person, str]]:
    """Yield each person with a name: from the list, else the course system, else the entry's.

    The entry's name loses its ending, unless the entry is of an unknown kind and the name without
    its ending is that of another entry, or it looks as if Moodle named it: students choose such
    names for their files, and two with one name would stop the batch.
    """
    own_names = {entry: _own_name(entry, text) for entry, text in texts.items()}
    taken = {own for entry, own in own_names.items() if _is_known_type(entry)}
    alike = Counter(looks(show_invisible(one.owner.name)) for one in people if one.owner)
    for one in people:
        entry = one.entries[0]
        own = own_names[entry]
        if one.listed:
            own = one.listed.name
        elif one.owner:
            own = show_invisible(one.owner.name)
            if alike[looks(own)] > 1 or NUMBERED.search(own):
                own += f" ({one.owner.number})"
        elif (own in taken and not _is_known_type(entry)) or MOODLE_MARK in own:
            own = show_invisible(texts[entry])
        yield one, own


def _own_name(entry: Path, text: str) -> str:
    ending = "" if is_folder(entry) else archive_ending(text) or PurePosixPath(text).suffix
    return show_invisible(text.removesuffix(ending))


def _is_known_type(entry: Path) -> bool:
    return bool(is_folder(entry) or archive_ending(entry.name) or is_source_file(entry.name))


def read_names(path: Path) -> dict[str, ListedPerson]:
    """Read candidates by file from a CSV file with columns ``file``, ``name`` and maybe ``id``.

    Raises:
        GradeError: The path is no such file, a name is empty, or two people share a file or an id.
    """
    try:
        data = read_whole(path, MAX_NAMES_BYTES, "name a list of names")
        file = io.StringIO(data.decode("utf-8-sig"), newline="")
        rows = [
            (
                composed(row["file"].strip()),
                show_invisible(composed(row["name"].strip())),
                show_invisible((row.get("id") or "").strip()),
            )
            for row in csv.DictReader(file)
        ]
    except (KeyError, AttributeError, UnicodeDecodeError, csv.Error):
        raise GradeError(
            f"`{path}` is not a CSV file with the columns `file` and `name`, in UTF-8"
        ) from None
    names: dict[str, ListedPerson] = {}
    by_id: dict[str, str] = {}
    for key, *said in rows:
        one = ListedPerson(*said)
        if names.setdefault(key, one) != one:
            raise GradeError(
                f"`{path}` gives `{key}` to `{names[key].name}` and to `{one.name}`; keep one line"
            )
        if not one.name:
            raise GradeError(f"`{path}` gives `{key}` an empty name; write one, or leave it out")
        if one.id and by_id.setdefault(one.id, one.name) != one.name:
            raise GradeError(
                f"`{path}` gives the id `{one.id}` to `{by_id[one.id]}` and to `{one.name}`; give "
                "each their own"
            )
    return names
