# attack: lists in lists until the memory is full
def double(x):
    deep = []
    while True:
        deep = [deep, [0] * 1000]
