"""bug20: top-p without the token that crosses the line."""

from grader.suite import Harness, Sizes, checks_of, expect, load_suite, points
from grader.suite.claims.sampling import sampling_with

variant = load_suite(__file__, "../decoder/test_decoder9.py")
contract = variant.contract


@points(4)
def test_what_is_kept_reaches_the_line(harness: Harness) -> None:
    """The kept tokens sum to at least p, and without any one of them they would not."""
    logits, calls = variant.uneven(harness.draw, 11), []
    sizes = Sizes(B=2, T=11, V=11)
    for p in (0.12, 0.35, 0.58, 0.81, 0.97):
        one = harness.of(sampling_with(variant.distribution.entry, {"top_p": p}))
        calls.append((one.module(sizes).call({"logits": logits}), p))
    harness.ask()
    shares = logits.double().softmax(-1)
    for call, p in calls:
        kept = call.out.cpu() > 0
        for row in range(2):
            reached = shares[row][kept[row]]
            says = f"top_p = {p}: the tokens that are kept add up to {float(reached.sum()):.3f}"
            expect(float(reached.sum()) >= p, says)
            expect(float(reached.sum() - reached.min()) < p, f"{says}, and fewer would do")


globals().update(checks_of(variant))
