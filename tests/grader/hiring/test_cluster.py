"""A batch on a Ray cluster: the same results as on one machine, whatever dies in between."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from grader import __version__
from grader.cli import run_command
from grader.errors import GradeError
from grader.hiring.cluster import Cluster
from grader.hiring.process_pool import GradingPool
from grader.hiring.ray_nodes import MAX_GPU_SHARERS, Node, NodeCapabilities, gpu_share
from grader.hiring.store import BatchStore
from grader.hiring.tasks import PoolSettings, Task, TaskOutcome
from grader.kit import load_kit
from grader.kit.stubs import digest
from grader.sandbox.process import Sandbox
from tests.support.paths import ROOT, TINY_KIT
from tests.support.takehomes import write_record
from tests.support.terminal import COMMAND

MEMORY = 512
SEEDS = (0, 1, 2)
LONGEST = 120.0  # until a node has joined, in seconds
KILLS = """
    if "poison" in harness.session.source:
        __import__("os")._exit(1)
    if "hangs" in harness.session.source:
        __import__("threading").Event().wait()
"""
SPIES = """
import os, socket
def reach(what, action):
    try:
        print("reached", what, action())
    except OSError:
        pass
reach("folder", lambda: os.listdir({folder!r}))
reach("port", lambda: socket.create_connection({address!r}, 1))
print("variables", [name for name in os.environ if "RAY" in name])
def double(x):
    return 2 * x
"""
SLOW = "import time\ntime.sleep(0.2)\n"  # so that there is a middle in which to die
SOURCES = {
    "right": SLOW + "def double(x):\n    return 2 * x\n",
    "wrong": SLOW + "def double(x):\n    return x\n",
    "partly": SLOW + "def double(x):\n    return 2 * x if len(x) == 3 else x\n",
    "raises": SLOW + "def double(x):\n    raise ValueError(x.shape)\n",
    "syntax": "def double(x:\n",
}
ODD = 'import grader\ngrader.__version__ = "0.0.odd"\n'


def settings(kit: Path, **more: Any) -> PoolSettings:
    fields = {"isolation": "auto", "device": "auto", "timeout": 2.0, "memory": 256, "search": 10}
    return PoolSettings(kit=str(kit), **{**fields, **more})


def task(name: str, seed: int, source: str) -> Task:
    return Task(name, "double", seed, "double.py", source.encode())


def told(done: TaskOutcome) -> Any:
    """All that a grading found, but for times."""
    assert done.report is not None, done.fault
    return [
        (check.name, check.verdict, check.points, check.message) for check in done.report.checks
    ]


def on_several_nodes(test: Any) -> Any:
    """Mark a test that needs a cluster of several nodes, which takes 2 GiB."""
    return pytest.mark.exhaustive(pytest.mark.slow("starts a cluster of several nodes")(test))


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny kit, whose suite ends its own process where the submission says so."""
    folder = tmp_path_factory.mktemp("kits") / "kit"
    shutil.copytree(TINY_KIT, folder, ignore=shutil.ignore_patterns(".grade"))
    suite = folder / "tests/suites/basics/test_double.py"
    text = suite.read_text(encoding="utf-8")
    first = '    """2·x for x of this length."""\n'
    assert first in text
    suite.write_text(text.replace(first, first + KILLS), encoding="utf-8")
    manifest = folder / "exercises/kit.toml"
    stub = digest((folder / "exercises/basics/double.py").read_bytes())
    known = manifest.read_text(encoding="utf-8").replace("0" * len(stub), stub, 1)
    manifest.write_text(known, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def right(kit: Path) -> dict[tuple[str, int], Any]:
    """What the processes of one machine find."""
    tasks = [task(name, seed, SOURCES[name]) for name in SOURCES for seed in SEEDS]
    with GradingPool(settings(kit), 1) as pool:
        return {(one.candidate, one.seed): told(done) for one, done in pool.run(tasks)}


@pytest.fixture(scope="module", autouse=True)
def private() -> Iterator[None]:
    """Nothing that a Ray of these tests does is open to others, or found by them later."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir="/tmp") as folder:
        patch.setenv("RAY_AUTH_MODE", "token")  # Ray reads it when it is imported
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex())
        patch.setenv("RAY_TMPDIR", folder)  # short, since sockets are in it
        yield


@pytest.fixture(scope="module")
def ray(private: None) -> None:
    pytest.importorskip("ray", reason="needs ray, of the extra `cluster`")


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    folder = tmp_path / "handed"
    for name, source in SOURCES.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "double.py").write_text(source, encoding="utf-8")
    return folder


def words(handed: Path, kit: Path, out: Path, *more: str) -> list[str]:
    rules = {"seed": SEEDS[0], "seeds": len(SEEDS), "timeout": 2.0, "memory": 256}
    record = out.with_name("sent.toml")
    write_record(record, "double", kit=load_kit(kit), **rules)
    some = ["--kit", str(kit), "--takehome", str(record), "--out", str(out)]
    return ["batch", str(handed), *some, *more]


def count(out: Path) -> int:
    if not (out / "results.sqlite").exists():
        return 0
    with BatchStore(out / "results.sqlite") as store:
        return len(store.done())


def results(out: Path) -> dict[tuple[str, int], Any]:
    """What is in a store, into which nothing was put twice."""
    with BatchStore(out / "results.sqlite") as store:
        found = list(store.results())
        assert store._connection.execute("SELECT max(id) FROM result").fetchone() == (len(found),)
        return {(one.candidate, one.seed): told(TaskOutcome(one.report)) for one in found}


def ended(command: list[str], out: Path, enough: int, how: signal.Signals) -> int:
    """Send a command a signal as soon as it has so many results; its exit code."""
    with subprocess.Popen([sys.executable, *COMMAND, *command], stderr=subprocess.PIPE) as one:
        end = time.monotonic() + LONGEST
        while count(out) < enough and one.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        one.send_signal(how)
        _, err = one.communicate()
    assert enough <= count(out) < len(SOURCES) * len(SEEDS), err
    return one.returncode


@pytest.mark.slow("starts a cluster")
def test_ray_of_its_own_gives_the_same_and_leaves_nothing(
    ray: None, kit: Path, handed: Path, right: dict[tuple[str, int], Any], tmp_path: Path
) -> None:
    before = set(Path("/tmp").glob("grade-ray-*"))
    own = words(handed, kit, tmp_path / "out", "--ray", "--jobs", "1")
    command = [sys.executable, *COMMAND, *own]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr
    assert "15 graded" in done.stdout
    assert "ray" not in done.stderr.lower()
    assert results(tmp_path / "out") == right
    assert set(Path("/tmp").glob("grade-ray-*")) == before


class Machines:
    """A Ray cluster whose nodes are all on this machine: a head without a core, and others."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as OnOneMachine

        head = {"num_cpus": 0, "include_dashboard": False, "node_name": "head"}
        self.ray = OnOneMachine(initialize_head=True, head_node_args=head)
        self.nodes: dict[str, Any] = {}
        self.address: str = self.ray.address

    def add(self, name: str, **environment: str) -> None:
        added = self.ray.add_node(num_cpus=1, node_name=name, env_vars=environment)
        self.nodes[name] = added

    def kill(self, name: str) -> None:
        self.ray.remove_node(self.nodes.pop(name), allow_graceful=False)


@pytest.fixture(scope="module")
def machines(ray: None) -> Iterator[Machines]:
    made = Machines()
    try:
        made.add("first")
        made.add("second")
        yield made
    finally:
        made.ray.shutdown()


@dataclass
class Story:
    """A batch in which a process kills itself, a node is killed, and two nodes join."""

    isolation: str = ""
    outcomes: list[tuple[Task, TaskOutcome]] = field(default_factory=list)
    begun: list[Task] = field(default_factory=list)
    most_ahead: int = 0  # tasks that were taken before there was a result of theirs
    left_out: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # names of nodes

    def of(self, name: str) -> dict[int, TaskOutcome]:
        return {task.seed: done for task, done in self.outcomes if task.candidate == name}


@pytest.fixture(scope="module")
def story(machines: Machines, kit: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    told = Story()
    host, _, port = machines.address.rpartition(":")
    spy = SPIES.format(
        folder=machines.ray.head_node.get_session_dir_path(), address=(host, int(port))
    )
    odd = tmp_path_factory.mktemp("odd")
    (odd / "sitecustomize.py").write_text(ODD, encoding="utf-8")
    path = f"{odd}:{ROOT}"

    def tasks(cluster: Cluster) -> Iterator[Task]:
        for seed in SEEDS:
            yield from (task(name, seed, source) for name, source in SOURCES.items())
        yield task("spy", 0, spy)
        yield task("poison", 0, "# poison\n" + SOURCES["right"])
        seed, end = 3, time.monotonic() + LONGEST
        while time.monotonic() < end and (len(cluster.left_out) < 2 or "third" not in told.used):
            yield task("right", seed, SOURCES["right"])
            seed += 1

    def counted(tasks: Iterator[Task]) -> Iterator[Task]:
        for one in tasks:
            told.begun.append(one)
            told.most_ahead = max(told.most_ahead, len(told.begun) - len(told.outcomes))
            yield one

    with Cluster(settings(kit), machines.address, None, MEMORY) as cluster:
        told.isolation = cluster.capabilities.isolation
        for outcome in cluster.run(counted(tasks(cluster))):
            told.outcomes.append(outcome)
            told.used |= {slot.node.name for slot in cluster._slots if slot.up}
            if len(told.outcomes) == 5:
                machines.kill("first")
                machines.add("odd", PYTHONPATH=path)
            elif "odd" in machines.nodes and len(cluster.left_out) == 2:
                machines.kill("odd")  # before another one, as each takes 300 MiB
                machines.add("third")
        told.left_out = cluster.left_out
    return told


@on_several_nodes
def test_nothing_is_lost_and_nothing_done_twice(story: Story) -> None:
    done = [(task.candidate, task.seed) for task, _ in story.outcomes]
    assert len(done) == len(set(done))
    assert sorted(done) == sorted((task.candidate, task.seed) for task in story.begun)


@on_several_nodes
def test_results_are_those_of_one_machine(story: Story, right: dict[tuple[str, int], Any]) -> None:
    found = {(task.candidate, task.seed): done for task, done in story.outcomes}
    assert {key: told(found[key]) for key in right} == right


@on_several_nodes
def test_walls_hold_inside_ray(story: Story) -> None:
    with Sandbox() as sandbox:
        assert story.isolation == sandbox.isolation
    report = story.of("spy")[0].report
    assert report is not None
    assert report.isolation == story.isolation
    assert report.earned == 4
    assert "variables []" in report.output
    assert ("reached" in report.output) == (story.isolation == "process")


@on_several_nodes
def test_task_that_kills_its_process_is_given_up(story: Story) -> None:
    (done,) = story.of("poison").values()
    assert done.report is None
    assert "died 2 times" in done.fault
    others = [done for task, done in story.outcomes if task.candidate != "poison"]
    assert all(done.report for done in others)


@on_several_nodes
def test_task_that_hangs_is_given_up(
    machines: Machines, kit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.hiring.cluster.max_wall_s", lambda _: 10.0)
    tasks = [task("hangs", 0, "# hangs\n" + SOURCES["right"]), task("right", 0, SOURCES["right"])]
    with Cluster(settings(kit), machines.address, 1, MEMORY) as cluster:
        found = {one.candidate: done for one, done in cluster.run(tasks)}
    assert "hung" in found["hangs"].fault
    assert found["right"].report is not None


@on_several_nodes
def test_nodes_come_and_go(story: Story) -> None:
    assert story.used == {"first", "second", "third"}
    reasons = sorted(story.left_out.values())
    assert reasons == [
        "node `first` went away",
        f"node `odd` was left out: it has attention-drills `0.0.odd`, not `{__version__}` as here",
    ]


@on_several_nodes
def test_tasks_are_taken_as_there_are_processes_for_them(story: Story) -> None:
    assert 0 < story.most_ahead <= 4  # one for each process, and the one that is being told


@on_several_nodes
def test_node_that_cannot_grade_is_named(machines: Machines, kit: Path) -> None:
    with pytest.raises(GradeError, match=r"^node `[a-z]+` cannot grade: .* no device `mps`"):
        Cluster(settings(kit, device="mps"), machines.address, None, MEMORY)
    with pytest.raises(GradeError, match=r"^no node of the cluster has a core and 1048576000 MiB$"):
        Cluster(settings(kit), machines.address, None, 1000 << 20)


@on_several_nodes
def test_stopped_and_killed_batches_go_on_to_the_same_results(
    machines: Machines,
    kit: Path,
    handed: Path,
    right: dict[tuple[str, int], Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    command = words(handed, kit, out, "--ray", machines.address)
    assert ended(command, out, 3, signal.SIGINT) == 130
    assert ended(command, out, 8, signal.SIGKILL) == -signal.SIGKILL
    before = count(out)
    assert run_command(command) == 0
    assert f"{len(right) - before} graded, {before} were there before" in capsys.readouterr().out
    assert results(out) == right


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "handed",
            "`handed` is not the address of a Ray cluster; give auto, host:port or ray://host:port",
        ),
        ("127.0.0.1:1", "no Ray answers at `127.0.0.1:1`: Connection refused"),
    ],
)
def test_wrong_address_is_one_line(
    address: str,
    said: str,
    ray: None,
    kit: Path,
    handed: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command(words(handed, kit, tmp_path / "out", "--ray", address)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"grade: {said}")


def test_missing_ray_is_said(
    kit: Path,
    handed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run_command(words(handed, kit, tmp_path / "out", "--ray")) == 2
    said = "grade: --ray needs ray: python -m pip install 'ray[client]'\n"
    assert capsys.readouterr().err == said


def test_nodes_that_differ_are_told_apart() -> None:
    first = NodeCapabilities(isolation="full", torch="2.13.0")
    assert first.difference_from(first, "a") == ""
    other = NodeCapabilities(isolation="full", torch="2.9.1")
    assert other.difference_from(first, "a") == "it has torch `2.9.1`, not `2.13.0` as `a`"
    weaker = NodeCapabilities(isolation="landlock", torch="2.13.0")
    assert weaker.difference_from(first, "a").startswith(
        "it has isolation `landlock`, not `full` as `a`"
    )
    edited = NodeCapabilities(isolation="full", torch="2.13.0", kit="0123")
    assert edited.difference_from(first, "a").startswith("it has kit `0123`, not ``")


@pytest.mark.parametrize(("gpus", "cores"), [(1, 1), (1, 3), (1, 7), (2, 3), (4, 96), (8, 3)])
def test_every_process_finds_its_part_of_a_gpu(gpus: int, cores: int) -> None:
    node = Node("id", "a", {"CPU": cores, "GPU": gpus, "memory": 2.0**40})
    room = node.room(MEMORY, on_gpu=True)
    share = gpu_share(node.sharers(room))
    assert room == min(cores, MAX_GPU_SHARERS * gpus)
    assert share == round(share, 4) <= 1
    assert int(1 / share) * gpus >= room
    assert share > 0.9 / -(-room // gpus)


def test_node_has_room_for_what_it_has_cores_memory_and_gpus_for() -> None:
    node = Node("id", "a", {"CPU": 4.0, "memory": 3.5 * (MEMORY << 20)})
    assert node.room(MEMORY, on_gpu=False) == 3
    assert node.room(MEMORY, on_gpu=True) == 0
    assert Node("id", "head", {}).room(MEMORY, on_gpu=False) == 0


@pytest.mark.slow("starts a cluster")
def test_nodes_that_were_left_out_are_told(
    kit: Path,
    handed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Lonely(GradingPool):
        def __init__(
            self, settings: PoolSettings, address: str, size: int | None, memory: int
        ) -> None:
            assert (address, size) == ("host:1", 2)
            super().__init__(settings, 1)
            self.left_out = {"id": "node `b` went away"}

    monkeypatch.setattr("grader.hiring.beginning.Cluster", Lonely)
    assert run_command(words(handed, kit, tmp_path / "out", "--ray", "host:1", "--jobs", "2")) == 0
    assert "\ngrade: node `b` went away\n" in capsys.readouterr().err
