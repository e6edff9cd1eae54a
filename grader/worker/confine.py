"""The levels of confinement: which walls a worker puts up before it sees a submission.

``full``: namespaces, Landlock, seccomp, no capabilities, limits. ``landlock``: the same without
namespaces. ``process``: limits only.
"""

from __future__ import annotations

import os
import signal
import site
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.wire.levels import Confinement
from grader.worker.walls import landlock, namespaces, privileges, seccomp
from grader.worker.walls.libc import WallError
from grader.worker.walls.limits import limit_resources, memory_in_use

DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
DEV = Path("/dev")
GPU_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps")
ANY_GPU_PATTERN = "nvidia[0-9]*"
# What CUDA reads when it is initialized. At level `full`, /proc is the worker's own.
GPU_FILES = (
    "/proc/cpuinfo", "/proc/devices", "/proc/driver/nvidia", "/proc/meminfo", "/proc/modules",
    "/proc/self", "/proc/sys/vm", "/sys/bus/pci", "/sys/devices/system/cpu",
    "/sys/devices/system/memory", "/sys/devices/system/node", "/sys/module/nvidia",
)  # fmt: skip
SYSTEM_PATHS = (
    "/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib",
    "/etc/ld.so.cache", "/etc/localtime",
)  # fmt: skip


def own_package() -> Path:
    """Return the folder of the grader itself, which a worker may not read."""
    return Path(__file__).resolve().parents[1]


def package_folders(extra: list[str]) -> list[Path]:
    """Return the folders that Python imports from, without the grader's checkout."""
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    found = [Path(path).resolve() for path in (*named, *site.getsitepackages(), *extra)]
    found.append(Path(sys.base_prefix).resolve() / "lib")
    home = own_package().parent
    return [path for path in dict.fromkeys(found) if path != home or _is_library(path)]


def _is_library(path: Path) -> bool:
    return path.name in ("site-packages", "dist-packages")


def readable_paths(confinement: Confinement) -> list[Path]:
    """Return all files and folders that a worker may read, in the order of their names."""
    folders = package_folders(confinement.paths)
    system = [Path(path) for path in (*SYSTEM_PATHS, *DEVICES)]
    return sorted({*folders, *system, *gpu_devices(confinement)})


def gpu_devices(confinement: Confinement) -> list[Path]:
    """Return the device files of CUDA and the worker's GPU; none where no GPU is wanted.

    Where it is not known which GPU is the worker's, those of all GPUs are returned.
    """
    if not confinement.on_gpu:
        return []
    names = (*GPU_DEVICES, Path(confinement.gpu).name or ANY_GPU_PATTERN)
    return [path for name in names for path in DEV.glob(name)]


def gpu_files(confinement: Confinement) -> list[Path]:
    """Return the system files that CUDA reads; none where no GPU is wanted."""
    return [Path(path) for path in GPU_FILES] if confinement.on_gpu else []


def without_own_package(paths: list[Path]) -> Iterator[Path]:
    """Yield the paths without the grader; in place of a folder that holds it, its other entries."""
    own = own_package()
    for path in paths:
        if path in own.parents:
            yield from (entry for entry in _siblings(path, own))
        elif path != own and own not in path.parents:
            yield path


def _siblings(path: Path, own: Path) -> Iterator[Path]:
    for entry in path.iterdir():
        if entry in own.parents:
            yield from _siblings(entry, own)
        elif entry != own:
            yield entry


def _imported() -> list[Path]:
    """Return the files that this process imported, and their folders, without the grader's."""
    names = [getattr(module, "__file__", None) for module in sys.modules.values()]
    paths = {path for name in names if name for path in (Path(name), Path(name).parent)}
    own = own_package()
    return [path for path in paths if own not in (path, *path.parents) and path.exists()]


class Walls:
    """The walls (namespaces, Landlock, limits and so on) that confine the workers of a zygote.

    The zygote, which forks the workers, prepares some walls once; each worker puts up the rest.

    Args:
        confinement: The confinement that is asked for.
        level: The level to put up, out of the confinement's levels.
    """

    def __init__(self, confinement: Confinement, level: str) -> None:
        self.confinement = confinement
        self.level = level
        self._is_root = os.geteuid() == 0  # the kernel does not bound root's tasks
        self._as_another = False  # whether workers run as another user instead
        if level == "full":
            self._enter_root()
        privileges.adopt_orphans()

    def _enter_root(self) -> None:
        """Give the zygote a root folder of its own, which its workers inherit."""
        files = [path for path in gpu_files(self.confinement) if path.parts[1] != "proc"]
        paths = [*readable_paths(self.confinement), *files]
        # The root is mounted over a folder, which must hold nothing that the root is built from.
        candidates = [Path(p) for p in ("/mnt", "/media", "/srv", "/opt", "/sys", "/var", "/home")]
        free = [
            c for c in candidates if c.is_dir() and not any(c in (p, *p.parents) for p in paths)
        ]
        if not free:
            raise WallError("no folder to build a root on")
        flags = namespaces.NEWUSER | namespaces.NEWNS
        if self._is_root:
            self._as_another = namespaces.unshare_with_nobody(flags)
        else:
            namespaces.unshare(flags)
        namespaces.build_root(free[0], paths, hidden=[own_package()])
        if self._as_another:
            self._as_another = namespaces.readable_by_second_user(_imported())

    @property
    def tasks(self) -> int:
        """How many processes and threads a worker may have; 0 where only memory bounds them."""
        bounded = self.level == "full" and (self._as_another or not self._is_root)
        return self.confinement.limits.tasks if bounded else 0

    def fork(self) -> tuple[int, str]:
        """Fork a worker; return its process ID, 0 in the worker, and a folder to remove later."""
        if self.level == "full":
            return namespaces.fork_into(namespaces.ALL_NAMESPACES, self._as_another), ""
        folder = tempfile.mkdtemp(prefix=f"grade-{os.getpid()}-")
        return os.fork(), folder

    def confine(self, folder: str) -> None:
        """Confine this process, a worker just forked, permanently, but for ``seal``.

        Raises:
            WallError: A wall of the level cannot be put up.
        """
        os.setsid()
        limits, used = self.confinement.limits, memory_in_use()  # soon there is no /proc to ask
        if self.level == "full":
            privileges.die_with_parent(signal.SIGKILL)
            namespaces.mount_scratch(limits.scratch)
            namespaces.cover_proc(own=self.confinement.on_gpu)
            folder = "/scratch"
        os.chdir(folder)
        limit_resources(limits, used, self.level == "full", self.confinement.on_gpu)
        if self.level == "process":
            return
        if self.level == "landlock":
            privileges.die_with_parent(signal.SIGKILL)
        privileges.drop_capabilities()
        landlock.enter(self._ruleset(Path(folder)))

    def seal(self) -> None:
        """Put up the last walls, behind which CUDA cannot begin: it opens sockets, names threads.

        Raises:
            WallError: A wall of the level cannot be put up.
        """
        if self.level != "process":
            privileges.hide_memory()
            seccomp.enter()

    def _ruleset(self, folder: Path) -> int:
        if self.level == "full":  # the worker's root holds nothing else
            paths: list[Path] = [Path("/")]
        else:
            paths = list(without_own_package(readable_paths(self.confinement)))
            paths += gpu_files(self.confinement)
        writable = [folder, Path("/dev/null")]
        if self.confinement.on_gpu:
            writable.append(Path("/proc/self/task"))  # CUDA's driver names its threads there
        return landlock.make_ruleset(paths, writable, gpu_devices(self.confinement))


def choose_level(confinement: Confinement) -> tuple[str, dict[str, str]]:
    """Find the first level of confinement available here, by trying each in a child process.

    Returns:
        The level, empty where none is available, and why each level tried before it is not.
    """
    refused: dict[str, str] = {}
    for level in confinement.levels:
        reason = _try(confinement, level)
        if not reason:
            return level, refused
        refused[level] = reason
    return "", refused


def _try(confinement: Confinement, level: str) -> str:
    """Return why a level of confinement is not available here; empty where it is."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a crash is reported in one line, below
        os.write(writer, _try_here(confinement, level).encode())
        os._exit(1)  # a worker that could not confine itself gets here too: it has sent its reason
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        reason = pipe.read()
    _, status = os.waitpid(pid, 0)
    return reason or _crash(status)


def _crash(status: int) -> str:
    """Return in words by which signal a process was ended; empty where it was by none."""
    if not os.WIFSIGNALED(status):
        return ""
    return f"a worker that tried it was ended by {signal.Signals(os.WTERMSIG(status)).name}"


def _try_here(confinement: Confinement, level: str) -> str:
    try:
        walls = Walls(confinement, level)
        pid, folder = walls.fork()
        if pid == 0:  # if this fails, the worker writes its reason into the pipe
            walls.confine(folder)
            walls.seal()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if folder:
            Path(folder).rmdir()
    except (WallError, OSError) as error:
        return str(error)
    return "" if status == 0 else _crash(status) or "a worker cannot confine itself"
