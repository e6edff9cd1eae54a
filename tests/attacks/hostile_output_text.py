# attack: terminal escapes, carriage returns and NUL in what is printed
def double(x):
    print("\x1b[2J\x1b[H\x1b]52;c;Y2FsYw==\x07\x9b2J\rscore 4 / 4\0\u2028\u202e")
    return 3 * x
