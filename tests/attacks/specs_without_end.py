# attack: one short answer with five thousand specs and no bytes
def reply(number, length):
    specs = [{"dtype": "float32", "shape": [10**9], "device": "meta"}] * 4500
    head = {"results": [{"tensor": 0}], "grads": [], "changed": []}
    return whole(number, **head, tensors=specs)
