"""The submission in a process of its own: what is asked of it, and what is believed."""
