"""Runs a suite with pytest, under settings that nothing from outside can change."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from pytest_jsonreport import plugin as json_report

from grader.errors import GraderFault
from grader.report import CheckResult, Difference, Fault, Verdict
from grader.suite.plugin import SuitePlugin

SETTINGS = Path(__file__).parent / "suite.ini"
# Plugins of pytest that a suite does without; with them a run takes several times as long.
UNUSED_PLUGINS = (
    "assertion", "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "junitxml",
    "logging", "monkeypatch", "pastebin", "recwarn", "reports", "setuponly", "setupplan",
    "stepwise", "subtests", "threadexception", "tmpdir", "unittest", "unraisableexception",
    "warnings",
)  # fmt: skip


def run_suite(suite: Path, plugin: SuitePlugin) -> list[CheckResult]:
    """Run a suite's checks under settings that no user's files or environment can change.

    Raises:
        GraderFault: The suite is missing or broken.
        KeyboardInterrupt: Ctrl-C.
    """
    if not suite.is_file():
        raise GraderFault(f"the suite `{suite}` is missing; reinstall `attention-drills`")
    recorder = json_report.JSONReport()
    arguments = [
        *(word for name in UNUSED_PLUGINS for word in ("-p", f"no:{name}")),
        *("-c", str(SETTINGS), "--rootdir", str(suite.parent), "--noconftest"),
        *("--import-mode=importlib", "--tb=no", "--json-report-file=none"),
        *("--json-report-omit", "collectors", "log", "streams", "traceback", "keywords"),
        *("--", str(suite)),
    ]
    with _own_environment(), one_thread():
        code = pytest.main(arguments, plugins=[_ReportOptions(), recorder, plugin])
    if plugin.interrupted:
        raise KeyboardInterrupt
    if plugin.broken:
        raise GraderFault(f"the suite `{suite}` is broken; please report this:\n{plugin.broken}")
    tests = (recorder.report or {}).get("tests", [])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not tests:
        raise GraderFault(f"the suite `{suite}` cannot be run (pytest's exit code {int(code)})")
    return [_result(test) for test in tests]


class _ReportOptions:
    """The command-line options of pytest-json-report, without its own start-up."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        json_report.pytest_addoption(parser)


@contextmanager
def one_thread() -> Iterator[None]:
    """The tensors of a check are small: a second thread would only take the worker's core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def _own_environment() -> Iterator[None]:
    """No variable that steers pytest, and no bytecode left beside a suite."""
    saved = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}
    written = sys.dont_write_bytecode
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = written
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        os.environ.update(saved)


def _result(test: Mapping[str, Any]) -> CheckResult:
    noted = test.get("metadata", {})
    name = test["nodeid"].rpartition("::")[2]
    if "broken" in noted:
        raise GraderFault(
            f"the check `{name}` itself failed; please report this:\n{noted['broken']}"
        )
    fault, difference = noted.get("fault"), noted.get("difference")
    return CheckResult(
        name=name,
        verdict=Verdict(noted.get("verdict", Verdict.PASS)),
        points=noted["points"],
        why=noted["why"],
        message=noted.get("message", ""),
        difference=msgspec.convert(difference, Difference) if difference else None,
        fault=msgspec.convert(fault, Fault) if fault else None,
        output=noted.get("output", ""),
        seconds=round(sum(test.get(s, {}).get("duration", 0) for s in ("setup", "call")), 4),
    )
