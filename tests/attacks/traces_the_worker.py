# attack: sys.settrace rewrites the worker's own local variables
import ctypes


def trace(frame, event, argument):
    if frame.f_code.co_name in ("answer", "do_call", "encode", "pack"):
        frame.f_locals.update(result=0, header={"verdict": "pass"}, grad=True)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
    return trace


def double(x):
    sys.settrace(trace)
    sys.setprofile(lambda frame, event, argument: None)
    frame = sys._getframe()
    while frame:
        frame.f_trace = trace
        frame = frame.f_back
    return 3 * x
