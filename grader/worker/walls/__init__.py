"""The walls that a worker puts around itself, one file for each mechanism."""
