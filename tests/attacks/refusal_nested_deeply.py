# attack: a refusal that is a list 900 deep, of which the text cannot be had
def reply(number, length):
    text = b'{"number": %d, "answers": [{"is": "refused", "text": ' % number
    text += b"[" * 900 + b"]" * 900 + b"}]}"
    return framed(text)
