"""bug16: positions counted from the first token of each call."""

import torch

from grader.suite import Harness, checks_of, expect_close, load_suite, points
from grader.suite.claims.parts import in_parts

decoder = load_suite(__file__, "../decoder/test_decoder6.py")
contract = decoder.contract


@points(4)
def test_new_tokens_know_how_long_ago_it_was(harness: Harness) -> None:
    """In a text fed piece by piece, each distance is the same as in one piece."""
    inputs, module = harness.inputs(decoder.ROWS), harness.module(decoder.ROWS)
    whole = module.call(inputs)
    pieces = [in_parts(module, inputs, lengths) for lengths in decoder.PARTS]
    harness.ask()
    for lengths, parts in zip(decoder.PARTS, pieces, strict=True):
        said = torch.cat([part.out for part in parts], dim=1)
        expect_close(said, whole.out, f"output in pieces of {list(lengths)}")


globals().update(checks_of(decoder))
