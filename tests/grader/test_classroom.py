"""The commands of docs/classroom.md do what it says, as they stand there; only the net is away."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from grader.kit import installed_kit
from tests.support.paths import ROOT

TEXT = (ROOT / "docs/classroom.md").read_text(encoding="utf-8")
SHELL = re.findall(r"```sh\n(.*?)\n```", TEXT, re.DOTALL)
STEPS = re.findall(r"- run: (.*)", TEXT)
SOLUTION = installed_kit().find("exercise3").solution
# All that the package needs comes from this environment, in which it is built as well.
OFFLINE = {
    **{"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "NO_COLOR": "1"},
    **{"PYTHONPATH": sysconfig.get_path("purelib"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this one."""
    copy = tmp_path_factory.mktemp("work") / "repository"
    left_out = shutil.ignore_patterns(".*", "__pycache__", "attacks", "answers", "build", "dist")
    shutil.copytree(ROOT, copy, ignore=left_out)
    return copy


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env={**os.environ, **OFFLINE, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def done(command: str, folder: Path, **environment: str) -> str:
    one = shell(command, folder, **environment)
    assert one.returncode == 0, one.stdout + one.stderr
    return one.stdout


@pytest.mark.slow("each script is a process that imports torch")
def test_workflow_and_batch(repository: Path, tmp_path: Path) -> None:
    install, grade = STEPS
    done(f"{sys.executable} -m venv venv", tmp_path)
    path = f"{tmp_path / 'venv/bin'}:{os.environ['PATH']}"
    assert "DRILLS: attention-drills @ git+https://" in TEXT
    done(install, tmp_path, PATH=path, DRILLS=str(repository))
    done("grade init class", tmp_path, PATH=path)
    red = shell(grade, tmp_path / "class", PATH=path)
    assert red.returncode == 1, red.stderr
    assert red.stdout.startswith("::error file=exercises/variants/exercise3.py,")
    shutil.copy(SOLUTION, tmp_path / "class/exercises/variants/exercise3.py")
    assert "::notice" in done(grade, tmp_path / "class", PATH=path)
    (tmp_path / "submissions/ada").mkdir(parents=True)
    shutil.copy(SOLUTION, tmp_path / "submissions/ada")
    done(SHELL[1], tmp_path, PATH=path)
    assert (tmp_path / "results/gradescope/ada/results.json").is_file()


@pytest.mark.slow("each script is a process that imports torch")
@pytest.mark.skipif(shutil.which("zip") is None, reason="there is no `zip` here")
def test_autograder(repository: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done(SHELL[0], repository, PATH=path)
    home = tmp_path / "autograder"
    for folder in ("source", "submission", "results"):
        (home / folder).mkdir(parents=True)
    shutil.unpack_archive(repository / "autograder.zip", home / "source")
    done("bash source/setup.sh", home, AUTOGRADER=str(home))
    record = tomllib.loads((home / "source/takehome.toml").read_text(encoding="utf-8"))
    assert not (home / "source/takehome.zip").exists()
    for file, score in ((SOLUTION, 100), (None, 0)):
        for old in (home / "submission").iterdir():
            old.unlink()
        if file is not None:
            shutil.copy(file, home / "submission/exercise3.py")
        told = done("bash source/run_autograder", home, AUTOGRADER=str(home))
        assert f"seed {record['seed']}" in told
        found = json.loads((home / "results/results.json").read_text(encoding="utf-8"))
        assert found["score"] == score
