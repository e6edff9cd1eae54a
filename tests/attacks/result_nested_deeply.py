# attack: a result nested as deeply as the parser of JSON allows, and deeper
def reply(number, length):
    depth = {3: 900, 5: 480, 7: 20_000}[length]
    result = b'{"list":[' * depth + b"]}" * depth
    text = b'{"number": %d, "answers": [{"is": "called", "grads": [], "changed": [], "results": [%s]}]}'
    text %= (number, result)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text
