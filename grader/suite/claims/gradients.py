"""Claims about gradients, against those of the float64 oracle."""

from __future__ import annotations

from torch import Tensor

from grader.suite.compare import expect_close, fail
from grader.suite.marks import points
from grader.suite.subject import Trial

# Gradients are longer sums than outputs, in another order.
TOLERANCE = 1e-4


@points(1)
def input_gradient_is_right(trial: Trial) -> None:
    """The gradient of x is the oracle's."""
    right, found = _gradients(trial)
    _expect("x", found["x"], right["x"])


@points(2)
def parameter_gradients_are_right(trial: Trial) -> None:
    """The gradient of every parameter is the oracle's."""
    right, found = _gradients(trial)
    for name in [name for name in right if name != "x"]:
        _expect(name, found.get(name), right[name])


def _gradients(trial: Trial) -> tuple[dict[str, Tensor], dict[str, Tensor | None]]:
    module = trial.module()
    x = trial.input()
    weigh = trial.draw.normal(*trial.run(module, x).shape)
    found = trial.gradients(module, x, None, weigh)
    return trial.right_gradients(module, x, None, weigh), found


def _expect(name: str, got: Tensor | None, expected: Tensor) -> None:
    if got is None:
        fail(
            f"`{name}` gets no gradient: it is detached, frozen or unused on the way to the output"
        )
    expect_close(got, expected, f"gradient of {name}", TOLERANCE)
