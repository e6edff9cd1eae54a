"""bug9: names that do not exist."""

from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../variants/test_exercise6.py")
contract = variant.contract
bug5 = load_suite(__file__, "test_bug5.py")

test_it_can_be_built_and_called = bug5.test_it_can_be_built_and_called

globals().update(checks_of(variant))
