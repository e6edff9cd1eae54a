"""bug13: five mistakes in one block, a check for each."""

from grader.suite import claims
from grader.suite.reuse import load_suite

subject = load_suite(__file__, "../variants/test_exercise6.py").subject
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
) = claims.planted_mistakes_are_gone(list(PLANTED), list(PLANTED.values()))
