# attack: an answer that is said to require a gradient
def reply(number, length):
    return one(number, length, requires_grad=True)
