"""Marks of a check."""

import pytest

points = pytest.mark.points
