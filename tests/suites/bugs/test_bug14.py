"""bug14: a test that has to find wrong versions, and to let right ones pass."""

import ast
from collections.abc import Callable

from grader.sandbox.session import Session
from grader.suite import Contract, Harness, SubmissionError, expect, fail, points

contract = Contract(
    entry="check_version_2", inputs={}, outputs={}, oracle=lambda weights, sizes: {}
)
RIGHT = """class SelfAttentionV2(torch.nn.Module):
    def __init__(self, hidden_dim):
        super().__init__()
        self.proj = torch.nn.Linear(hidden_dim, 3 * hidden_dim)

    def forward(self, x):
        C = x.size(-1)
        p = self.proj(x)
        q, k, v = p[..., :C], p[..., C:-C], p[..., -C:]
        scores = torch.einsum("bqc,bkc->bqk", q, k) / C**0.5
        weights = torch.softmax(scores, dim=-1)
        return torch.einsum("bqk,bkc->bqc", weights, v)
"""
OTHERWISE = (  # the same in other styles
    ("torch.softmax(scores, dim=-1)", "torch.log_softmax(scores, dim=-1).exp()"),
    ('torch.einsum("bqk,bkc->bqc", weights, v)', "weights.bmm(v)"),
    ("p[..., :C], p[..., C:-C], p[..., -C:]", "p.unflatten(-1, (3, C)).unbind(-2)"),
)
RUNS = 5  # a test draws its inputs; one that finds a mistake now and then has not found it


def passed(harness: Harness, version: str) -> int:
    """How many of `RUNS` runs of the learner's check let a version of the class pass.

    Raises:
        SubmissionError: It raised something else than an AssertionError.
    """
    whole = harness.session.rewritten(_with(harness.session.source, version))
    try:
        return sum(_passes(whole, int(harness.draw.normal(1).abs() * 1e6)) for _ in range(RUNS))
    finally:
        whole.close()


def _passes(whole: Session, seed: int) -> bool:
    whole.begin_check(seed)
    batch = whole.batch()
    run = batch.call(contract.entry, [((), {})], grad_parameters=())  # it may differentiate
    batch.send()
    try:
        _ = run.answered
    except SubmissionError as error:
        if "AssertionError" in error.kinds:
            return False
        raise
    return True


def _with(source: str, version: str) -> str:
    """The learner's file with another ``SelfAttentionV2`` in the place of the last one."""
    classes = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)]
    classes = [one for one in classes if one.name == "SelfAttentionV2"]
    if not classes:
        fail("the file no longer defines `SelfAttentionV2`")
    last, lines = classes[-1], source.splitlines(keepends=True)
    first = min(node.lineno for node in (last, *last.decorator_list)) - 1
    return "".join([*lines[:first], "import torch\n", version, *lines[last.end_lineno :]])


def lets_right_versions_pass(harness: Harness) -> bool:
    """Whether no right version is refused."""
    versions = [RIGHT, *(RIGHT.replace(old, new) for old, new in OTHERWISE)]
    return all(passed(harness, version) == RUNS for version in versions)


def finds(old: str, new: str, why: str) -> Callable[[Harness], None]:
    """A check that a wrong version is refused, by a test that lets right ones pass."""
    assert RIGHT.count(old) == 1

    def check(harness: Harness) -> None:
        expect(harness.shared(lets_right_versions_pass), "it refuses right versions, too")
        times = passed(harness, RIGHT.replace(old, new))
        expect(times == 0, f"the wrong version passes in {times} of {RUNS} runs")

    check.__doc__ = why
    return points(1)(check)


test_missing_scale_is_found = finds(
    " / C**0.5", "", "With scores near 0, a missing scale goes unnoticed."
)
test_scale_after_the_softmax_is_found = finds(
    "return torch.einsum(", "return C**-0.5 * torch.einsum(", "The output is too small."
)
test_another_scale_is_found = finds(
    "C**0.5", "(3 * C)**0.5", "The weights are a bit too uniform: a loose tolerance lets it pass."
)
test_softmax_over_the_queries_is_found = finds(
    "torch.softmax(scores, dim=-1)",
    "torch.softmax(scores, dim=-2)",
    "At uniform weights the axis does not matter.",
)
test_softmax_over_the_batch_is_found = finds(
    "torch.softmax(scores, dim=-1)",
    "torch.softmax(scores, dim=0)",
    "Where the batch is as large as the sequence is long, shapes don't tell.",
)
test_another_order_is_found = finds(
    "q, k, v = p", "q, v, k = p", "The order inside the fused layer is part of the contract."
)
test_input_in_the_place_of_values_is_found = finds(
    "weights, v)", "weights, x)", "The shapes are the same."
)
test_mean_of_the_values_is_found = finds(
    "weights, v)", "weights * 0 + 1 / x.size(1), v)", "At nearly uniform weights it comes close."
)
test_missing_bias_is_found = finds(
    "p = self.proj(x)", "p = x @ self.proj.weight.mT", "A bias that is never used is never trained."
)
test_detached_weights_are_found = finds(
    "weights, v)", "weights.detach(), v)", "The output is right, but it never learns."
)
test_detached_layer_is_found = finds(
    "p = self.proj(x)",
    "p = torch.nn.functional.linear(x, self.proj.weight.detach(), self.proj.bias.detach())",
    "Only what comes before this layer learns.",
)
test_detached_input_is_found = finds(
    "p = self.proj(x)", "p = self.proj(x.detach())", "Nothing that comes before this layer learns."
)
test_batch_taken_for_one_sequence_is_found = finds(
    "        C = x.size(-1)\n",
    "        return self.attend(x.reshape(1, -1, x.size(-1))).view_as(x)\n\n"
    "    def attend(self, x):\n        C = x.size(-1)\n",
    "With a batch of one it is the same.",
)


@points(3)
def test_right_versions_pass(harness: Harness) -> None:
    """A test that rejects right work is worse than none: every style has to pass."""
    expect(harness.shared(lets_right_versions_pass), "it refuses a right version")
    expect(not passed(harness, RIGHT.replace("weights, v)", "weights, 2 * v)")), "it never fails")
