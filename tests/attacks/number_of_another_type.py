# attack: the number of the request as a flag, a text and a fraction
def reply(number, length):
    false = {3: True, 5: str(number), 7: number + 0.0}[length]
    return whole(false, results=[None], grads=[], changed=[])
