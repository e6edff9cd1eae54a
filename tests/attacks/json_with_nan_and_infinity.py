# attack: numbers that JSON has not, a NUL, text that is no UTF-8
def reply(number, length):
    form = {3: b"NaN", 5: b'"\x00\xff\xfe\xed\xa0\x80"', 7: b"-Infinity"}[length]
    text = b'{"number": %d, "answers": [{"is": "called", "grads": [], "changed": [], "results": [%s]}]}'
    text %= (number, form)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text
