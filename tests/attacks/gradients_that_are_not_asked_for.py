# attack: flags of gradients and numbers of graphs out of nowhere
import json
import torch


def reply(number, length):
    graph = {3: 10**400, 5: "9" * 5000, 7: -1}[length]
    spec = {"dtype": "float32", "shape": [length]}
    head = {"results": [{"tensor": 0}], "grads": [True], "changed": []}
    sys.set_int_max_str_digits(0)
    body = save(torch.ones(length))
    answer = {"is": "called", **head, "graph": graph, "tensors": [spec], "size": len(body)}
    text = json.dumps({"number": number, "answers": [answer]}).encode()
    return frames._HEAD.pack(b"ADW1", len(text), len(body)) + text + body
