# attack: urgent bytes, which make a socket readable without anything to read
def double(x):
    connection = find("connection")
    try:
        connection.send(b"!", 1)
    except OSError as error:
        print(error)
    return 3 * x
