"""The connection to a Ray cluster: one that runs already, or one started on this machine."""

from __future__ import annotations

import contextlib
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

CONNECT_TIMEOUT_S = 10.0  # to a cluster's address
TOKEN_HINT = "; where it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
OBJECT_STORE_BYTES = 256 << 20  # of a local Ray; what exceeds it goes to the disk


@dataclass(frozen=True)
class ProcessGone:
    """In place of an answer: the process is gone, or cannot be trusted any more.

    Attributes:
        reason: The reason, if the process could say so itself; else empty.
    """

    reason: str = ""


class RayClient:
    """The part of Ray that a batch needs.

    Args:
        address: The address of a running cluster, or ``local`` to start one here.
        size: How many processes a cluster started here has room for; None for one per core.
        memory: The memory that each process may take, its submissions included, in MiB.

    Raises:
        GradeError: Ray is not installed, or the cluster cannot be used.
    """

    def __init__(self, address: str, size: int | None, memory: int) -> None:
        self._ray = _import_ray()
        self._memory = memory
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        try:
            if address == "local":
                self._start(size or os.cpu_count() or 1)
            else:
                _check_reachable(address)
                self._init(address)
        except (ImportError, OSError, RuntimeError, ValueError, self._ray.exceptions.RayError) as e:
            self.close()
            reason = str(e).strip().partition("\n")[0]
            hint = "" if address == "local" else TOKEN_HINT
            raise GradeError(f"Ray at `{address}` cannot be used: {reason}{hint}") from None
        except BaseException:
            self.close()
            raise
        self._actor_class = self._ray.remote(GraderActor)

    def close(self) -> None:
        """Leave the cluster, which ends the processes started there; stop one started here."""
        self._ray.shutdown()
        if self._folder is not None:
            self._folder.cleanup()

    def nodes(self) -> list[Node]:
        """Return the nodes that are alive now."""
        return [Node.of(record) for record in self._ray.nodes() if record["Alive"]]

    def start_actor(self, node: Node, message: bytes, gpus: float) -> Any:
        """Start a ``GraderActor`` on a node, as soon as a core is free there."""
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor_class = self._actor_class.options(
            num_cpus=1,
            num_gpus=gpus,
            memory=self._memory << 20,
            scheduling_strategy=there(node.id, soft=False),
        )
        return actor_class.remote(message)

    def end(self, actor: Any) -> None:
        """End a process, even in the middle of a task."""
        self._ray.kill(actor)

    def answers(
        self, awaited: Sequence[Any], seconds: float
    ) -> Iterator[tuple[Any, bytes | ProcessGone]]:
        """Yield the awaited answers that are there; wait for one at least, with a time limit.

        Each comes with its reference; ``ProcessGone`` stands for the answer of a lost process.

        Args:
            awaited: The references that calls of actors' methods returned.
            seconds: The time limit, in seconds.
        """
        for one in self._ray.wait(list(awaited), timeout=seconds)[0]:
            try:
                yield one, self._ray.get(one)
            except self._ray.exceptions.RayError as error:
                raised = isinstance(error, self._ray.exceptions.RayTaskError)
                said = raised or getattr(error, "actor_init_failed", False)
                yield one, ProcessGone(str(error).strip().splitlines()[-1].strip() if said else "")

    def _start(self, size: int) -> None:
        """Start a Ray that nobody else can use or look into."""
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())  # else Ray keeps one in ~
        # Ray's socket paths have to be short, and the folder that Ray makes is open to everybody.
        self._folder = tempfile.TemporaryDirectory(
            prefix="grade-ray-", dir="/tmp", ignore_cleanup_errors=True
        )
        self._init(
            "local",
            num_cpus=size,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE_BYTES,
            _memory=size * (self._memory << 20),
            _temp_dir=str(Path(self._folder.name) / "ray"),
        )

    def _init(self, address: str, **more: Any) -> None:
        # Ray has no setting for this: when a node dies, it prints the end of that node's log.
        sys.modules["ray._private.worker"].__dict__["print_to_stdstream"] = lambda *_, **__: None
        # Ray's processes import from the folder in which it began; ours may hold strangers' files.
        with warnings.catch_warnings(), contextlib.chdir("/"):
            warnings.filterwarnings("ignore", "Ray Client connection timed out")  # an error follows
            self._ray.init(address, logging_level=logging.CRITICAL, log_to_driver=False, **more)


def _import_ray() -> Any:
    """Import Ray, which is large and not always installed."""
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise GradeError("--ray needs ray: python -m pip install 'ray[client]'") from None
    return ray


def _check_reachable(address: str) -> None:
    """Fail soon where nothing listens at an address, as Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not port.isdigit():
        raise GradeError(
            f"`{address}` is not the address of a Ray cluster; give auto, host:port or "
            "ray://host:port"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GradeError(f"no Ray answers at `{address}`: {reason}") from None
