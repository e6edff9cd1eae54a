"""Start a process of the worker's side, with only the environment that torch needs."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import shutil
import signal
import site
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from grader.sandbox.gpu import first_gpu
from grader.wire.levels import Confinement

# Memory that was freed is used again: otherwise each large tensor costs a page fault for every
# 4 KiB. (Large pages make it faster still, but a fault may then wait for 0.1 s.)
ALLOCATOR_SETTINGS = (
    f"glibc.malloc.mmap_threshold={32 << 20}",  # bytes; the most that glibc takes
    f"glibc.malloc.trim_threshold={256 << 20}",
)


def start(
    connection: socket.socket, confinement: Confinement, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a zygote or a spawned worker, with only the environment that torch needs."""
    environment = {
        "HOME": "/nonexistent",
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(import_paths()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": tempfile.gettempdir(),
        "GLIBC_TUNABLES": ":".join(ALLOCATOR_SETTINGS),
    }
    if confinement.on_gpu:
        names = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
        environment |= {name: os.environ[name] for name in names if name in os.environ}
        found, part = first_gpu(), environment.get("CUDA_VISIBLE_DEVICES", "").startswith("MIG")
        if confinement.gpu and found is not None and not part:
            environment["CUDA_VISIBLE_DEVICES"] = found.name  # by UUID: it can count no other GPUs
    number = str(connection.fileno())
    words = msgspec.json.encode(confinement).decode()
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-m", "grader.worker", number, words],
        cwd="/",
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=None if stdout is None else stdout,
        pass_fds=[connection.fileno()],
        start_new_session=True,
    )


def import_paths() -> list[str]:
    """Return the folders that the worker side imports from, other than Python's own."""
    found = [importlib.util.find_spec(name) for name in ("grader", "msgspec", "torch")]
    folders = {str(Path(spec.origin).parents[1]) for spec in found if spec and spec.origin}
    return sorted(folders - set(site.getsitepackages()))


def driver_folders() -> list[str]:
    """Return the folders of CUDA's driver, which containers mount outside the system's folders."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    found = [Path(line.split(maxsplit=5)[5]) for line in lines if "/libcuda.so" in line]
    return sorted({str(path.parent) for path in found})


class SpawnedProcess:
    """The process of a worker that was spawned, not forked by a zygote."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def begin_end(self) -> None:
        """Kill the process as ``end`` does, which has to wait for it."""
        self.end()

    def end(self) -> int:
        """Kill the process and its group, and remove its folder; return its wait status."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        for folder in Path(tempfile.gettempdir()).glob(f"grade-{self._process.pid}-*"):
            shutil.rmtree(folder, ignore_errors=True)
        return -code if code < 0 else code << 8
