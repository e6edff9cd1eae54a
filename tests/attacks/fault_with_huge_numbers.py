# attack: a fault whose line has 4000 digits and whose sizes are negative
sys.set_int_max_str_digits(0)


def reply(number, length):
    frame = {"file": "x", "line": 10**4000, "function": "f", "source": ""}
    tensor = {"name": "x", "shape": [-1, 2**70], "dtype": "float32", "device": "cpu"}
    fault = {"type": "E", "kinds": [], "message": "", "frames": [frame], "tensors": [tensor]}
    answer = {"is": "raised", "fault": {**fault, "raised_here": 1 > 0}}
    text = str({"number": number, "answers": [answer]})
    text = text.replace("'", '"').replace("True", "true").encode()
    return framed(text)
