# attack: shapes that are negative, empty, of 5000 dimensions
def reply(number, length):
    spec = {3: {"shape": [-3]}, 5: {"shape": []}, 7: {"shape": [1] * 5000}}[length]
    return one(number, length, **spec)
