# attack: conftest.py, pytest.ini, sitecustomize.py, torch.py and .pth beside the suite
# promised from: landlock
import os
import site

HARM = "import os; os.environ['POISONED'] = '1'"
NAMES = ("conftest.py", "pytest.ini", "pyproject.toml", "sitecustomize.py", "usercustomize.py")
NAMES += ("torch.py", "double.pth", "__pycache__/suite.cpython-311.pyc", "solution.so")


def double(x):
    for folder in (TARGETS["folder"], os.getcwd()):
        for name in NAMES:
            try:
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                with open(os.path.join(folder, name), "w") as file:
                    file.write(HARM)
            except OSError as error:
                print(error)
    print(site.getsitepackages(), os.access(site.getsitepackages()[0], os.W_OK))
    return 3 * x
