"""bug15: a causal mask of the wrong rows for a cache."""

import torch

from grader.suite import Harness, checks_of, expect_close, expect_differs, load_suite, points

decoder = load_suite(__file__, "../decoder/test_decoder6.py")
contract = decoder.contract


@points(4)
def test_new_tokens_know_the_latest_of_what_came_before(harness: Harness) -> None:
    """The latest token is the first one that the next token has to know."""
    sizes = decoder.ROWS.replace(T=3)
    given = harness.every_input(sizes)[-1]
    for name, start, count in (("places", 0, sizes.S), ("positions", sizes.S, sizes.T)):
        given[name] = torch.arange(start, start + count).repeat(sizes.B, 1)
    other = {**given, "values": given["values"].clone()}
    other["values"][:, :, -1] += 3
    before, after = harness.module(sizes).calls([given, other])
    harness.ask()
    for t in range(sizes.T):
        what = f"the output of new token {t}, where the latest cached value has changed"
        expect_differs(after.out[:, t], before.out[:, t], what)
    expect_close(before.out, before.expected, "output behind a cache")


globals().update(checks_of(decoder))
