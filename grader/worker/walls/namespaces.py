"""Namespaces: a process sees no other process and no network, and has a root of its own.

Source: namespaces(7), user_namespaces(7), pivot_root(2), mount(2)
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterable
from pathlib import Path

from grader.worker.walls.libc import MACHINE, WallError, mount, syscall

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
ALL_NAMESPACES = NEWNS | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
INSIDE_UID = 1000
SECOND_UID = 1001  # in a zygote that root runs: nobody, as the kernel does not bound root's tasks
NOBODY_UID = 65534
SYSCALL_NUMBERS = {
    "x86_64": {"clone": 56, "unshare": 272, "pivot_root": 155, "umount2": 166},
    "aarch64": {"clone": 220, "unshare": 97, "pivot_root": 41, "umount2": 39},
}


def _syscall_number(name: str) -> int:
    if MACHINE not in SYSCALL_NUMBERS:
        raise WallError(f"{name}: no table of system calls for {MACHINE}")
    return SYSCALL_NUMBERS[MACHINE][name]


def unshare(flags: int) -> None:
    """Move this process into namespaces of its own.

    Raises:
        WallError: The system refuses.
    """
    user, group = os.geteuid(), os.getegid()
    syscall("unshare", _syscall_number("unshare"), flags)
    if flags & NEWUSER:
        _map_user(user, group)


def unshare_with_nobody(flags: int) -> bool:
    """Move this process of root's into namespaces of its own, with a second user: nobody.

    ``fork_into`` with ``another`` forks a child as that second user.

    Returns:
        Whether there is a second user; if not, there is root alone.

    Raises:
        WallError: The system refuses.
    """
    zygote = os.getpid()
    waits, go = os.pipe()
    helper = os.fork()
    if helper == 0:  # only a process outside may map the users inside
        try:
            os.close(go)
            os.read(waits, 1)
            _write_maps(zygote, f"{INSIDE_UID} 0 1\n{SECOND_UID} {NOBODY_UID} 1\n")
            os._exit(0)
        finally:
            os._exit(1)
    os.close(waits)
    try:
        syscall("unshare", _syscall_number("unshare"), flags)
    finally:
        os.close(go)
        _, status = os.waitpid(helper, 0)
    if status:
        _map_user(0, 0)
    return status == 0


def readable_by_second_user(paths: Iterable[Path]) -> bool:
    """Whether the second user may read all these files, which its imports need."""
    reader = os.fork()
    if reader == 0:
        try:
            _become(SECOND_UID)
            os._exit(0 if all(os.access(path, os.R_OK) for path in paths) else 1)
        finally:
            os._exit(1)
    return os.waitpid(reader, 0)[1] == 0


def fork_into(flags: int, another: bool = False) -> int:
    """Fork a child into namespaces of its own, in which it is the first process.

    ``os.fork`` takes no flags, so this function repeats what ``os.fork`` does: it tells the
    interpreter before and after, on both sides, and keeps the interpreter's lock in between. The
    interpreter takes locks before a fork, which the child releases; from Python 3.13 on, the child
    dies if it does not hold one of them. The C library's own fork handlers do not run; they are
    about locks of other threads, and there are none here.

    Args:
        flags: Which namespaces the child gets.
        another: Whether the child is the second user that ``unshare_with_nobody`` made.

    Returns:
        The child's process ID here, 0 in the child.

    Raises:
        WallError: The system refuses.

    Source: os.fork in CPython's Modules/posixmodule.c
    """
    user, group = os.geteuid(), os.getegid()
    number, python = _syscall_number("clone"), ctypes.pythonapi
    waits, go = os.pipe() if another else (-1, -1)
    python.PyOS_BeforeFork()
    pid = -1
    try:
        pid = syscall("clone", number, flags | signal.SIGCHLD, 0, 0, 0, 0, locked=True)
    finally:
        (python.PyOS_AfterFork_Parent if pid else python.PyOS_AfterFork_Child)()
    if another:
        _finish_fork_as_second_user(pid, waits, go)
    elif pid == 0 and flags & NEWUSER:
        _map_user(user, group)
    return pid


def _finish_fork_as_second_user(pid: int, waits: int, go: int) -> None:
    """Finish a fork, on both sides: the child waits until its parent has mapped its user."""
    if pid == 0:
        os.close(go)
        os.read(waits, 1)
        os.close(waits)
        _become(INSIDE_UID)
        return
    os.close(waits)
    try:
        _write_maps(pid, f"{INSIDE_UID} {SECOND_UID} 1")
    finally:
        os.close(go)


def _become(user: int) -> None:
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError as error:
        raise WallError(f"another user: {error.strerror}") from None


def _write_maps(pid: int, text: str) -> None:
    try:
        for kind in ("uid", "gid"):
            Path(f"/proc/{pid}/{kind}_map").write_text(text, encoding="ascii")
    except OSError as error:
        raise WallError(f"another user: {error.strerror}") from None


def _map_user(user: int, group: int) -> None:
    try:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{INSIDE_UID} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{INSIDE_UID} {group} 1", encoding="ascii")
    except OSError as error:
        raise WallError(f"user namespace: {error.strerror}") from None


def build_root(root: Path, readable: Iterable[Path], hidden: Iterable[Path]) -> None:
    """Make ``root`` the root of this process: it holds what may be read, /scratch and /proc.

    Args:
        root: The folder to mount the new root on.
        readable: Files and folders that appear, read-only, under their own names.
        hidden: Folders among them that appear empty.

    Raises:
        WallError: The system refuses.
    """
    mount("", "/", "", MS_REC | MS_PRIVATE)
    mount("tmpfs", str(root), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for path in sorted(set(readable)):
        _bind(path, root)
    for path in hidden:
        inside = root / path.relative_to("/")
        if inside.is_dir():
            mount("tmpfs", str(inside), "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k")
    (root / "scratch").mkdir()
    (root / "proc").mkdir()
    _bind(Path("/proc"), root, MS_REC)
    os.chdir(root)
    syscall("pivot_root", _syscall_number("pivot_root"), b".", b".")
    syscall("umount2", _syscall_number("umount2"), b".", MNT_DETACH)
    os.chdir("/")


def _bind(path: Path, root: Path, recursive: int = 0) -> None:
    inside = root / path.relative_to("/")
    if inside.exists() and not recursive:
        return  # it lies beneath a folder that is mounted already
    if path.is_dir():
        inside.mkdir(parents=True, exist_ok=True)
    elif path.exists():
        inside.parent.mkdir(parents=True, exist_ok=True)
        inside.touch()
    else:
        return
    mount(str(path), str(inside), "", MS_BIND | recursive)
    if not recursive:
        kept = os.statvfs(inside).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
        device = 0 if path.parent == Path("/dev") else MS_NODEV
        flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | device | kept
        mount("", str(inside), "", flags)


def cover_proc(own: bool) -> None:
    """Mount over /proc, which was needed to make namespaces, so that a submission cannot read it.

    Args:
        own: Whether to mount a fresh /proc, with this namespace's processes alone; else, an empty
            folder.

    Raises:
        WallError: The system refuses.
    """
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    if own:
        mount("proc", "/proc", "proc", flags)
    else:
        mount("tmpfs", "/proc", "tmpfs", flags | MS_RDONLY, "size=4k")


def mount_scratch(mebibytes: int) -> None:
    """Mount on /scratch a folder in memory that only this process has, and that ends with it."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    mount("tmpfs", "/scratch", "tmpfs", flags, f"size={mebibytes}m,nr_inodes=4096,mode=700")
