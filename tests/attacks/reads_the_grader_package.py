# attack: the grader's own source, in which a kit may lie
import os


def attempt():
    folder = os.path.dirname(sys.modules["grader"].__file__)
    return open(os.path.join(folder, "grading.py")).read() or os.listdir(folder)
