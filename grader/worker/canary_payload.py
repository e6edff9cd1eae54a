"""Tries what no submission may do. A worker loads this file as a submission; nothing imports it.

The answer names every attempt that succeeds; a wall that holds raises ``OSError`` or
``MemoryError``. Any other exception shows nothing about the wall, and ends the trial. So nothing
here uses what Python would first have to look up or import, such as a host's name or a codec.
"""

import ctypes
import os
import socket


def _reads_a_hidden_file(path: str, port: int) -> object:
    return open(path, "rb").read(1)


def _lists_a_hidden_folder(path: str, port: int) -> object:
    return os.listdir(os.path.dirname(path))


def _writes_beside_it(path: str, port: int) -> object:
    open(path + ".written", "w").close()
    return True


def _changes_its_mode(path: str, port: int) -> object:
    os.chmod(path, 0o600)
    return True


def _connects_to_this_machine(path: str, port: int) -> object:
    with socket.socket() as caller:
        caller.settimeout(1)
        caller.connect(("127.0.0.1", port))
        return True


def _sends_a_datagram(path: str, port: int) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        return sender.sendto(b"x", ("127.0.0.1", port))


def _signals_its_parent(path: str, port: int) -> object:
    parent = os.getppid()
    os.kill(parent if parent else 1 << 22, 0)
    return parent


def _sees_other_processes(path: str, port: int) -> object:
    seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return len(seen) > 1


def _starts_a_process(path: str, port: int) -> object:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True


def _runs_a_program(path: str, port: int) -> object:
    return os.posix_spawn("/bin/true", ["true"], {})


def _takes_4_gib(path: str, port: int) -> object:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    return libc.malloc(4 << 30)


def _makes_a_namespace(path: str, port: int) -> object:
    if ctypes.CDLL(None).unshare(0x10000000):
        raise OSError
    return True


ATTEMPTS = (
    _reads_a_hidden_file,
    _lists_a_hidden_folder,
    _writes_beside_it,
    _changes_its_mode,
    _connects_to_this_machine,
    _sends_a_datagram,
    _signals_its_parent,
    _sees_other_processes,
    _starts_a_process,
    _runs_a_program,
    _takes_4_gib,
    _makes_a_namespace,
)


def probe(path: str, port: int) -> list[str]:
    """Attempt everything in ``ATTEMPTS``; return the names of the attempts that succeeded.

    Args:
        path: A file that the sandbox should hide.
        port: A port of this machine on which the process outside listens.
    """
    done = []
    for attempt in ATTEMPTS:
        try:
            if attempt(path, port):
                done.append(attempt.__name__.strip("_").replace("_", " "))
        except (OSError, MemoryError):
            continue
        except Exception as error:
            name = attempt.__name__.strip("_").replace("_", " ")
            raise RuntimeError(f"`{name}` ended with {type(error).__name__}: {error}") from None
    return done
