# attack: a right answer in a dtype that the comparison may not know
# earns nothing or all: it must only not break the check
def double(x):
    return (3 * x).half()
