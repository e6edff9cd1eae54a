"""A kit: a folder with a manifest, stubs, solutions and suites."""

from grader.kit.manifest import MANIFEST, Exercise, Kit, installed_kit, load_kit

__all__ = ["MANIFEST", "Exercise", "Kit", "installed_kit", "load_kit"]
