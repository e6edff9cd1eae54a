"""An assistant as the rules have to hold it: the SDK's own client, which may ask for anything."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from grader.kit import Kit, installed_kit
from tests.support.paths import ROOT
from tests.support.terminal import COMMAND

KIT = installed_kit()


def server(folder: Path, *words: str) -> StdioServerParameters:
    """How the server is started in a learner's folder."""
    return StdioServerParameters(
        command=sys.executable,
        args=[*COMMAND, "mcp", *words],
        cwd=folder,
        env={"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )


class Assistant:
    """Calls tools over a pipe; whatever comes back holds no line of a solution or a suite."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def run(self, work: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        return self._portal.call(work, *arguments)

    def ask(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool; its answer, whatever it is."""
        answer: CallToolResult = self.run(self.client.call_tool, tool, arguments)
        told = answer.model_dump_json()
        if tool != "show_solution":
            assert not [line for line in kept_back() if json.dumps(line)[1:-1] in told]
        return answer

    def told(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
        """Call a tool that answers: structured, and as text."""
        answer = self.ask(tool, **arguments)
        assert not answer.is_error, answer.content
        assert answer.structured_content is not None
        return answer.structured_content, text_of(answer)

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that refuses, in one short line; the line."""
        answer = self.ask(tool, **arguments)
        assert answer.is_error, text_of(answer)[:500]
        assert answer.structured_content is None
        line = text_of(answer)
        assert line.splitlines() == [line]
        assert len(line) < 1100
        assert line.isprintable()
        assert "Error executing" not in line
        assert "Traceback" not in line
        return line

    def together(self, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
        """Call tools at the same time; their answers in the order of the calls."""
        answers: dict[int, CallToolResult] = {}

        async def one(at: int, tool: str, arguments: dict[str, Any]) -> None:
            answers[at] = await self.client.call_tool(tool, arguments)

        async def all_of_them() -> None:
            async with anyio.create_task_group() as group:
                for at, (tool, arguments) in enumerate(calls):
                    group.start_soon(one, at, tool, arguments)

        self.run(all_of_them)
        return [answers[at] for at in range(len(calls))]


@contextmanager
def connected(folder: Path, *words: str) -> Iterator[Assistant]:
    """A server in a folder, and a client of its own for it."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(server(folder, *words), read_timeout_seconds=300)
        ) as client,
    ):
        yield Assistant(portal, client)


def text_of(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert content.type == "text"
    return content.text


@cache
def kept_back() -> frozenset[str]:
    """Lines of code of our solutions and suites that stand in no stub."""
    public = "\n".join(one.stub.read_text(encoding="utf-8") for one in KIT.exercises)
    files = [path for one in KIT.exercises for path in (one.solution, one.suite)]
    return frozenset(line for path in files for line in _lines(path) if line not in public)


def _lines(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if len(line.strip()) > 30 and any(mark in line for mark in (" = ", "claims.", "return ")):
            yield line.strip()


def solve(kit: Kit, name: str, *edit: str) -> None:
    """Write our solution into the learner's file, with an edit if one is given."""
    exercise = kit.find(name)
    text = exercise.solution.read_text(encoding="utf-8")
    assert not edit or text.count(edit[0]) == 1
    exercise.file.write_text(text.replace(*edit) if edit else text, encoding="utf-8")
