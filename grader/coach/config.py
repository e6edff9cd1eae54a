"""The output of ``grade mcp --config``: how to add the server to three editors."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

SERVER_NAME = "attention-drills"


def config_lines(command: Sequence[str]) -> dict[str, list[str]]:
    """Return three lines by editor: where the configuration goes, its text, and what to do then."""
    program, *arguments = command
    server = {"command": program, "args": arguments}
    return {
        "Claude Code": [
            "In a terminal, in the folder that you work in:",
            f"claude mcp add {SERVER_NAME} -- {shlex.join(command)}",
            f"Then `/mcp` shows it, and `/mcp__{SERVER_NAME}__tutor` begins.",
        ],
        "Cursor": [
            "In `.cursor/mcp.json` of the folder that you work in:",
            json.dumps({"mcpServers": {SERVER_NAME: server}}),
            "Then switch it on in the settings, below MCP, and ask for the prompt `tutor`.",
        ],
        "VS Code": [
            "In `.vscode/mcp.json` of the folder that you work in:",
            json.dumps({"servers": {SERVER_NAME: {"type": "stdio", **server}}}),
            f"Then `MCP: List Servers` starts it; `/mcp.{SERVER_NAME}.tutor` in the chat begins.",
        ],
    }
