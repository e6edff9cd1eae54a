# attack: a fault with thousands of frames, that fill a screen
def reply(number, length):
    frame = {"file": "double.py", "line": 1, "function": "f", "source": "score 4 / 4"}
    fault = {"type": "E", "kinds": ["E"], "message": "m" * 90_000, "frames": [frame] * 2000}
    fault |= {"tensors": [], "raised_here": True}
    return whole(number, kind="raised", fault=fault)
