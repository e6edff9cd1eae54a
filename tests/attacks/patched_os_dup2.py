# attack: the calls that set up descriptors are replaced for the next one
import os
import socket

os.dup2 = os.close = os.pipe = lambda *args, **kwargs: (0, 0)
os.read = lambda *args: b'{"verdict": "pass"}'
os.write = lambda descriptor, data: len(data)
os._exit = lambda status: None
socket.recv_fds = socket.send_fds = lambda *args: (b"", [], 0, None)
