"""What is printed for editors starts the server, and stands in the docs."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from grader.coach.config import config_lines
from grader.kit import Kit
from tests.support.assistant import ROOT
from tests.support.terminal import COMMAND

COMMAND_OF_THE_DOCS = ["/home/me/drills/.venv/bin/grade", "mcp", "--kit", "/home/me/drills"]


def printed(folder: Path, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *COMMAND, "mcp", "--config", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_config_names_the_command_and_the_folder(drills: Kit) -> None:
    lines = printed(drills.home / "exercises", "--explain", "place")
    assert [line for line in lines if not line.startswith(" ")] == [
        "Claude Code",
        "Cursor",
        "VS Code",
    ]
    words = shlex.split(lines[2].partition(" -- ")[2])
    (cursor,) = json.loads(lines[6])["mcpServers"].values()
    (code,) = json.loads(lines[10])["servers"].values()
    assert [cursor["command"], *cursor["args"]] == words == [code["command"], *code["args"]]
    assert Path(words[0]).is_file()
    assert words[-5:] == ["mcp", "--kit", str(drills.home.resolve()), "--explain", "place"]


def test_docs_show_what_is_printed() -> None:
    text = (ROOT / "docs" / "assistants.md").read_text(encoding="utf-8")
    for editor, lines in config_lines(COMMAND_OF_THE_DOCS).items():
        at = text.index(f"**{editor}**")
        for line in lines:
            at = text.index(line, at)
