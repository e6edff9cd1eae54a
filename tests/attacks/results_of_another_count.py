# attack: more results than calls, none, and no list at all
def reply(number, length):
    results = {3: [1.0, 2.0], 5: [], 7: {"0": 1.0}}[length]
    head = {"results": results, "grads": [], "changed": []}
    return whole(number, **head, tensors=[])
