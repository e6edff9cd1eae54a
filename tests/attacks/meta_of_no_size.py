# attack: meta tensors without elements whose sizes overflow
def reply(number, length):
    spec = {
        3: {"device": "meta", "shape": [0, 2**63]},
        5: {"device": "meta", "shape": [0, 2**62, 2**62]},
        7: {"device": "meta", "shape": [-1, -(2**40)]},
    }[length]
    return one(number, length, **spec)
