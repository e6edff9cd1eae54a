# attack: a float written with 400 digits, an index with as many
def reply(number, length):
    digits = b"1" + b"0" * 400
    form = {3: b'{"float": %s}', 5: b'{"tensor": %s}', 7: b"%s"}[length] % digits
    text = b'{"number": %d, "answers": [{"is": "called", "grads": [], "changed": [], "results": [%s]}]}'
    text %= (number, form)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text
