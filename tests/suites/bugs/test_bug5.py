"""bug5: a constructor that never runs."""

from grader.suite.marks import points
from grader.suite.reuse import checks_of, load_suite
from grader.suite.trial import Trial

variant = load_suite(__file__, "../variants/test_exercise5.py")
subject = variant.subject


@points(4)
def test_it_can_be_built_and_called(trial: Trial) -> None:
    """Everything else needs a module that runs."""
    for sizes in subject.sizes:
        _ = trial.module(sizes, {}).call(trial.input(sizes)).out


globals().update(checks_of(variant))
