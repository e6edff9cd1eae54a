"""bug13: five mistakes in one block, a check for each."""

from grader.attention import claims as attention
from grader.suite import load_suite

contract = load_suite(__file__, "../variants/test_exercise6.py").contract
PLANTED = {
    "scaled-by-the-length": "One of two in the attention, in the order in which it computes.",
    "softmax-over-the-queries": "The other of the two in the attention.",
    "feed-forward-without-activation": "One of three in the block, in no particular order.",
    "second-sum-from-the-input": "Another of the three in the block.",
    "first-norm-for-both": "The last of the three in the block.",
}

(
    test_first_of_the_attention,
    test_second_of_the_attention,
    test_first_of_the_block,
    test_second_of_the_block,
    test_third_of_the_block,
) = attention.planted_mistakes_are_gone(list(PLANTED), list(PLANTED.values()))
