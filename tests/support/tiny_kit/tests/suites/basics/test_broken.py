"""broken: the suite's own fault, which must never be the submission's."""


def test_divides_by_zero(device: str) -> None:
    """A mistake of ours."""
    assert 1 / len([]) > 0
