"""What a wheel holds beside the folders that pyproject.toml names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KnownMistakes(BuildHookInterface):
    """Ships the known mistakes, which explain, and not the answers that lie beside them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files before a build."""
        for path in Path(self.root).glob("tests/answers/*/wrong.toml"):
            name = path.relative_to(self.root).as_posix()
            build_data["shared_data"][name] = f"share/attention-drills/{name}"
