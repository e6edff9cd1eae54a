def attend(q, k, v):
    scores = q @ k.mT / q.size(-1) ** 0.5
    weights = scores.softmax(-1)
    return weights @ v, weights
