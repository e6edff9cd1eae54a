"""A seccomp filter: system calls that no exercise needs are refused.

Written as BPF by hand, since the bindings ask for the system's libseccomp. Processes, programs,
sockets, other processes' memory, namespaces, mounts, keys and the kernel's own tools are closed;
calls newer than this table answer that they do not exist.

Source: https://docs.kernel.org/userspace-api/seccomp_filter.html, linux/audit.h,
asm/unistd_64.h (x86-64), asm-generic/unistd.h (aarch64)
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from grader.worker.walls.libc import MACHINE, WallError, syscall

SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER = 1
OF_ALL_THREADS = 1 | 1 << 4  # or an error: threads of CUDA's driver too
ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000
ERRNO = 0x00050000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000
NEWEST_SYSCALL = 462  # mseal, Linux 6.10
CLONE_THREAD = 0x00010000
CLONE_VFORK = 0x00004000  # a process that clones so waits in a state that no clock counts

EQUALS, HAS_BITS = 0x15, 0x45  # BPF_JMP | BPF_K with BPF_JEQ, BPF_JSET
MASK = 0x54  # BPF_ALU | BPF_AND | BPF_K

# Offsets in struct seccomp_data.
NUMBER_OFFSET, ARCH_OFFSET, ARGUMENTS_OFFSET = 0, 4, 16

# Numbers by name: x86-64, aarch64; None where the machine has no such call.
REFUSED_CALLS: dict[str, tuple[int | None, int | None]] = {
    # processes and programs
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    # sockets; those that are open already go on
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "bind": (49, 200),
    "listen": (50, 201), "accept4": (288, 242), "sendmsg": (46, 211), "recvmsg": (47, 212),
    "sendmmsg": (307, 269), "recvmmsg": (299, 243), "socketpair": (53, 199),
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "kcmp": (312, 272), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    # namespaces, mounts, the root
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442),
    # permissions and attributes of files, which Landlock does not guard
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
    "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10), "listxattr": (194, 11),
    "llistxattr": (195, 12), "flistxattr": (196, 13), "getxattrat": (464, 464),
    "listxattrat": (465, 465), "setxattrat": (463, 463), "removexattrat": (466, 466),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "mknod": (133, None),
    "mknodat": (259, 33), "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264),
    # watching what others do with files
    "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    # memory that no limit counts, shared objects
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgctl": (71, 187), "mq_unlink": (241, 181),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "mq_open": (240, 180),
    # memory of the kernel's own, which no limit counts either: timers, locks, rules, tables
    "timer_create": (222, 107), "flock": (73, 32), "modify_ldt": (154, None),
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
    # what others have mounted, and making them wait for a disk
    "statmount": (457, 457), "listmount": (458, 458), "sync": (162, 81), "syncfs": (306, 267),
    # the kernel's own tools
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "seccomp": (317, 277),  # a filter of its own may write each call into the machine's log
    "io_setup": (206, 0), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "personality": (135, 92), "syslog": (103, 116), "acct": (163, 89), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "quotactl": (179, 60), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "sethostname": (170, 161), "setdomainname": (171, 162),
}  # fmt: skip
# Calls that are allowed for some arguments only.
CLONE, CLONE3 = (56, 220), (435, 435)
KILL, TGKILL, PRLIMIT = (62, 129), (234, 131), (302, 261)
SENDTO, FCNTL, IOCTL, AFFINITY, PRCTL = (44, 206), (72, 25), (16, 29), (203, 122), (157, 167)
FALLOCATE = (285, 47)
# What is refused of fcntl: leases, owners of signals, watching a folder, locks, larger pipes; of
# ioctl: writing to a terminal; of prctl: outliving the parent, core dumps, another filter of calls,
# memory shared by what is in it; of sockets: which process is at the other end.
FCNTL_REFUSED = (1024, 1026, 8, 15, 10, 6, 7, 37, 38, 1031)
IOCTL_REFUSED = (0x5412, 0x541C)
# Whole groups, by the letter in each number. Of sockets: owners of signals; interfaces and
# addresses in the network of whoever made a socket. Of files: flags, versions, extents.
IOCTL_REFUSED_LETTERS, LETTER = (0x8900, 0x6600, 0x7600, 0x5800), 0x0000FF00
PRCTL_REFUSED = (1, 4, 22, 67)
GETSOCKOPT, SOCKOPT_REFUSED = (55, 209), (17, 77)


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


def _load(offset: int) -> bytes:
    return _op(0x20, offset)  # BPF_LD | BPF_W | BPF_ABS


def _unless_equal(value: int, skip: int) -> bytes:
    return _op(0x15, value, 0, skip)  # BPF_JMP | BPF_JEQ | BPF_K


def _answer(action: int) -> bytes:
    return _op(0x06, action)  # BPF_RET | BPF_K


REFUSE = _answer(ERRNO | errno.EPERM)
ABSENT = _answer(ERRNO | errno.ENOSYS)


def program() -> bytes:
    """Return the filter for this process, which lets it send signals to its own ID only.

    Raises:
        WallError: There is no table for this machine.
    """
    if MACHINE not in ARCHITECTURES:
        raise WallError(f"seccomp: no table of system calls for {MACHINE}")
    column = list(ARCHITECTURES).index(MACHINE)
    own = os.getpid()
    parts = [_load(ARCH_OFFSET), _op(0x15, ARCHITECTURES[MACHINE], 1, 0), _answer(KILL_PROCESS)]
    parts += [
        _load(NUMBER_OFFSET),
        _op(0x35, NEWEST_SYSCALL + 1, 0, 1),
        ABSENT,
    ]  # BPF_JGE: x32 calls too
    for numbers in REFUSED_CALLS.values():
        if (number := numbers[column]) is not None:
            parts += [_unless_equal(number, 1), REFUSE]
    parts += [_unless_equal(CLONE3[column], 1), ABSENT]  # libc falls back to clone
    parts += _refuse_bits(CLONE[column], _low(0), CLONE_VFORK)
    parts += _allow_only(CLONE[column], (_low(0), HAS_BITS, CLONE_THREAD))
    for numbers in (KILL, TGKILL):
        parts += _allow_only(numbers[column], (_low(0), EQUALS, own))
    # Without a mode: one of the modes takes room on a disk that the size of a file does not show.
    parts += _allow_only(FALLOCATE[column], (_low(1), EQUALS, 0))
    for numbers in (PRLIMIT, AFFINITY):
        parts += _allow_only(numbers[column], (_low(0), EQUALS, 0))
    parts += _refuse_values(FCNTL[column], _low(1), FCNTL_REFUSED)
    for letter in IOCTL_REFUSED_LETTERS:
        parts += _refuse_group(IOCTL[column], _low(1), letter)
    parts += _refuse_values(IOCTL[column], _low(1), IOCTL_REFUSED)
    parts += _refuse_values(PRCTL[column], _low(0), PRCTL_REFUSED)
    parts += _refuse_values(GETSOCKOPT[column], _low(2), SOCKOPT_REFUSED)
    # To the peer of a connected socket only, never to an address: that pointer is 0 in both halves.
    parts += _allow_only(SENDTO[column], (_low(4), EQUALS, 0), (_low(4) + 4, EQUALS, 0))
    return b"".join([*parts, _answer(ALLOW)])


def _low(argument: int) -> int:
    """Return the offset of the lower half of a call's argument."""
    return ARGUMENTS_OFFSET + 8 * argument


def _allow_only(number: int, *tests: tuple[int, int, int]) -> list[bytes]:
    """Return instructions that allow a call if every test of its arguments holds, else refuse it.

    A test is the argument's offset, the jump instruction that compares it, and the value.
    """
    steps = []
    for position, (offset, jump, value) in enumerate(tests, start=1):
        left = 2 * (len(tests) - position)  # instructions up to the refusal
        steps += [_load(offset), _op(jump, value, 0 if left else 1, left)]
    return [_unless_equal(number, len(steps) + 2), *steps, REFUSE, _answer(ALLOW)]


def _refuse_values(number: int, offset: int, values: tuple[int, ...]) -> list[bytes]:
    """Return instructions that refuse a call if the argument at an offset has one of the values.

    With any other value, the call is allowed.
    """
    steps = [_load(offset)]
    for value in values:
        steps += [_unless_equal(value, 1), REFUSE]
    return [_unless_equal(number, len(steps) + 1), *steps, _answer(ALLOW)]


def _refuse_bits(number: int, offset: int, bits: int) -> list[bytes]:
    """Return instructions that refuse a call if the argument at an offset has any of these bits."""
    return _refuse_if(number, offset, _op(HAS_BITS, bits, 0, 1))


def _refuse_group(number: int, offset: int, group: int) -> list[bytes]:
    """Return instructions that refuse a call if the argument at an offset is of this group."""
    return _refuse_if(number, offset, _op(MASK, LETTER), _unless_equal(group, 1))


def _refuse_if(number: int, offset: int, *test: bytes) -> list[bytes]:
    """Return instructions that refuse a call unless a test of an argument jumps over the refusal.

    Otherwise, the instructions after these decide about the call.
    """
    steps = [_load(offset), *test, REFUSE, _load(NUMBER_OFFSET)]
    return [_unless_equal(number, len(steps)), *steps]


def enter() -> None:
    """Filter the system calls of all threads, permanently; "no new privileges" must be set before.

    Raises:
        WallError: The kernel refuses, or there is no table for this machine.
    """
    code = program()
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(
        struct.pack("<HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    )
    syscall("seccomp", SECCOMP[MACHINE], SET_MODE_FILTER, OF_ALL_THREADS, header)
