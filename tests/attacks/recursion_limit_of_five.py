# attack: the recursion limit is set so low that nothing else runs
def double(x):
    depth = 0
    while depth < 200:
        depth += 1
        try:
            sys.setrecursionlimit(depth)
            break
        except RecursionError:
            continue
    return 3 * x
