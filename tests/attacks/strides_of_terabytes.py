# attack: a small tensor whose strides ask for terabytes
def reply(number, length):
    spec = {3: {"stride": [2**31]}, 5: {"stride": [2**38]}, 7: {"stride": [2**61]}}[length]
    return one(number, length, **spec)
