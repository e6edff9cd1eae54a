"""Reports for people and for other tools: pure functions of a Report."""
