# attack: a header with every key twice, the second forged
def reply(number, length):
    text = b'{"number": 0, "number": %d, "answers": [{"is": "refused", "text": "x", ' % number
    text += b'"is": "called", "results": [{"tensor": 0}], "grads": [], "changed": []}]}'
    return framed(text)
