"""All that the author of a suite imports: contracts, claims, comparisons, points.

Each name has an example. In those that are checks of a suite, all names here are imported, and
``contract`` is the contract of the suite. What few suites need is imported from the module that
defines it: ``from grader.suite.oracle import rms_norm``.
"""

from grader.sandbox.errors import SubmissionError
from grader.suite import claims
from grader.suite.calls import PlannedCall
from grader.suite.compare import (
    expect,
    expect_close,
    expect_differs,
    expect_finite,
    expect_gradient,
    fail,
)
from grader.suite.contract import Contract, Input
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.marks import includes, points
from grader.suite.oracle import Weights, linear
from grader.suite.reuse import checks_of, load_suite
from grader.suite.sizes import Sizes

__all__ = [
    "Contract",
    "Draw",
    "Harness",
    "Input",
    "PlannedCall",
    "Sizes",
    "SubmissionError",
    "Weights",
    "checks_of",
    "claims",
    "expect",
    "expect_close",
    "expect_differs",
    "expect_finite",
    "expect_gradient",
    "fail",
    "includes",
    "linear",
    "load_suite",
    "points",
]
