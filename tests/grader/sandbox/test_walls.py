"""Single walls, where the attacks do not reach them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from grader.cli import cli
from grader.errors import GradeError, GraderFault
from grader.grading import Options, grade
from grader.kit import Kit, load_kit
from grader.sandbox import launch, process
from grader.sandbox.process import Sandbox
from grader.sandbox.session import Session
from grader.sandbox.wall_check import CanaryResult
from grader.submission import Submission, read_submission
from grader.wire.levels import LEVELS, Limits
from grader.worker import removal
from grader.worker.removal import Remover
from grader.worker.walls import landlock, seccomp
from tests.support.drawing import sampled
from tests.support.paths import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="walls are Linux's")


def test_removal_touches_nothing_above_the_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o751)
    folder = tmp_path / "gone"
    Remover().remove(str(folder))
    Remover().remove("")
    assert tmp_path.stat().st_mode & 0o777 == 0o751


def test_removal_takes_what_is_closed_and_deep_but_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    folder = tmp_path / "scratch"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed" / "file").touch()
    (folder / "link").symlink_to(outside)
    (folder / "closed").chmod(0)
    remover = Remover()
    remover.remove(str(folder))
    remover.go_on(60.0)
    assert not folder.exists()
    folder.symlink_to(outside)
    remover.remove(str(folder))
    assert not folder.is_symlink()
    assert not remover.left
    assert outside.stat().st_mode & 0o777 == 0o500


def test_removal_that_takes_long_holds_nobody_up_and_what_is_left_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eleven thousand folders took 37 s, and the next worker waited for it."""
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder in folders:
        folder.mkdir()
        (folder / "file").touch()
    names = [str(folder) for folder in folders]
    monkeypatch.setattr(removal, "MAX_REMOVE_WAIT_S", 0.0)
    monkeypatch.setattr(removal, "SCRIPT", "exec sleep 600")
    remover = Remover()
    for name in names[:2]:
        remover.remove(name)
    assert remover.left == names[:2]
    os.kill(remover.pid, signal.SIGKILL)
    monkeypatch.undo()
    remover.go_on(60.0)
    assert remover.failed == remover.left == names[:1]
    remover.remove(names[2])
    remover.go_on(60.0)
    assert [folder.exists() for folder in folders] == [True, False, False]


@pytest.mark.slow("each level in a process that imports torch")
def test_level_that_cannot_be_had_is_refused_with_the_reason() -> None:
    code = (
        "from grader.sandbox.process import Sandbox\n"
        "from grader.errors import GraderFault\n"
        "with Sandbox() as auto: print(auto.isolation, sorted(auto.refused))\n"
        "try:\n    with Sandbox('full') as s: s.worker()\n"
        "except GraderFault as fault: print(fault)"
    )
    inner = f'echo 0 > /proc/sys/user/max_user_namespaces && exec {sys.executable} -c "$CODE"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", inner],
        capture_output=True, text=True, check=False, env={**os.environ, "CODE": code},
    )  # fmt: skip
    if "unshare" in done.stderr:
        pytest.skip(f"no user namespace to try it in: {done.stderr}")
    first, second = done.stdout.splitlines()
    assert first == "landlock ['full']", done.stderr
    assert "isolation is not available here: `full`: unshare" in second


def test_unknown_level_needs_linux_where_workers_are_spawned() -> None:
    with pytest.raises(GraderFault, match="needs Linux"):
        Sandbox("full", spawn=True)


def test_session_leaves_no_folder() -> None:
    def ours() -> set[str]:
        return {p.name for p in Path(tempfile.gettempdir()).iterdir() if p.name.startswith(name)}

    abandoned, new = (Path(tempfile.gettempdir(), f"grade-{1 << 22}-{what}") for what in "ab")
    abandoned.mkdir()
    new.mkdir()
    os.utime(abandoned, (0, 0))
    with Sandbox("process") as sandbox:
        name = f"grade-{sandbox._zygote.pid}-"
        worker = sandbox.worker()
        assert len(ours()) == 1
        worker.kill()
        assert not ours()
    assert not abandoned.exists()
    new.rmdir()


def test_a_device_may_be_controlled_and_nothing_else_that_may_be_written() -> None:
    if landlock.version() < 5:
        pytest.skip("this kernel's Landlock lets everybody control every device")
    code = (
        "import fcntl, sys\n"
        "from pathlib import Path\n"
        "from grader.worker.walls import landlock\n"
        "written, device = Path('/dev/random'), Path('/dev/urandom')\n"
        "landlock.enter(landlock.make_ruleset([], [written], [device]))\n"
        "for path in (written, device):\n"
        "    with path.open('rb') as file:\n"
        "        try: print(len(fcntl.ioctl(file, 0x80045200, bytes(4))))  # RNDGETENTCNT\n"
        "        except PermissionError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", "4"]


@pytest.mark.slow("a process that imports torch")
@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="torch would begin with CUDA here")
def test_driver_is_found_where_a_container_mounts_it(tmp_path: Path) -> None:
    (library,) = [
        Path(line.split(maxsplit=5)[5])
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        if re.search(r" r-xp .*/libm[.-]", line)
    ]
    shutil.copy(library, tmp_path / "libcuda.so.1")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from grader.worker.confine import readable_paths\n"
        "from grader.sandbox.process import Sandbox\n"
        "with Sandbox(on_gpu=True) as sandbox:\n"
        "    sandbox.isolation\n"
        "    print(Path(sys.argv[1]) in readable_paths(sandbox._confinement))\n"
    )
    for folder, found in ((tmp_path, "True"), (tmp_path / "empty", "False")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            capture_output=True, text=True, check=True,
            env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        )  # fmt: skip
        assert done.stdout.strip() == found


def test_memory_holds_what_it_held_after_it_was_gathered() -> None:
    code = (
        "import hashlib\n"
        "from grader.worker import hugepages\n"
        "kept = [bytes([n % 251]) * 40_000 for n in range(1000)]\n"
        "before = hashlib.sha256(b''.join(kept)).digest()\n"
        "print(len(list(hugepages._places())) > 5, hugepages.collapse() >= 0)\n"
        "print(hashlib.sha256(b''.join(kept)).digest() == before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]


# The weaker ones in rotation.
each_level = pytest.mark.parametrize(
    "level",
    [LEVELS[0], *(pytest.param(level, marks=sampled("weaker walls", 4)) for level in LEVELS[1:])],
)


def run_in_worker(level: str, source: str) -> str:
    """What a source prints while a worker at a level imports it, or skips."""
    with Sandbox(level, Limits(memory=512)) as sandbox:
        try:
            assert sandbox.isolation == level
        except GraderFault as fault:
            pytest.skip(f"level {level} is not available here: {fault}")
        session = Session(sandbox, Submission(Path("mine.py"), source), 60.0, 120.0)
        session.begin_check(1)
        session.close()
    assert session.load_error is None
    return session.said_on_load or ""


@each_level
def test_memory_is_bounded_beyond_what_python_and_torch_take(level: str) -> None:
    source = (
        "import mmap\n"
        "for mebibytes in (400, 700):\n"
        "    try: print(len(mmap.mmap(-1, mebibytes << 20)) >> 20)\n"
        "    except OSError as error: print(error.strerror)\n"
    )
    assert run_in_worker(level, source).splitlines() == ["400", "Cannot allocate memory"]


@each_level
def test_what_is_imported_or_looked_up_late_is_found_behind_the_walls(level: str) -> None:
    source = (
        "import importlib, sys\n"
        "for name in ('unicodedata', 'stringprep', 'decimal', '_elementtree', '_zoneinfo',\n"
        "             'statistics', 'fractions', 'cmath', 'array', 'unittest.mock', 'timeit',\n"
        "             'numpy.random', 'torch.func', 'torch.nn.attention', 'torch.nn.utils'):\n"
        "    importlib.import_module(name)\n"
        "for codec in ('idna', 'punycode', 'utf-16', 'cp1252', 'shift_jis', 'rot13', 'zip'):\n"
        "    __import__('codecs').lookup(codec)\n"
        "print('found')\n"
    )
    assert run_in_worker(level, source) == "found\n"


@each_level
def test_worker_holds_nothing_open_but_its_connection_and_its_output(level: str) -> None:
    source = (
        "import os, stat\n"
        "for number in range(300):\n"
        "    try: mode = os.fstat(number).st_mode\n"
        "    except OSError: continue\n"
        "    kind = 'socket' if stat.S_ISSOCK(mode) else 'pipe' if stat.S_ISFIFO(mode) else (\n"
        "        'device' if stat.S_ISCHR(mode) else oct(mode))\n"
        "    print(kind, end=' ')\n"
    )
    assert run_in_worker(level, source).split() == ["device", "pipe", "pipe", "socket"]


@each_level
def test_worker_looks_for_nothing_in_the_folder_of_the_grader(level: str) -> None:
    source = (
        "import sys\n"
        "print(sys.path, list(sys.path_importer_cache), sys.argv, sys.orig_argv, sys.meta_path)\n"
    )
    home = ROOT
    told = run_in_worker(level, source).replace(sys.prefix, "")  # which may lie in a checkout
    assert str(home) not in told


@each_level
def test_starting_a_worker_prints_nothing(level: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_in_worker(level, "") == ""
    assert capfd.readouterr() == ("", "")


def test_interpreter_is_told_of_a_fork_on_both_sides() -> None:
    code = (
        "import os\n"
        "from grader.worker.walls import namespaces\n"
        "told = []\n"
        "os.register_at_fork(before=lambda: told.append('before'),\n"
        "    after_in_parent=lambda: told.append('parent'),\n"
        "    after_in_child=lambda: told.append('child'))\n"
        "pid = namespaces.fork_into(0)\n"
        "if pid: os.waitpid(pid, 0)\n"
        "os.write(1, f'{told}\\n'.encode())\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['before', 'child']", "['before', 'parent']"]
    assert not done.stderr


def test_kit_in_a_folder_of_libraries_is_not_graded_with(
    tmp_path: Path, kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    libraries = tmp_path / "libraries"
    shutil.copytree(kit.home, libraries / "kit")
    paths = launch.import_paths()
    monkeypatch.setattr(launch, "import_paths", lambda: [*paths, str(libraries)])
    within = load_kit(libraries / "kit").find("double")
    with Sandbox() as sandbox:
        if sandbox.isolation == "process":
            pytest.skip("no level can be had here that hides any file")
        with pytest.raises(GradeError) as raised:
            grade(read_submission(within.solution), within, Options(device="cpu"), sandbox)
        assert "which submissions may read: move the kit out" in str(raised.value)
        assert "\n" not in str(raised.value)
        beside = kit.find("double")
        assert grade(read_submission(beside.solution), beside, Options(), sandbox).solved
    with Sandbox("process") as sandbox:
        assert grade(read_submission(within.solution), within, Options(), sandbox).solved


HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_of_system_calls_are_those_of_the_kernels_headers(machine: str) -> None:
    found = [path for path in map(Path, HEADERS[machine]) if path.is_file()]
    if not found:
        pytest.skip(f"no kernel headers for {machine} here: none of {HEADERS[machine]}")
    defined = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", found[0].read_text())
    known = {name: int(number) for name, number in defined}
    column = list(seccomp.ARCHITECTURES).index(machine)
    ours = {**seccomp.REFUSED_CALLS, **{name.lower(): getattr(seccomp, name) for name in (
        "CLONE", "CLONE3", "FALLOCATE", "KILL", "TGKILL", "SENDTO", "FCNTL", "IOCTL", "PRCTL",
    )}, "prlimit64": seccomp.PRLIMIT, "sched_setaffinity": seccomp.AFFINITY}  # fmt: skip
    newest = max(known.values())  # that these headers know
    wrong = {
        name: numbers[column]
        for name, numbers in ours.items()
        if known.get(name) != numbers[column] and (numbers[column] or 0) <= newest
    }
    assert not wrong
    assert len(known.keys() & ours.keys()) > 80


@pytest.mark.parametrize("level", ["full", "landlock"])
def test_what_takes_memory_of_the_kernels_own_is_refused(level: str) -> None:
    source = """
import ctypes, fcntl, os, tempfile
from grader.worker.walls.libc import MACHINE
from grader.worker.walls.seccomp import ARCHITECTURES, REFUSED_CALLS

libc = ctypes.CDLL(None, use_errno=True)
for name in ("socketpair", "timer_create", "flock", "modify_ldt", "sync", "syncfs", "statmount",
             "listmount", "landlock_create_ruleset", "landlock_add_rule"):
    number = REFUSED_CALLS[name][list(ARCHITECTURES).index(MACHINE)]
    if number is not None:
        print(name, libc.syscall(number, 1, 0, 0, 0), os.strerror(ctypes.get_errno()))
with tempfile.TemporaryFile() as file:
    try: print(fcntl.lockf(file, fcntl.LOCK_EX))
    except PermissionError: print("lock refused")
reader, writer = os.pipe()
try: print(fcntl.fcntl(writer, 1031, 1 << 20))
except PermissionError: print("larger pipe refused")
"""
    *calls, lock, pipe = run_in_worker(level, source).splitlines()
    assert [line for line in calls if not line.endswith(" -1 Operation not permitted")] == []
    assert (lock, pipe) == ("lock refused", "larger pipe refused")


def test_threads_are_bounded_for_root_too() -> None:
    """The kernel bounds no task of root's: three thousand threads ran where 64 were promised."""
    source = (
        "import os, threading\n"
        "threading.stack_size(1 << 16)\n"
        "stop, started = threading.Event(), []\n"
        "try:\n"
        "    while len(started) < 300:\n"
        "        started.append(threading.Thread(target=stop.wait))\n"
        "        started[-1].start()\n"
        "except RuntimeError: pass\n"
        "stop.set()\n"
        "print(len(started) - 1, os.getuid(), os.getgroups())\n"
    )
    count, user, groups = run_in_worker("full", source).split(maxsplit=2)
    assert int(count) <= 64
    assert user == "1000"
    assert groups.strip() in ("[]", "[65534]", "[1000]")


def test_doctor_says_how_threads_are_bounded() -> None:
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 0, done.output
    said = {line.split()[0]: line for line in done.output.splitlines() if line.startswith("  ")}
    assert "threads bounded by memory" in said["landlock"] or "not here" in said["landlock"]
    assert "at most 64 threads" in said["full"] or "not here" in said["full"]


@pytest.fixture
def full_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    real = process.try_walls

    def try_walls(level: str, worker: process.Worker, memory_is_bounded: bool) -> CanaryResult:
        tried = real(level, worker, memory_is_bounded)
        return CanaryResult([], "a worker reads a hidden file") if level == "full" else tried

    monkeypatch.setattr(process, "try_walls", try_walls)


@pytest.mark.usefixtures("full_is_open")
def test_next_level_is_taken_where_the_canary_finds_a_wall_open() -> None:
    with Sandbox() as sandbox:
        if "full" in sandbox.refused:
            pytest.skip(f"level full is not available here: {sandbox.refused}")
        assert sandbox.isolation == "landlock"
        assert sandbox.refused == {"full": "a worker reads a hidden file"}
        sandbox.worker().kill()


@pytest.mark.usefixtures("full_is_open")
def test_level_asked_for_by_name_is_refused_where_a_wall_is_open() -> None:
    with Sandbox("full") as sandbox:
        for _ in range(2):  # however often it is asked
            with pytest.raises(GraderFault, match=r"is not available here: `full`: "):
                sandbox.worker()


def test_canary_that_fails_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "canary.py"
    broken.write_text("def probe(path, port):\n    'x'.encode('no such codec')\n")
    monkeypatch.setattr("grader.sandbox.wall_check.CANARY_FILE", broken)
    with Sandbox("process") as sandbox, pytest.raises(GraderFault) as raised:
        sandbox.worker()
    assert str(raised.value) == (
        "isolation is not available here: `process`: its walls could not be tried: LookupError: "
        "unknown encoding: no such codec; see `grade doctor`"
    )
