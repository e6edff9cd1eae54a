# attack: a result nested as deeply as the parser of JSON allows, and deeper
def reply(number, length):
    depth = {3: 900, 5: 480, 7: 20_000}[length]
    result = b'{"list":[' * depth + b"]}" * depth
    return called(number, result)
