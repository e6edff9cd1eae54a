"""All texts that people read, and the catalogues of what they are in other languages.

``python -m tests.support.languages`` brings every ``grade.po`` up to date with the texts, and
compiles it.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import click
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from grader.cli import cli
from grader.cli.saying import first_sentence, paragraphs
from grader.languages import CATALOGUES_FOLDER, DOMAIN
from grader.languages.stubs import paragraphs_of
from grader.languages.templates import WORD, Template
from grader.outputs.mistakes import with_notebook_titles
from tests.support.paths import ROOT

KITS = (ROOT, ROOT / "kits" / "training")  # whose texts are in the catalogues
# Modules whose texts nobody reads, or only a machine, an assistant or an author.
UNTRANSLATED_MODULES = (
    "attention/steps", "attention/planted.py", "authoring/answer_files.py", "authoring/answers.py",
    "authoring/checking.py", "authoring/equivalent.py", "authoring/findings.py",
    "authoring/idle.py", "authoring/mutants.py", "authoring/sentences.py",
    "authoring/static_findings.py", "coach",
    "diagnosis/clues.py", "diagnosis/shapes.py", "hiring/bundle", "hiring/dataflow",
    "kit/torch_names.py",
    "languages", "outputs/case_script.py", "outputs/course_gradebooks.py", "outputs/pytest_json.py",
    "outputs/junit.py", "sandbox/whereabouts.py", "suite/draw.py",
    "outputs/batch_candidate.py", "outputs/batch_ideas.py", "outputs/batch_page.py",
    "outputs/batch_sheet.py",
    "suite/situations/covering.py", "wire", "worker/hugepages.py", "worker/walls",
)  # fmt: skip
CODE_TEXT = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|PRAGMA|BEGIN|CREATE) |^bold |[<>]{2}|</|^[a-z_.]+\(|import "
    r"|^(stubs_of|interview|version|explain|only|seed) = |^:is|default-src|^with torch"
    r"|\\[\[d]|\(\?<=|^candidate, "
)
MAX_FORMS = 8  # ways that one f-string may come out
# Words that stand alone: in tables of a module, or as what `say` is called with.
TRANSLATED_TABLES = {
    "grader.outputs.screen": ("KEYS", "KEYS_PAGE"),
    "grader.diagnosis.words": (
        "PART_TITLES",
        "COUNT_WORDS",
        "BEGINNING_BY_PART",
        "BEGINNING_OUTPUT",
        "BEGINNING_MODULE",
        "BEGINNING_WHERE_WRONG",
        "BEGINNING_WHERE_GIVEN",
        "BEGINNING_BESIDE",
        "BEGINNING_NOT_OUTPUT",
        "BEGINNING_EXCEPTIONS",
    ),
    "grader.outputs.phrases": ("MARKS",),
    "grader.cli.doctor": ("WALLS", "ADVICE"),
}
# What click says, by gettext of its own.
CLICK_TEXTS = (
    "Usage:", "Options", "Commands", "Show this message and exit.", "Show the version and exit.",
    "Error: {message}", "Try '{command} {option}' for help.",
    "default: {default}", "Missing argument", "Missing option", "Missing command.",
    "No such option {name!r}.", "No such command {name!r}.", "Invalid value: {message}",
    "Invalid value for {param_hint}: {message}",

    "Option {name!r} does not take a value.", "{value!r} is not a valid {number_type}.",
    "{value} is not in the range {range}.", "{name} {filename!r} does not exist.",
    "{name} {filename!r} is a directory.", "{name} {filename!r} is a file.",
)  # fmt: skip
# Words that a message is put together from, and labels.
WORDS = (
    "differ", "wrong", "queries", "sequences", "calls", "values", "solved", "started", "kept",
    "new", "renewed", "remove it", "none", "of the example", "exercise", "score", "all", "yours",
    "right", "so", "hint", "in", "seed", "keys", "today", "expected", "allowed", "what",
    "renamed", "yes", "tries", "best", "last", "hints", "scores", "holds", "devices",
)  # fmt: skip
SENTENCES = (
    "{first} and {second}",
    "when {says}",
    "with {count} mistakes: {listing}",
    "{beginning} when {says}.",
    "{beginning} with {count} mistakes: {listing}.",
)


def texts() -> dict[str, list[str]]:
    """Every text and template, each with where it is written."""
    found: dict[str, list[str]] = {}
    sources = (_of_code, _of_claims, _of_commands, _of_tables, _of_kit, _of_mistakes)
    for where, text in itertools.chain.from_iterable(source() for source in sources):
        told = found.setdefault(text.strip(), [])
        if where not in told:
            told.append(where)
    return found


def _of_code() -> Iterator[tuple[str, str]]:
    for path in sorted([*ROOT.glob("grader/**/*.py"), *_in_kits("tests/suites/**/*.py")]):
        name = path.relative_to(ROOT).as_posix()
        if name.removeprefix("grader/").startswith(UNTRANSLATED_MODULES):
            continue
        for text in _in(ast.parse(path.read_text(encoding="utf-8"))):
            yield name, text
    for path in sorted(ROOT.glob("grader/outputs/pages/*.html")):
        for found in re.finditer(r'_\("((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix(), found[1]


def _in(tree: ast.Module) -> Iterator[str]:
    """Texts of a module: those of two words or more, and whatever is handed to ``say``."""
    skipped = {id(one) for one in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_said = isinstance(node.func, ast.Name) and node.func.id == "say" and node.args
            yield from _ways(node.args[0]) if is_said else ()
        if id(node) in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        skipped |= {id(one) for one in ast.walk(node)} if isinstance(node, ast.JoinedStr) else set()
        for text in _ways(node):
            literal = "".join(Template(text).pieces)
            if (
                " " in text.strip()
                and len(WORD.findall(literal)) >= 2
                and not CODE_TEXT.search(text)
            ):
                yield text


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    """Those of modules, classes and functions, and those below a constant."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _ways(node: ast.AST) -> Iterator[str]:
    """The templates of a text; one for each way that a condition inside it may come out."""
    if isinstance(node, ast.Constant):
        yield from [_escaped(node.value)] if isinstance(node.value, str) else []
        return
    if not isinstance(node, ast.JoinedStr):
        return
    names = _names(node)
    parts = [list(_part(one, names)) for one in node.values]
    ways = itertools.islice(itertools.product(*parts), MAX_FORMS)
    yield from dict.fromkeys("".join(way) for way in ways)


def _part(value: ast.expr, names: dict[int, str]) -> Iterator[str]:
    if isinstance(value, ast.Constant):
        yield _escaped(str(value.value))
        return
    assert isinstance(value, ast.FormattedValue)
    inside = value.value
    if isinstance(inside, ast.IfExp):
        for branch in (inside.body, inside.orelse):
            yield from (
                _part(branch, names)
                if isinstance(branch, ast.Constant)
                else (
                    _ways(branch)
                    if isinstance(branch, ast.JoinedStr)
                    else [f"{{{names[id(value)]}}}"]
                )
            )
        return
    yield f"{{{names[id(value)]}}}"


def _names(node: ast.JoinedStr) -> dict[int, str]:
    """A name for each place: that of what stands in it, with a number where two are alike."""
    found: dict[int, str] = {}
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            name = _name(value.value)
            same = sum(re.fullmatch(rf"{name}_?\d*", other) is not None for other in found.values())
            found[id(value)] = f"{name}_{same + 1}" if same else name
    return found


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name():
            return node.id.strip("_").lower()
        case ast.Attribute():
            return node.attr.strip("_").lower()
        case ast.Call(func=ast.Attribute() as method) if method.attr in ("join", "removeprefix"):
            return (
                _name(node.args[0]) if method.attr == "join" and node.args else _name(method.value)
            )
        case ast.Call(args=[first, *_]):
            return _name(first)
        case ast.Call(func=func):
            return _name(func.value if isinstance(func, ast.Attribute) else func)
        case ast.Subscript():
            return _name(node.value)
    return "value"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _of_claims() -> Iterator[tuple[str, str]]:
    """What each check stands for: the first paragraph of its docstring."""
    files = [*ROOT.glob("grader/**/claims/*.py"), *_in_kits("tests/suites/**/*.py")]
    for path in sorted(files):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                is_check = node.name.startswith("test_") or any(
                    isinstance(one, ast.Call) and getattr(one.func, "id", "") == "points"
                    for one in node.decorator_list
                )
                text = (ast.get_docstring(node) or "").partition("\n\n")[0]
                if is_check and text:
                    yield path.relative_to(ROOT).as_posix(), _escaped(text)


def _of_commands() -> Iterator[tuple[str, str]]:
    """What ``--help`` says; options are texts of the code."""
    context = click.Context(cli)
    every = [cli.get_command(context, name) for name in cli.list_commands(context)]
    for command in (cli, *filter(None, every), *_nested(cli)):
        for text in (*paragraphs(command.help or ""), first_sentence(command)):
            yield f"grade {command.name} --help", _escaped(text)
    yield from (("click", text) for text in CLICK_TEXTS)


def _nested(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from command.commands.values()


def _of_tables() -> Iterator[tuple[str, str]]:
    for name, tables in TRANSLATED_TABLES.items():
        __import__(name)
        for table in tables:
            found: Any = getattr(sys.modules[name], table)
            values: Iterable[str] = found.values() if isinstance(found, dict) else [found]
            yield from ((name, _escaped(value)) for value in values)
    yield from (("grader.diagnosis.words", text) for text in (*SENTENCES, *WORDS))


def _of_kit() -> Iterator[tuple[str, str]]:
    for kit in KITS:
        for one in _read(kit / "exercises/kit.toml")["exercise"]:
            for text in (one["title"], *one["hints"]):
                yield f"exercises/kit.toml: {one['name']}", _escaped(text)
    for path in _in_kits("exercises/*/*.py"):
        for text in paragraphs_of(path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix(), _escaped(text)


def _in_kits(pattern: str) -> list[Path]:
    return [path for kit in KITS for path in sorted(kit.glob(pattern))]


def _of_mistakes() -> Iterator[tuple[str, str]]:
    for one in _read(ROOT / "grader/diagnosis/crashes.toml")["crash"]:
        yield f"crashes.toml: {one['name']}", re.sub(r"\{(\d)\}", r"{group_\1}", one["says"])
    for one in _read(ROOT / "grader/diagnosis/catalogue.toml")["mistake"]:
        for text in (one["says"], one["hurts"], one["hint"], with_notebook_titles(one["source"])):
            yield f"catalogue.toml: {one['name']}", _escaped(text)
    for path in _in_kits("solutions/*/*.toml"):
        for one in _read(path).get("wrong", ()):
            for text in filter(None, (one.get("says"), one.get("hint"))):
                yield f"{path.stem}: {one['name']}", _escaped(text)


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_catalogue(language: str) -> Catalog:
    """A language's catalogue; an empty one where there is none yet."""
    path = CATALOGUES_FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"
    if not path.is_file():
        return Catalog(language, DOMAIN)
    with path.open("rb") as file:
        return read_po(file, language, DOMAIN)


def renewed(language: str) -> Catalog:
    """The catalogue with all texts of today, and no others."""
    old, new = read_catalogue(language), _template(language)
    new.creation_date = old.creation_date  # nothing changes where no text has
    for message in new:
        if message.id and (known := old.get(message.id)) is not None:
            message.string = known.string
    return new


def _template(language: str) -> Catalog:
    made = Catalog(language, DOMAIN, project="attention-drills", fuzzy=False)
    for text, where in texts().items():
        made.add(text, locations=[(one, None) for one in where[:3]])
    return made


def compiled(catalog: Catalog) -> bytes:
    """The catalogue as gettext reads it."""
    made = BytesIO()
    write_mo(made, catalog)
    return made.getvalue()


def main() -> None:
    """Write all catalogues anew."""
    for language in sys.argv[1:] or sorted(
        one.parent.parent.name for one in CATALOGUES_FOLDER.glob("*/*/*.po")
    ):
        catalog = renewed(language)
        path = CATALOGUES_FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, catalog, width=100, omit_header=False, sort_output=False)
        path.with_suffix(".mo").write_bytes(compiled(catalog))


if __name__ == "__main__":
    main()
