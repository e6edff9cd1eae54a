"""Attention Drills: grades self-attention written from scratch in PyTorch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give a notebook the cell magic ``%%grade``; ``%load_ext grader`` calls this."""
    import_module("grader.magic").load(shell)  # by name: the package itself imports no other part


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the cell magic; ``%unload_ext grader`` calls this."""
    import_module("grader.magic").unload(shell)
