"""A kit: a folder with a manifest, stubs, solutions and suites."""

from grader.kit.kits import Exercise, Kit
from grader.kit.loading import installed_kit, load_kit
from grader.kit.manifest import MANIFEST

__all__ = ["MANIFEST", "Exercise", "Kit", "installed_kit", "load_kit"]
