"""The MCP server: tools and prompts with the official SDK, over standard input and output."""

from __future__ import annotations

import inspect
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
from grader.coach.bench import SharedGrader, open_shared_grader
from grader.coach.config import SERVER_NAME
from grader.coach.interviews import InterviewTools
from grader.coach.judging import GradingTools
from grader.coach.prompts import CONDUCT, Prompts
from grader.coach.reading import ReadingTools
from grader.coach.rules import AssistantRules
from grader.errors import GradeError, GraderFault
from grader.outputs.sanitise import clean
from grader.sandbox.process import Sandbox

MAX_ERROR_CHARS = 1000


def serve(rules: AssistantRules, start: Callable[[], Sandbox], device: str, timeout: float) -> None:
    """Serve one client until it disconnects, then end all processes started for it.

    What is not the rules of the learner's folder is as for ``SharedGrader``.
    """
    rules.folder()  # raises at once if there is no kit

    @asynccontextmanager
    async def life(server: MCPServer[SharedGrader]) -> AsyncIterator[SharedGrader]:
        # By now standard output is the protocol's alone: processes started here write elsewhere.
        async with open_shared_grader(start, device, timeout) as bench:
            add_tools(server, rules, bench)
            yield bench

    server = _Server(
        SERVER_NAME, instructions=CONDUCT, version=__version__, lifespan=life, log_level="CRITICAL"
    )
    prompts = Prompts(rules)
    for prompt in (prompts.tutor, prompts.interviewer, prompts.reviewer):
        server.prompt()(prompt)
    server.run("stdio")


def add_tools(server: MCPServer[Any], rules: AssistantRules, bench: SharedGrader) -> None:
    """Register the tools with a server, under the names of their methods."""
    reading, judging, interviews = (
        ReadingTools(rules),
        GradingTools(rules, bench),
        InterviewTools(rules, bench),
    )
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
            server.add_tool(
                tool, description=inspect.cleandoc(tool.__doc__ or ""), annotations=hints
            )


class _Server(MCPServer[SharedGrader]):
    """An MCP server that reports every error in one line, as the command line does."""

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[SharedGrader, Any] | None = None,
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise ToolError(error_line(error, name)) from None

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[SharedGrader, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            raise MCPError(INVALID_PARAMS, error_line(error, name)) from None


def error_line(error: Exception, name: str) -> str:
    """Return an error as one line for a person, without what the SDK wraps around it.

    Of a fault of the grader only the first line is kept: a traceback through a suite follows it.
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
    return line if len(line) <= MAX_ERROR_CHARS else f"{line[:MAX_ERROR_CHARS]} …"
