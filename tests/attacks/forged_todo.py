# attack: says that it is not written yet, with stub's own words
def reply(number, length):
    fault = {"type": "NotImplementedError", "kinds": ["NotImplementedError"], "message": ""}
    fault |= {"frames": [], "tensors": [], "raised_here": True}
    return whole(number, kind="raised", fault=fault, results=[{"tensor": 0}])
