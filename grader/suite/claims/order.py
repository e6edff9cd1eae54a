"""Claims about sequences in which no position sees what comes after it."""

from __future__ import annotations

from torch import Tensor

from grader.suite.compare import expect_all_close, expect_close, expect_differs, fail
from grader.suite.harness import Harness
from grader.suite.marks import needs, points
from grader.suite.situations.implied import backed_by_situations

LONG_T = 131


def _axis(harness: Harness, letters: str | None) -> int:
    return harness.sizes.axis(letters or "", "T")


@points(2)
@needs(letters="T")
def future_has_no_influence(harness: Harness) -> None:
    """Tokens still to come must not be known, or they are copied and nothing is learned.

    Example:
        test_future_has_no_influence = claims.future_has_no_influence
    """
    inputs, fresh = harness.inputs(), harness.inputs()
    T = harness.sizes.T
    seen = T // 2
    later = dict(inputs)
    for name, axis in _changed(harness, inputs).items():
        later[name] = inputs[name].clone()
        changed = fresh[name].narrow(axis, seen, T - seen)
        changed = changed * 3 if changed.is_floating_point() else changed
        later[name].narrow(axis, seen, T - seen).copy_(changed)
    first, second = harness.module().calls([inputs, later])
    harness.ask()
    for name in first.along("T"):
        before = first.beginning(name, seen)
        expect_close(second.beginning(name, seen), before, f"{name} before what changed")
        expect_differs(second.outs[name], first.outs[name], f"the {name} after what changed")


def _changed(harness: Harness, inputs: dict[str, Tensor]) -> dict[str, int]:
    """Return the names of inputs to change and their T axes: the float ones; if none, all."""
    shapes = {name: harness.contract.inputs[name].shape for name in inputs}
    with_t_axis = [name for name, shape in shapes.items() if "T" in harness.sizes.axes(shape)]
    numbers = [name for name in with_t_axis if inputs[name].is_floating_point()]
    return {name: _axis(harness, shapes[name]) for name in numbers or with_t_axis}


@points(1)
@needs(letters="T")
def future_gets_no_gradient(harness: Harness) -> None:
    """A future that gets a gradient from what came before it still leaks.

    Example:
        test_future_gets_no_gradient = claims.future_gets_no_gradient
    """
    T, name = harness.sizes.T, harness.contract.compared[0]
    letters = harness.contract.outputs[name]
    seen, axis = T // 2, _axis(harness, letters)
    grad_output = harness.draw.normal(*harness.sizes.shape(letters or ""))
    grad_output.narrow(axis, seen, T - seen).zero_()
    call = harness.module().call(harness.inputs(), grad_output={name: grad_output})
    harness.ask()
    for source, grad in call.gradients.items():
        spec = harness.contract.inputs.get(source)
        if spec is None or "T" not in harness.sizes.axes(spec.shape):
            continue
        if grad is None:
            fail(f"{source} gets no gradient")
        future = grad.narrow(_axis(harness, spec.shape), seen, T - seen)
        expect_close(future, future.double() * 0, f"gradient of {source} at later positions")
        expect_differs(grad, grad * 0, f"the gradient of {source}")


@points(1)
@needs(letters="T")
@backed_by_situations
def handles_a_long_sequence_from_its_start(harness: Harness) -> None:
    """No table has a fixed length: the start of a sequence gives what it gives alone.

    Example:
        test_long_sequence = claims.handles_a_long_sequence_from_its_start
    """
    sizes = harness.sizes.replace(B=min(harness.sizes.B, 1), T=LONG_T)
    inputs, short = harness.inputs(sizes), {}
    for name, value in inputs.items():
        axes = sizes.axes(harness.contract.inputs[name].shape)
        cut = value.narrow(axes.index("T"), 0, harness.sizes.T) if "T" in axes else value
        short[name] = cut.contiguous()
    whole, start = harness.module().calls([inputs, short])
    harness.ask()
    for name in start.along("T"):
        got = whole.beginning(name, harness.sizes.T)
        expect_close(got, start.outs[name], f"{name} of the first positions")
    expect_all_close(whole.outs, whole.right_outputs, f"at T = {LONG_T}")
