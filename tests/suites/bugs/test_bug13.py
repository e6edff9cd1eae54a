"""bug13: five mistakes in one block, a check for each."""

from grader.attention import claims as attention
from grader.suite import load_suite

contract = load_suite(__file__, "../variants/test_exercise6.py").contract
PLANTED = {
    "scaled-by-the-length": "The softmax sees scores of variance 1, whatever the text.",
    "softmax-over-the-queries": "Each query shares out exactly 1.",
    "feed-forward-without-activation": "Two linear layers in a row are one.",
    "second-sum-from-the-input": "The second half builds on the first.",
    "first-norm-for-both": "Every layer has its own place, and learns.",
}

(
    test_first_of_the_attention,
    test_second_of_the_attention,
    test_first_of_the_block,
    test_second_of_the_block,
    test_third_of_the_block,
) = attention.planted_mistakes_are_gone(list(PLANTED), list(PLANTED.values()))
