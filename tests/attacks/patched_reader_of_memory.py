# attack: what reads a tensor's bytes says that there are none
import ctypes

ctypes.string_at = lambda *args, **kwargs: b""
