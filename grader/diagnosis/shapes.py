"""Clues to an exception from the shapes of tensors, where they leave no doubt."""

from __future__ import annotations

import ast
import itertools
import re
from math import prod

from grader.diagnosis.clues import Clue
from grader.diagnosis.trees import failing_statement
from grader.records import Fault


def _product_in(fault: Fault, source: str) -> tuple[ast.expr, ast.expr] | None:
    """Return the operands of the product on the failing line; None unless there is exactly one."""
    statement = failing_statement(fault, source)
    found = []
    for node in ast.walk(statement) if statement else ():
        match node:
            case ast.BinOp(left, ast.MatMult(), right):
                found.append((left, right))
            case ast.Call(ast.Attribute(ast.Name("torch"), "matmul" | "bmm"), [left, right, *_]):
                found.append((left, right))
    return found[0] if len(found) == 1 else None


def _shape_of(side: ast.expr, fault: Fault) -> tuple[int, ...]:
    """Return the shape of a variable, maybe with its last two axes swapped; empty if not known."""
    name = ast.unparse(side)
    turned = re.fullmatch(r"(\w+)\.(?:mT|(?:transpose|swapaxes)\((?:-2, -1|-1, -2)\))", name)
    shape = next((t.shape for t in fault.tensors if t.name == (turned[1] if turned else name)), ())
    return (*shape[:-2], *shape[:-3:-1]) if turned else shape


def _left_is_transposed(fault: Fault, source: str) -> str | None:
    """Return T if a product's left operand is (…, D, T), as a transposed q is; else None."""
    found = re.search(r"\[\d+, (\d+)\] but got: \[\d+, (\d+)\]", fault.message)
    shapes = [one.shape for one in fault.tensors if one.name == "x" and len(one.shape) > 1]
    product = _product_in(fault, source)
    if found is None or not shapes or product is None:
        return None
    T, inner, other = shapes[0][-2], int(found[1]), int(found[2])
    left = _shape_of(product[0], fault)
    is_turned = len(left) > 1 and left[-1] == T != left[-2]
    return str(T) if inner == T != other and is_turned else None


def _right_fits_transposed(fault: Fault, source: str) -> str | None:
    """Return the right operand of a product, if it would fit with its last two axes swapped."""
    found = re.search(r"\[\d+, (\d+)\] but got: \[\d+, (\d+)\]", fault.message)
    product = _product_in(fault, source)
    if found is None or product is None or not isinstance(product[1], ast.Name):
        return None
    return product[1].id if _shape_of(product[1], fault)[-1:] == (int(found[1]),) else None


def _mask_has_more_axes(fault: Fault, source: str) -> str | None:
    """Return how many axes the scores have, if the mask has more, or is given one more."""
    line = fault.frames[-1].source if fault.frames else ""
    grown = re.search(r"mask\w*(?:\.unsqueeze\(|\[[^\]]*None)", line) is not None
    masks = [len(one.shape) for one in fault.tensors if "mask" in one.name]
    others = [len(one.shape) for one in fault.tensors if "mask" not in one.name]
    if not masks or not others:
        return None
    return str(max(others)) if max(masks) + grown > max(others) else None


def _mask_lacks_the_axis_of_heads(fault: Fault, source: str) -> str | None:
    """Return the shape of scores that the mask would fit with one more axis after its first."""
    masks = [one.shape for one in fault.tensors if "mask" in one.name and len(one.shape) == 3]
    scores = [one.shape for one in fault.tensors if "mask" not in one.name and len(one.shape) == 4]
    for mask, shape in itertools.product(masks, scores):
        pairs = zip(mask, (shape[0], *shape[2:]), strict=True)
        if all(mine in (1, there) for mine, there in pairs):
            return str(shape)
    return None


def _size_of_another_tensor(fault: Fault, source: str) -> str | None:
    """Return the size, such as ``memory.size(1)``, with which a new shape would fit.

    It is that of a variable on the same axis, behind the same sizes.
    """
    found = re.search(r"shape '\[([\d, ]+)\]' is invalid for input of size (\d+)", fault.message)
    if found is None:
        return None
    wanted, count = [int(size) for size in found[1].split(", ")], int(found[2])
    fits = {
        f"{one.name}.size({axis})"
        for axis, size in enumerate(wanted)
        for one in fault.tensors
        if one.name.isidentifier() and len(one.shape) > axis and one.shape[axis] != size
        if [*one.shape[:axis]] == wanted[:axis]
        if prod([*wanted[:axis], one.shape[axis], *wanted[axis + 1 :]]) == count
    }
    axes = {fit.partition(".")[2] for fit in fits}
    return min(fits, key=len) if len(axes) == 1 else None


CLUES_OF_SHAPES: dict[str, Clue] = {
    "left is transposed": _left_is_transposed,
    "right fits transposed": _right_fits_transposed,
    "size of another tensor": _size_of_another_tensor,
    "mask has more axes": _mask_has_more_axes,
    "mask lacks the axis of heads": _mask_lacks_the_axis_of_heads,
}
