# attack: heads of frames are packed with lengths that lie
class Lying:
    size = 16

    def pack(self, magic, header, body):
        return struct.pack("<4sIQ", magic, header, body + 100)

    def unpack(self, data):
        return struct.unpack("<4sIQ", data)


frames._HEAD = Lying()
