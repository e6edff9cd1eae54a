"""One suite reused in another: its definitions and its checks."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def load_suite(beside: str, path: str) -> ModuleType:
    """Load another suite of the kit as a module.

    Args:
        beside: The ``__file__`` of the suite that asks for it.
        path: Path of the other suite, relative to the folder of the first.

    Example:
        lora = load_suite(__file__, "../adapters/test_lora.py")
        contract = lora.contract
        test_adapter_learns = lora.test_adapter_learns
    """
    whole = (Path(beside).parent / path).resolve()
    spec = importlib.util.spec_from_file_location(f"suite_{whole.stem}", whole)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def checks_of(suite: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the checks of a suite by name, in the suite's order.

    Example:
        lora = load_suite(__file__, "../adapters/test_lora.py")
        globals().update(checks_of(lora))
        test_rank_below_one_is_refused = checks_of(lora)["test_rank_below_one_is_refused"]
    """
    return {name: value for name, value in vars(suite).items() if name.startswith("test_")}
