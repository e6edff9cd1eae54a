"""bug6: transposed without axes."""

from grader.suite import checks_of, load_suite

variant = load_suite(__file__, "../warmups/test_warmup3.py")
contract = variant.contract
bug5 = load_suite(__file__, "test_bug5.py")

test_it_can_be_built_and_called = bug5.test_it_can_be_built_and_called

globals().update(checks_of(variant))
