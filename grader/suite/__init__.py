"""All that the author of a suite imports: contracts, claims, comparisons, points."""

from grader.sandbox.batch import RequestBatch
from grader.sandbox.errors import SubmissionError
from grader.sandbox.session import Session
from grader.suite import claims
from grader.suite.calls import Handle, Module, PlannedCall
from grader.suite.compare import (
    CheckFailed,
    expect,
    expect_all_close,
    expect_close,
    expect_differs,
    expect_dtype,
    expect_finite,
    expect_gradient,
    expect_integers,
    expect_tensor,
    fail,
)
from grader.suite.contract import Contract, Input, Sizes
from grader.suite.draw import Draw
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.oracle import Weights, exact, layer_norm, linear, right_weights, rms_norm, under
from grader.suite.readable import Drawn, readable
from grader.suite.reuse import checks_of, load_suite

__all__ = [
    "CheckFailed",
    "Contract",
    "Draw",
    "Drawn",
    "Handle",
    "Harness",
    "Input",
    "Module",
    "PlannedCall",
    "RequestBatch",
    "Session",
    "Sizes",
    "SubmissionError",
    "Weights",
    "checks_of",
    "claims",
    "exact",
    "expect",
    "expect_all_close",
    "expect_close",
    "expect_differs",
    "expect_dtype",
    "expect_finite",
    "expect_gradient",
    "expect_integers",
    "expect_tensor",
    "fail",
    "layer_norm",
    "linear",
    "load_suite",
    "needs",
    "points",
    "readable",
    "right_weights",
    "rms_norm",
    "under",
]
