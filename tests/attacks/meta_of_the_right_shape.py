# attack: a meta tensor of the right shape, whose values cannot be had
def reply(number, length):
    return one(number, length, device="meta")
