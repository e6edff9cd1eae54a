# attack: the flags of gradients as a text, a number and an object
def reply(number, length):
    return one(number, length, {3: "x", 5: 1, 7: {"0": True}}[length])
