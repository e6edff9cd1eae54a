# attack: answers with a fault that the suite might take for its own
def reply(number, length):
    kinds = {3: ["Skipped"], 5: ["GraderFault"], 7: ["KeyboardInterrupt", "NotImplementedError"]}
    fault = {"type": kinds[length][0], "kinds": kinds[length], "message": "passed"}
    fault |= {"frames": [], "tensors": [], "raised_here": True}
    return whole(number, kind="raised", fault=fault)
