"""Attention Drills: grades self-attention written from scratch in PyTorch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext grader``: gives a notebook the cell magic ``%%grade``."""
    import_module("grader.magic").load(shell)  # by name: the package itself stands on nothing


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """``%unload_ext grader``: takes it away."""
    import_module("grader.magic").unload(shell)
