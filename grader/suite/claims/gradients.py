"""Claims about gradients, against those of the float64 oracle."""

from __future__ import annotations

from torch import Tensor

from grader.suite.call import Gradients
from grader.suite.compare import expect_close, fail
from grader.suite.marks import points
from grader.suite.trial import Trial

# Gradients are longer sums than outputs, in another order.
TOLERANCE = 1e-4


Pair = tuple[dict[str, Tensor], Gradients]  # the right ones, those found


@points(1)
def input_gradient_is_right(trial: Trial) -> None:
    """What lies below this layer learns through it."""
    for right, found in trial.shared(observe):
        _expect("x", found["x"], right["x"])


@points(2)
def parameter_gradients_are_right(trial: Trial) -> None:
    """Right values with wrong gradients train to nothing."""
    for right, found in trial.shared(observe):
        for name in [name for name in right if name != "x"]:
            _expect(name, found.get(name), right[name])


def observe(trial: Trial) -> list[Pair]:
    """All gradients, without a mask and, if it takes one, with."""
    calls = []
    # At the usual sizes in training: what is detached only there is never learned.
    for module in (trial.module(), trial.undropped(trial.usual)):
        x, sizes = trial.smooth_input(module), module.sizes
        weigh = trial.draw.normal(*sizes.shape(sizes.out))
        calls.append(module.call(x, weigh=weigh))
        if trial.subject.masks:
            mask = trial.draw.mask(sizes.B, sizes.T, sizes.T)
            calls.append(module.call(x, mask, weigh=weigh))
    return [(call.right_gradients, call.gradients) for call in calls]


def _expect(name: str, got: Tensor | None, expected: Tensor) -> None:
    if got is None:
        fail(
            f"`{name}` gets no gradient: it is detached, frozen or unused on the way to the output"
        )
    expect_close(got, expected, f"gradient of {name}", TOLERANCE)
