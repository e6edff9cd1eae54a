"""Notebooks: their cells, what of these is Python, and what of that an exercise needs."""
