# attack: a dict whose keys are those of the wire
def double(x):
    if len(x) == 3:
        return {"tensor": 0}
    return {"list": [{"opaque": "Tensor"}], "float": "nan", "number": 1, "refused": "no"}
