"""bug16: positions counted from the first token of each call."""

from grader.suite import Harness, checks_of, expect_close, load_suite, points

decoder = load_suite(__file__, "../decoder/test_decoder6.py")
contract = decoder.contract


@points(4)
def test_new_tokens_know_how_long_ago_it_was(harness: Harness) -> None:
    """In pieces, each distance is what it is in one piece."""
    inputs, module = harness.inputs(decoder.ROWS), harness.module(decoder.ROWS)
    whole = module.call(inputs)
    pieces = [decoder.in_parts(module, inputs, ends) for ends in decoder.PARTS]
    harness.ask()
    for parts in pieces:
        sizes = [part.sizes.T for part in parts]
        expect_close(decoder.joined(parts), whole.out, f"output in pieces of {sizes}")


globals().update(checks_of(decoder))
