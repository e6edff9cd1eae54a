# attack: numbers that JSON has not, a NUL, text that is no UTF-8
def reply(number, length):
    form = {3: b"NaN", 5: b'"\x00\xff\xfe\xed\xa0\x80"', 7: b"-Infinity"}[length]
    return called(number, form)
