# attack: headers that are a list, a number, empty, or two objects
def reply(number, length):
    text = {3: b"[]", 5: b"", 7: b'{"number": 1} {"number": 1}'}[length]
    return framed(text)
