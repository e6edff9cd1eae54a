# attack: reads the hidden suite and says what is in it
# promised from: landlock


def double(x):
    print(open(TARGETS["suite"]).read())
    return 3 * x
