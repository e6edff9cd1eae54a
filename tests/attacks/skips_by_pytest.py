# attack: pytest.skip, pytest.xfail and pytest.exit in forward
import pytest


def double(x):
    if len(x) == 3:
        pytest.skip("no points can be lost", allow_module_level=True)
    if len(x) == 5:
        pytest.xfail("expected to fail")
    pytest.exit("all passed", returncode=0)
