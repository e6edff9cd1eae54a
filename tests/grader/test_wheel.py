"""A wheel holds the kit, and works with no repository near."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from grader.kit import installed_kit
from tests.support.paths import ROOT


def run(*words: str | Path, **settings: object) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        **settings,  # type: ignore[call-overload]  # of any kind
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_kit_outside_every_package(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    share = [name.partition("/share/attention-drills/")[2] for name in names if "/share/" in name]
    for exercise in installed_kit().exercises:
        path = f"{exercise.track}/{exercise.name}.py"
        checks = [
            f"tests/{k}/{exercise.track}/test_{exercise.name}.py" for k in ("suites", "public")
        ]
        mistakes = f"solutions/{exercise.track}/{exercise.name}.toml"
        assert {f"exercises/{path}", f"solutions/{path}", *checks, mistakes} <= set(share)
    assert not [name for name in share if "/answers/" in name]
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.slow("a wheel is built, and installed", always=True)
def test_installed_wheel_grades_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel)
    libraries = sysconfig.get_path("purelib")  # those of this environment, without the checkout
    environment = {**os.environ, "PYTHONPATH": libraries, "NO_COLOR": "1"}
    grade = tmp_path / "venv" / "bin" / "grade"
    home = tmp_path / "empty"
    home.mkdir()

    def told(*words: str) -> str:
        return run(
            grade, *words, cwd=home / "drills" if "init" not in words else home, env=environment
        )

    assert f"{len(installed_kit().exercises)} stubs" in told("init", "drills")
    assert "still a stub" in told("exercise1")
    file = home / "drills" / "exercises" / "variants" / "exercise1.py"
    file.write_text(told("solution", "exercise1", "--reveal"), encoding="utf-8")
    assert "score 25 / 25" in told("exercise1")
    thief = file.with_name("thief.py")
    package = next((tmp_path / "venv").glob("lib/*/site-packages/grader"))
    thief.write_text(
        "import os\n"
        f"for path in ({str(package / 'suite')!r}, {str(tmp_path / 'venv' / 'share')!r}):\n"
        "    try:\n        print('SEEN', os.listdir(path))\n"
        "    except OSError:\n        print('closed')\n"
        "class SelfAttentionV1: pass\n",
        encoding="utf-8",
    )
    seen = told("exercise1", str(thief), "--verbose")
    if "isolation process" not in seen:
        assert "printed: closed" in seen, seen
        assert "SEEN" not in seen, seen
