# attack: two tensors over the bytes of one, bytes of nobody, sizes that overflow
def reply(number, length):
    spec = {"dtype": "float32", "shape": [length]}
    specs = {3: [spec, spec], 5: [spec], 7: [{"dtype": "float32", "shape": [0, 2**63]}, spec]}[length]
    head = {"results": [{"tensor": 0}], "grads": [False], "changed": []}
    body = bytes({3: 16, 5: 1 << 20, 7: 32}[length])
    return whole(number, body, **head, tensors=specs)
