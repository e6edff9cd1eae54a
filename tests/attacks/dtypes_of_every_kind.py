# attack: dtypes that are not those of the bytes, or no dtypes
def reply(number, length):
    spec = {3: {"dtype": "int64"}, 5: {"dtype": "__class__"}, 7: {"dtype": "bool"}}[length]
    return one(number, length, **spec)
