# attack: a float written with 400 digits, an index with as many
def reply(number, length):
    digits = b"1" + b"0" * 400
    form = {3: b'{"float": %s}', 5: b'{"tensor": %s}', 7: b"%s"}[length] % digits
    return called(number, form)
