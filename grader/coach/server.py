"""The MCP server: tools and prompts with the official SDK, over standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ToolAnnotations,
)
from pydantic import ValidationError

from grader import __version__
from grader.coach.bench import Bench, open_bench
from grader.coach.config import NAME
from grader.coach.interviews import Interviews
from grader.coach.judging import Judging
from grader.coach.prompts import MANNERS, Prompts
from grader.coach.reading import Reading
from grader.coach.rules import Rules
from grader.errors import GradeError, GraderFault
from grader.outputs.sanitise import clean
from grader.sandbox.process import Sandbox

LONGEST = 1000  # characters of an error, at most


def serve(rules: Rules, start: Callable[[], Sandbox], device: str, timeout: float) -> None:
    """Serve one client until it disconnects, then end all processes started for it.

    Args:
        rules: Rules of the learner's folder.
        start: Starts a sandbox, and a new one if that is lost.
        device: Device of the tensors, as in ``Options``.
        timeout: Limit of one check, in seconds of the submission's processor time.
    """
    rules.folder()  # raises at once if there is no kit

    @asynccontextmanager
    async def life(server: MCPServer[Bench]) -> AsyncIterator[Bench]:
        # By now standard output is the protocol's alone: processes started here write elsewhere.
        async with open_bench(start, device, timeout) as bench:
            add_tools(server, rules, bench)
            yield bench

    server = _Server(
        NAME, instructions=MANNERS, version=__version__, lifespan=life, log_level="CRITICAL"
    )
    prompts = Prompts(rules)
    for prompt in (prompts.tutor, prompts.interviewer, prompts.reviewer):
        server.prompt()(prompt)
    server.run("stdio")


def add_tools(server: MCPServer[Any], rules: Rules, bench: Bench) -> None:
    """Register the tools with a server, under the names of their methods."""
    reading, judging, interviews = Reading(rules), Judging(rules, bench), Interviews(rules, bench)
    looks = (
        *(reading.list_exercises, reading.show_contract, reading.list_mistakes),
        *(reading.show_mistake, reading.due_for_review, interviews.look_at_interview),
        judging.grade_text,
    )
    writes = (
        *(reading.next_hint, reading.show_solution, judging.grade_file, judging.explain_check),
        *(interviews.start_interview, interviews.hand_in_interview),
    )
    for tools, only_reads in ((looks, True), (writes, False)):
        for tool in tools:
            hints = ToolAnnotations(
                read_only_hint=only_reads, destructive_hint=False, open_world_hint=False
            )
            server.add_tool(tool, annotations=hints)


class _Server(MCPServer[Bench]):
    """An MCP server that reports every error in one line, as the command does."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Bench, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise ToolError(one_line(error, name)) from None

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Bench, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, one_line(error, name)) from None


def one_line(error: Exception, name: str) -> str:
    """Return an error as one line for a person, without what the SDK wraps around it.

    Only the first line of a fault is kept: the others are a traceback through a suite.
    """
    causes: list[BaseException] = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    first = causes[-1]
    if isinstance(first, ValidationError):
        one = first.errors(include_url=False)[0]
        place = ".".join(str(part) for part in one["loc"])
        text = f"`{place}` of `{name}`: {one['msg'][:1].lower()}{one['msg'][1:]}"
    elif isinstance(first, GraderFault):
        text = str(first).partition("\n")[0]
    elif isinstance(first, GradeError) or not isinstance(error, UnexpectedToolError):
        text = str(first)
    else:
        what = str(first).partition("\n")[0]
        text = f"a fault of the grader: {type(first).__name__}: {what}; please report it"
    line = " ".join(clean(text).encode(errors="replace").decode().split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} …"
