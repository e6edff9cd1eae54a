"""Runs the submission in a process of its own; checks its answers before trusting them."""
