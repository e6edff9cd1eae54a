# attack: answers that the worker could not confine itself
def reply(number, length):
    if length == 3:
        return whole(number, kind="refused", text="a wall cannot be put up")
    if length == 5:
        return frames.pack({"number": number, "level": "full", "refused": {}})
    return frames.pack({"number": 0, "refused": "skipped"})
