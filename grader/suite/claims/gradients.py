"""Claims about gradients, against those of the float64 oracle."""

from __future__ import annotations

from torch import Tensor

from grader.suite.compare import expect_close, fail
from grader.suite.marks import points
from grader.suite.trial import Trial

# Gradients are longer sums than outputs, in another order.
TOLERANCE = 1e-4


Gradients = tuple[dict[str, Tensor], dict[str, Tensor | None]]  # the right ones, those found


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


def observe(trial: Trial) -> list[Gradients]:
    """All gradients, without a mask and, if it takes one, with."""
    seen = []
    for sizes in (trial.sizes, trial.usual):
        # At the usual sizes in training: what is detached only there is never learned.
        module = trial.undropped(sizes) if sizes == trial.usual else trial.module(sizes)
        x = trial.smooth_input(module, sizes)
        weigh = trial.draw.normal(*sizes.shape(sizes.out))
        B, T = sizes.B, sizes.T
        for mask in (None, trial.draw.mask(B, T, T)) if trial.subject.masks else (None,):
            found = trial.gradients(module, x, mask, weigh, sizes)
            seen.append((trial.right_gradients(module, x, mask, weigh, sizes), found))
    return seen


def _expect(name: str, got: Tensor | None, expected: Tensor) -> None:
    if got is None:
        fail(
            f"`{name}` gets no gradient: it is detached, frozen or unused on the way to the output"
        )
    expect_close(got, expected, f"gradient of {name}", TOLERANCE)
