# attack: text with half a character, which nothing can encode again
def reply(number, length):
    form = {3: b'"\\ud800"', 5: b'"\\udfff\\u0000"', 7: b'{"opaque": "\\ud83d"}'}[length]
    return called(number, form)
