"""``grade mcp``: an assistant in an editor coaches, and the rules are kept here, not by it."""
