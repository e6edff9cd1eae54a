# attack: faults of which a field is missing, null or of another type
def reply(number, length):
    fault = {3: None, 5: {"type": 1}, 7: [["NotImplementedError"]]}[length]
    return whole(number, kind="raised", fault=fault)
