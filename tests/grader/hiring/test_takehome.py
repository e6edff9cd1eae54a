"""The record of a take-home: written, read, and what is said of a damaged one."""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from pathlib import Path

import pytest
from msgspec import structs

from grader import __version__
from grader.errors import GradeError
from grader.hiring.batch import choose_seeds
from grader.hiring.batch_records import BatchSettings
from grader.hiring.pack import make_takehome, record_path
from grader.hiring.takehome import GradingRules, TakehomeItem, read_takehome
from grader.kit import load_kit
from tests.support.paths import ROOT

KIT = load_kit(ROOT)
PACK = ("exercise3", "exercise5", "bug4")
STUB = KIT.find("exercise3").digest


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "takehome.zip"


def test_record_tells_what_was_sent(out: Path) -> None:
    made = make_takehome(KIT, PACK, " A title ", 90, out, weights={"bug4": 0.5})
    assert made == read_takehome(record_path(out), KIT)
    assert (made.title, made.minutes, made.archive) == ("A title", 90, "takehome.zip")
    assert (made.kit, made.kit_version, made.grader) == (KIT.name, __version__, __version__)
    assert made.sha256 == hashlib.sha256(out.read_bytes()).hexdigest()
    assert made.sent == tuple(
        TakehomeItem(name, KIT.find(name).digest, 0.5 if name == "bug4" else 1.0) for name in PACK
    )
    assert record_path(out) == out.with_name("takehome.toml")


@pytest.mark.parametrize(
    "title", ["quotes \" and \\ and '", "ünïcode ✓ 🎓", "$minutes {braces}", "[table] # no comment"]
)
def test_any_title_comes_back_as_it_was(title: str, out: Path) -> None:
    make_takehome(KIT, ["warmup1"], title, 1, out)
    assert read_takehome(record_path(out), KIT).title == title
    with zipfile.ZipFile(out) as archive:
        assert archive.read("README.md").decode().startswith(f"# {title}\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("title = ", "title ", "is damaged: "),
        ("title = ", f"title = {'[' * 5000} ", "is damaged: "),
        ("title = ", f"#{' ' * (1 << 20)}\ntitle = ", "is larger than 1,024 KiB"),
        ('title = "A title"', "title = 3", "is damaged: Expected `str`, got `int`"),
        ('title = "A title"', 'title = " "', "the title is ' '; give one line of text"),
        ("minutes = 90\n", "", "is damaged: .* missing required field `minutes`"),
        ("minutes = 90", "minutes = 0", "`minutes` is 0; give 1 or more"),
        ("\nseed = ", "\nseed = -", "`seed` is -[0-9]+; give a whole number from 0 to 900719925"),
        ("\nseed = ", "\nseed = 0.", "is damaged: Expected `int | null`, got `float`"),
        ("minutes = 90", "minutes = 1.5", "is damaged: Expected `int`, got `float`"),
        ("seeds = 1 ", "seeds = 0 ", "`seeds` is 0; give a whole number from 1 to 20"),
        ("seeds = 1 ", "seeds = 21 ", "`seeds` is 21; give a whole number from 1 to 20"),
        ("timeout = 10.0", "timeout = 0", "`timeout` is 0.0; give 0.1 to 3600 seconds"),
        ("timeout = 10.0", "timeout = nan", "`timeout` is nan; give 0.1 to 3600 seconds"),
        ("timeout = 10.0", 'timeout = "10 s"', "is damaged: Expected `float`, got `str`"),
        ("memory = 2048", "memory = 3", "`memory` is 3; give 64 to 1048576 MiB"),
        ('device = "cpu"', 'device = "tpu"', "`device` is 'tpu'; give one of auto, cpu, cuda, mps"),
        ('"cause"', '"all"', "`feedback` is 'all'; give one of score, checks, cause"),
        ("minutes = 90", "minutes = 90\ncolour = 1", "is damaged: .* unknown field `colour`"),
        ("weight = 1.0", "weight = -1", "the weight of `exercise3` is -1.0; give 0 to 1,000,000"),
        ("weight = 1.0", "weight = nan", "the weight of `exercise3` is nan; give 0 to 1,000,000"),
        ("weight = 1.0", "weight = 1e308", "the weight of `exercise3` is 1e[+]308; give 0 to 1,0"),
        ("weight = 1.0", f"weight = 1{'0' * 400}", "is damaged: "),
        ("weight = 1.0", 'weight = "2"', "is damaged: Expected `float`, got `str`"),
        ("weight = 1.0", "weight = 0", "all weights are 0"),
        ("weight = 1.0", "weight = 1.0\npoints = 1", "is damaged: .* unknown field `points`"),
        ('"exercise3"', '"exercise99"', "this kit has no exercise `exercise99`; grade with"),
        ('"attention-drills"', '"other"', "it is of the kit `other`, this one is `attention-"),
        (STUB, "ffff", f"`exercise3` was sent as stub ffff, this kit has {STUB}; grade with"),
    ],
)
def test_damaged_record_says_what_is_wrong(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    out = tmp_path / "takehome.zip"
    make_takehome(KIT, ["exercise3"], "A title", 90, out)
    record = record_path(out)
    text = record.read_text(encoding="utf-8")
    assert old in text
    record.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(GradeError, match=message) as told:
        read_takehome(record, KIT)
    assert len(str(told.value).splitlines()) == 1
    assert f"`{record}`" in str(told.value)


def test_record_of_a_stub_in_earlier_words_is_read(out: Path) -> None:
    make_takehome(KIT, ["exercise3"], "A title", 90, out)
    record = record_path(out)
    earlier = KIT.find("exercise3").earlier[0]
    assert earlier != STUB
    text = record.read_text(encoding="utf-8")
    record.write_text(text.replace(STUB, earlier), encoding="utf-8")
    assert read_takehome(record, KIT).sent == (TakehomeItem("exercise3", earlier),)


def test_record_of_a_time_before_seeds_is_read(out: Path) -> None:
    made = make_takehome(KIT, ["exercise3"], "A title", 90, out)
    record = record_path(out)
    text = re.sub(r"seed = .*\n", "", record.read_text(encoding="utf-8"))
    record.write_text(text, encoding="utf-8")
    old = read_takehome(record, KIT)
    assert old == structs.replace(made, seed=None)
    assert old.identity() != made.identity()
    record.write_text(old.to_toml(), encoding="utf-8")
    assert read_takehome(record, KIT) == old


def test_record_without_rules_is_graded_as_a_fresh_one_is(out: Path) -> None:
    made = make_takehome(KIT, PACK, "A title", 90, out)
    record = record_path(out)
    keys = "|".join(GradingRules.__struct_fields__)
    text, count = re.subn(rf"(?m)^({keys}) = .*\n", "", record.read_text(encoding="utf-8"))
    assert count == 5
    record.write_text(text, encoding="utf-8")
    assert read_takehome(record, KIT) == made


def test_record_comes_back_with_the_rules_that_were_written(out: Path) -> None:
    made = make_takehome(KIT, PACK, "A title", 90, out)
    rules = {"seeds": 3, "timeout": 2.5, "memory": 512, "device": "auto", "feedback": "checks"}
    changed = structs.replace(made, **rules)
    assert all(getattr(changed, key) != getattr(made, key) for key in rules)
    record_path(out).write_text(changed.to_toml(), encoding="utf-8")
    assert read_takehome(record_path(out), KIT) == changed


def test_every_rule_stands_in_the_record_with_a_comment(out: Path) -> None:
    make_takehome(KIT, PACK, "A title", 90, out)
    lines = record_path(out).read_text(encoding="utf-8").splitlines()
    for key in GradingRules.__struct_fields__:
        (number,) = (number for number, line in enumerate(lines) if line.startswith(f"{key} = "))
        assert "#" in lines[number] or lines[number - 1].startswith("#"), key
    assert max(map(len, lines)) <= 100


def test_only_what_was_sent_tells_one_take_home_from_another(out: Path) -> None:
    made = make_takehome(KIT, PACK, "A title", 90, out)
    heavier = tuple(structs.replace(one, weight=2.0) for one in made.sent)
    for same in ({"sent": heavier}, {"feedback": "score"}, {"seeds": 2, "timeout": 3.0}):
        assert structs.replace(made, **same).identity() == made.identity()
    for other in ({"title": "B"}, {"seed": 1}, {"sent": made.sent[:1]}, {"sha256": "0"}):
        assert structs.replace(made, **other).identity() != made.identity()


def test_batches_of_a_take_home_have_its_seed() -> None:
    begun = BatchSettings("", (), (7,), "full", "cpu", 1.0, 1, "", "", "")
    assert choose_seeds(1, None, 5) == (5,)
    assert choose_seeds(3, None, 5) == (5, 6, 7)
    assert choose_seeds(1, begun, 5) == (7,)  # as it was begun
    assert choose_seeds(2, begun, 5) == (5, 6)  # which the batch then refuses
    assert choose_seeds(1, None) != choose_seeds(1, None)


def test_record_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(GradeError, match=r"there is no `.*`; `grade pack` writes one"):
        read_takehome(tmp_path / "takehome.toml", KIT)
    with pytest.raises(GradeError, match="is a folder; name a take-home's record"):
        read_takehome(tmp_path, KIT)
    record = tmp_path / "takehome.toml"
    os.mkfifo(record)
    with pytest.raises(GradeError, match="is not a regular file; name a take-home's record"):
        read_takehome(record, KIT)
    record.unlink()
    record.write_bytes(b"\xff\xfe")
    with pytest.raises(GradeError, match=r"is damaged: .*utf-8"):
        read_takehome(record, KIT)


def test_record_without_or_with_repeated_exercises(out: Path) -> None:
    make_takehome(KIT, ["exercise3"], "A title", 90, out)
    record = record_path(out)
    head, sent = record.read_text(encoding="utf-8").split("[[sent]]")
    record.write_text(head, encoding="utf-8")
    with pytest.raises(GradeError, match="it holds no exercise"):
        read_takehome(record, KIT)
    record.write_text(f"{head}[[sent]]{sent}[[sent]]{sent}", encoding="utf-8")
    with pytest.raises(GradeError, match="`exercise3` is there twice"):
        read_takehome(record, KIT)
