# attack: text with half a character, which nothing can encode again
def reply(number, length):
    form = {3: b'"\\ud800"', 5: b'"\\udfff\\u0000"', 7: b'{"opaque": "\\ud83d"}'}[length]
    text = b'{"number": %d, "answers": [{"is": "called", "grads": [], "changed": [], "results": [%s]}]}'
    text %= (number, form)
    return frames._HEAD.pack(b"ADW1", len(text), 0) + text
