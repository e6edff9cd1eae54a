# attack: an answer's tree holds a list that repeats the tensor
values = sys.modules["grader.wire.values"]
honest = values.encode


def encode(value, tensors):
    return {"list": [honest(value, tensors)] * 1000}


values.encode = encode
