"""Notebooks: read their cells, keep the Python in them, and find what an exercise needs of it."""
