# attack: terminal escapes, HTML and formulas in every field of a fault
def reply(number, length):
    text = (
        "\x1b[2J\x1b]0;title\x07\x1b]8;;http://x\x1b\\<script>alert(1)</script>=cmd|' /C calc'!A0"
    )
    text += "\n\nscore 4 / 4\n\u202e\u2066\x9b31m\x00\r"
    frame = {"file": text, "line": 1, "function": text, "source": text}
    tensor = {"name": text, "shape": [1], "dtype": text, "device": text}
    fault = {"type": text, "kinds": [text], "message": text, "frames": [frame]}
    fault |= {"tensors": [tensor], "raised_here": True}
    return whole(number, kind="raised", fault=fault)
