"""``grade mcp``: an assistant in an editor coaches, by rules that this package enforces."""
