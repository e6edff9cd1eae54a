# attack: devices that are not there, or are no devices
def reply(number, length):
    spec = {
        3: {"device": "cuda:999"},
        5: {"device": "mps"},
        7: {"device": "privateuseone:0\n"},
    }[length]
    return one(number, length, **spec)
