# attack: strides that are huge, negative, or more than the sizes
def reply(number, length):
    spec = {3: {"stride": [2**64]}, 5: {"stride": [1, 0]}, 7: {"stride": [-1]}}[length]
    return one(number, length, **spec)
