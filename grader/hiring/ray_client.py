"""The connection to a Ray cluster: one that is there, or one of its own on this machine."""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GradeError
from grader.hiring.ray_nodes import GraderActor, Node

REACH = 10.0  # for an answer from the address of a cluster, in seconds
TOKEN = "; where it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
STORE = 256 << 20  # for what is on its way on this machine, in bytes; more of it goes to the disk


@dataclass(frozen=True)
class Gone:
    """In the place of an answer: the process is gone, or is not to be trusted any more.

    Attributes:
        reason: Why, if it could say so itself.
    """

    reason: str = ""


class RayClient:
    """Ray, as far as a batch needs it.

    Args:
        address: Of a cluster that is there, or ``local``.
        size: How many processes a Ray of its own has room for; as many as cores where None.
        memory: What each may take with all that belongs to it, in MiB.

    Raises:
        GradeError: Ray is not installed, or the cluster cannot be used.
    """

    def __init__(self, address: str, size: int | None, memory: int) -> None:
        self._ray = _load()
        self._memory = memory
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        try:
            if address == "local":
                self._start(size or os.cpu_count() or 1)
            else:
                _reach(address)
                self._init(address)
        except (ImportError, OSError, RuntimeError, ValueError, self._ray.exceptions.RayError) as e:
            self.close()
            reason = str(e).strip().partition("\n")[0]
            hint = "" if address == "local" else TOKEN
            raise GradeError(f"Ray at `{address}` cannot be used: {reason}{hint}") from None
        except BaseException:
            self.close()
            raise
        self._actor_class = self._ray.remote(GraderActor)

    def close(self) -> None:
        """Leave the cluster, which ends the processes that were started there; end one's own."""
        self._ray.shutdown()
        if self._folder is not None:
            self._folder.cleanup()

    def nodes(self) -> list[Node]:
        """The machines that are there now."""
        return [Node.of(record) for record in self._ray.nodes() if record["Alive"]]

    def start_actor(self, node: Node, words: bytes, gpus: float) -> Any:
        """Start a ``GraderActor`` on a node, as soon as a core is free there."""
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor_class = self._actor_class.options(
            num_cpus=1,
            num_gpus=gpus,
            memory=self._memory << 20,
            scheduling_strategy=there(node.id, soft=False),
        )
        return actor_class.remote(words)

    def end(self, actor: Any) -> None:
        """End a process, whatever it is at."""
        self._ray.kill(actor)

    def answers(self, awaited: Sequence[Any], seconds: float) -> Iterator[tuple[Any, bytes | Gone]]:
        """What was awaited and is there; waits for one at least, but no longer than this.

        Args:
            awaited: What methods of actors gave.
            seconds: To wait.
        """
        for one in self._ray.wait(list(awaited), timeout=seconds)[0]:
            try:
                yield one, self._ray.get(one)
            except self._ray.exceptions.RayError as error:
                raised = isinstance(error, self._ray.exceptions.RayTaskError)
                said = raised or getattr(error, "actor_init_failed", False)
                yield one, Gone(str(error).strip().splitlines()[-1].strip() if said else "")

    def _start(self, size: int) -> None:
        """Start a Ray that nobody else can use or look into."""
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())  # else Ray keeps one at home
        # The paths of its sockets have to be short, and the folder it makes is open to everybody.
        self._folder = tempfile.TemporaryDirectory(
            prefix="grade-ray-", dir="/tmp", ignore_cleanup_errors=True
        )
        self._init(
            "local",
            num_cpus=size,
            include_dashboard=False,
            object_store_memory=STORE,
            _memory=size * (self._memory << 20),
            _temp_dir=str(Path(self._folder.name) / "ray"),
        )

    def _init(self, address: str, **more: Any) -> None:
        # Ray has no setting for this: when a node dies, it prints the end of that node's log.
        sys.modules["ray._private.worker"].__dict__["print_to_stdstream"] = lambda *_, **__: None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Ray Client connection timed out")  # an error follows
            self._ray.init(address, logging_level=logging.CRITICAL, log_to_driver=False, **more)


def _load() -> Any:
    """Ray, which is large and not always there."""
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise GradeError("--ray needs ray: python -m pip install 'ray[client]'") from None
    return ray


def _reach(address: str) -> None:
    """Fail soon where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not port.isdigit():
        raise GradeError(
            f"`{address}` is not the address of a Ray cluster; give auto, host:port or "
            "ray://host:port"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), REACH).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GradeError(f"no Ray answers at `{address}`: {reason}") from None
