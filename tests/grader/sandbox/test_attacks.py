"""Hostile submissions: none gains, leaks, harms or hangs, at any level that this machine offers.

Each file of ``tests/attacks`` is a submission for the tiny kit's ``double`` (2·x, (T,) -> (T,);
three checks, 4 points). Its mathematics is wrong unless its first lines say what it earns:
``# earns: 4``. ``# promised from: landlock`` means that level ``process`` cannot refuse it. It
finds a dict ``TARGETS`` in its globals with what an attacker would have to guess, and what
``common/before.py`` defines.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.errors import GraderFault
from grader.grading import Options, grade
from grader.kit import Kit
from grader.sandbox.process import Sandbox
from grader.submission import Submission, read_submission
from grader.wire.levels import LEVELS, Limits
from tests.support.attacking import attack
from tests.support.drawing import sampled
from tests.support.paths import ATTACKS

ATTACKS = sorted(ATTACKS.glob("*.py"))
SECRET = "SECRET-" + os.urandom(8).hex()
OPTIONS = Options(seed=1, device="cpu", timeout=1.5)
WEAKER = 20  # tests that are drawn each time, of 188 for each level
LONGEST = 25.0  # seconds of processor time: six checks that time out, and a start
TICK = 1 / os.sysconf("SC_CLK_TCK")
RIGHT = Submission(Path("double.py"), "def double(x):\n    return 2 * x\n")


@dataclass
class World:
    """What an attacker might want, and how to see whether he got it."""

    level: str
    sandbox: Sandbox
    folder: Path
    victim: subprocess.Popen[bytes]
    sockets: list[socket.socket]
    targets: dict[str, object]

    @property
    def scratch(self) -> str:
        """How the folders that this sandbox makes begin."""
        return f"grade-{self.sandbox._zygote.pid}-"

    def left(self) -> set[str]:
        """The folders of workers, until they are removed."""
        there = Path(tempfile.gettempdir()).iterdir()
        return {str(path) for path in there if path.name.startswith(self.scratch)}

    def files(self) -> set[str]:
        """Every file that must neither come nor go nor change."""
        found = {f"{p} {p.stat().st_mode} {p.stat().st_mtime_ns}" for p in self.folder.rglob("*")}
        return found | self.left()


# Behind the strongest walls that there are here all are tried each time, behind weaker ones some.
STRONGEST = "auto"
WALLS = [
    STRONGEST,
    *(pytest.param(level, marks=sampled("behind weaker walls", WEAKER)) for level in LEVELS[1:]),
]


@pytest.fixture(scope="module", params=WALLS)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    level = request.param
    folder = tmp_path_factory.mktemp("hidden")
    for name in ("suite.py", "solution.py", "sibling.py"):
        (folder / name).write_text(SECRET)
    os.environ["GRADE_SECRET"] = SECRET
    with ExitStack() as stack:
        sandbox = stack.enter_context(Sandbox(level, Limits(memory=512, cpu=30)))
        try:
            assert level in (STRONGEST, sandbox.isolation)
        except GraderFault as fault:
            pytest.skip(f"level {level} is not available here: {fault}")
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", 0))
        paths = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        paths.bind(str(folder / "datagrams"))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(folder / "unix"))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{SECRET[-8:]}")
        for listening in (unix, abstract):
            listening.listen()
        victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        targets = {
            "suite": str(folder / "suite.py"),
            "solution": str(folder / "solution.py"),
            "sibling": str(folder / "sibling.py"),
            "folder": str(folder),
            "tcp": server.getsockname()[1],
            "udp": datagrams.getsockname()[1],
            "datagrams": str(folder / "datagrams"),
            "unix": str(folder / "unix"),
            "abstract": f"\0{SECRET[-8:]}",
            "victim": victim.pid,
            "grader": os.getpid(),
            "zygote": sandbox._zygote.pid,
        }
        sockets = [server, datagrams, paths, unix, abstract]
        made = World(sandbox.isolation, sandbox, folder, victim, sockets, targets)
        for listening in made.sockets:
            listening.setblocking(False)
        yield made
    del os.environ["GRADE_SECRET"]


def header(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    comments = itertools.takewhile(lambda line: line.startswith("# "), lines)
    return dict(line[2:].split(": ", 1) for line in comments if ": " in line)


def descendants(pid: int) -> set[int]:
    """Numbers of all processes beneath one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_bytes()  # an attack's process may bear any name
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(b")")[2].split()[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def workers_time(world: World) -> float:
    """Processor time of the workers that have ended, in seconds."""
    stat = Path(f"/proc/{world.sandbox._zygote.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[13]) + int(stat[14])) * TICK


def contacted(world: World) -> list[str]:
    """Sockets that somebody has reached."""
    reached = []
    for listening in world.sockets:
        with suppress(BlockingIOError):
            while True:
                if listening.type == socket.SOCK_DGRAM:
                    listening.recv(100)
                else:
                    listening.accept()[0].close()
                reached.append(str(listening))
    return reached


@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_attack_gains_leaks_harms_and_hangs_nothing(world: World, path: Path, kit: Kit) -> None:
    facts = header(path)
    exercise = kit.find("double")
    before = world.files()
    started = workers_time(world)
    report = grade(attack(path, world.targets), exercise, OPTIONS, world.sandbox)
    taken = workers_time(world) - started

    assert report.earned <= int(facts.get("earns", 0)), report
    assert report.possible == 4
    assert taken < LONGEST
    removal = time.monotonic() + 300  # nobody waits for it but this test
    while world.left() - before and time.monotonic() < removal:
        time.sleep(0.1)
    if not (world.level == "process" and facts.get("promised from") == "landlock"):
        assert SECRET not in report.to_json()
        assert world.files() == before
        assert world.victim.poll() is None
        assert contacted(world) == []
    else:
        contacted(world)
        if world.victim.poll() is not None:
            pytest.fail("the victim is shared by all attacks: aim at another process")
    following = grade(RIGHT, exercise, OPTIONS, world.sandbox)
    assert following.solved, following
    assert descendants(world.sandbox._zygote.pid) == set(), "a process is left"


HONEST = {
    "byte-order mark and CRLF": "\ufeffdef double(x):\r\n    return 2 * x\r\n",
    "prints": "print('hello')\ndef double(x):\n    print(x)\n    return 2 * x\n",
    "demo under main": "def double(x):\n    return 2 * x\nif __name__ == '__main__':\n    exit()\n",
    "helper class": "class Helper:\n    factor = 2\ndef double(x):\n    return Helper.factor * x\n",
    "slow import": "import time\ntime.sleep(0.5)\ndef double(x):\n    return 2 * x\n",
    "common modules": "import asyncio, collections, functools, math, random, typing\n"
    "import numpy, torch.nn.functional\ndef double(x):\n    return 2 * x\n",
    "writes a temporary file": "import tempfile\ndef double(x):\n"
    "    with tempfile.TemporaryFile() as file:\n        file.write(b'x')\n    return 2 * x\n",
    "a thread of its own": "import threading\ndef double(x):\n    out = []\n"
    "    worker = threading.Thread(target=lambda: out.append(2 * x))\n    worker.start()\n"
    "    worker.join()\n    return out[0]\n",
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_odd_file_gets_full_marks(world: World, name: str, kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "double.py"
    path.write_bytes(HONEST[name].encode())
    report = grade(read_submission(path), kit.find("double"), OPTIONS, world.sandbox)
    assert report.solved, report


def test_there_are_enough_attacks() -> None:
    assert len(ATTACKS) >= 80


def test_kill_of_the_grader_leaves_nothing() -> None:
    code = (
        "import time; from grader.sandbox.process import Sandbox\n"
        "s = Sandbox(); w = s.worker(); print(s._zygote.pid, flush=True); time.sleep(60)"
    )
    grader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert grader.stdout is not None
    zygote = int(grader.stdout.readline())
    assert descendants(zygote)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    deadline = time.monotonic() + 300
    while Path(f"/proc/{zygote}/stat").exists() and time.monotonic() < deadline:
        if ") Z " in Path(f"/proc/{zygote}/stat").read_text():
            break  # ended, and waits for its new parent to notice
        time.sleep(0.05)
    assert not descendants(zygote)
    grader.stdout.close()
