# attack: the worker found by frames gives one answer for ever
def double(x):
    frame = sys._getframe()
    while frame:
        worker = frame.f_locals.get("handler")
        if hasattr(worker, "answer"):
            kept = worker.do_call

            def do_call(call, tensors):
                return kept(call, [x])

            worker.do_call = do_call
        frame = frame.f_back
    return 3 * x
