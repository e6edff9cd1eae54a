"""Many calls at once, calls that are called off, and clients that die."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from grader.kit import Kit
from grader.practice.history import open_history
from tests.support.assistant import KIT, Assistant, server
from tests.support.terminal import Terminal

RIGHT = KIT.find("warmup1").solution.read_text(encoding="utf-8")
ENDLESS = f"{RIGHT}\nwhile True:\n    pass\n"
WAIT = 120  # at most, for a process to be gone, in seconds


def below(process: psutil.Process) -> set[psutil.Process]:
    return set(process.children(recursive=True))


def wait_until_gone(processes: set[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=WAIT)
    assert alive == []


def server_of(assistant: Assistant, folder: Path) -> psutil.Process:
    """The process of the shared server."""
    mine = psutil.Process().children()
    (found,) = [one for one in mine if "mcp" in one.cmdline() and one.cwd() == str(folder)]
    return found


def looping(server: psutil.Process) -> set[psutil.Process]:
    """The workers that have computed for longer than a grading takes: the zygote's children."""
    found = set()
    for one in below(server) - set(server.children()):
        try:
            if one.cpu_times().user > 1:
                found.add(one)
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.slow("a server that imports torch")
def test_ten_at_once_take_turns(assistant: Assistant, drills: Kit, folder: Path) -> None:
    process = server_of(assistant, folder)
    seen: list[int] = []

    async def one(at: int, answers: dict[int, Any]) -> None:
        async def look(*_: object) -> None:
            seen.append(len(below(process)))

        call = partial(assistant.client.call_tool, progress_callback=look)
        source = RIGHT if at % 2 else RIGHT.replace("softmax(dim=-1)", "softmax(dim=-2)")
        if at < 8:
            answers[at] = await call("grade_text", {"exercise": "warmup1", "source": source})
        else:
            answers[at] = await call("grade_file", {"exercise": "warmup1"})

    async def all_of_them(count: int) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        async with anyio.create_task_group() as group:
            for at in range(count):
                group.start_soon(one, at, answers)
        return answers

    assistant.run(all_of_them, 1)
    alone = max(seen)
    seen.clear()
    answers = assistant.run(all_of_them, 10)
    assert [answers[at].structured_content["solved"] for at in range(8)] == [False, True] * 4
    assert max(seen) <= alone + 1  # a worker that ends, and the one after it
    with open_history(drills) as history:
        assert len(history.gradings()) == 2


def test_calling_off_ends_the_worker(assistant: Assistant, folder: Path) -> None:
    process = server_of(assistant, folder)
    assistant.told("grade_text", exercise="warmup1", source=RIGHT)
    call = assistant.client.call_tool

    async def call_off() -> set[psutil.Process]:
        async with anyio.create_task_group() as group:
            group.start_soon(call, "grade_text", {"exercise": "warmup1", "source": ENDLESS})
            while not (found := looping(process)):
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        return found

    gone = assistant.run(call_off)
    # It has an hour: what ends it is the call that was called off.
    found, _ = assistant.told("grade_text", exercise="warmup1", source=RIGHT)
    assert found["solved"]
    wait_until_gone(gone)


@pytest.fixture
def raw(drills: Kit) -> Iterator[subprocess.Popen[bytes]]:
    """A server whose other end is in our own hands."""
    one = server(drills.home, "--timeout", "3600")
    with subprocess.Popen(
        [one.command, *one.args],
        cwd=one.cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(drills.home), **(one.env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield process
        process.kill()


def say(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def request(number: int, method: str, **parameters: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(message).encode()


def greet(process: subprocess.Popen[bytes]) -> None:
    client = {"name": "raw", "version": "1"}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    say(process, request(1, "initialize", **asked))
    assert heard(process, 1)["result"]["serverInfo"]["name"] == "attention-drills"
    say(process, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')


def heard(process: subprocess.Popen[bytes], number: int) -> dict[str, Any]:
    """The answer of this number; every line before it is a message too."""
    assert process.stdout is not None
    while True:
        message: dict[str, Any] = json.loads(process.stdout.readline())
        if message.get("id") == number:
            return message


def test_noise_on_the_wire_ends_nothing(raw: subprocess.Popen[bytes]) -> None:
    greet(raw)
    arguments = {"exercise": "warmup1", "source": "x = '\ud800\udfff\udc80'"}
    noise = (
        *(b"", b"\x00", b"\xff\xfe\x00", b"{", b"[]", b"null", b"[" * 100_000, b"{}" * 1000),
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": "x"}',
        b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"}',
        request(8, "tools/call", name="grade_text", arguments=arguments),
        request(9, "tools/call", name="show_contract", arguments={"exercise": "\udcff"}),
        request(10, "no/such/method", anything=1),
    )
    for line in noise:
        say(raw, line)
    say(raw, request(20, "tools/call", name="show_contract", arguments={"exercise": "warmup1"}))
    assert "warmup1" in json.dumps(heard(raw, 20)["result"])


def test_ctrl_c_ends_it_in_a_terminal(drills: Kit) -> None:
    with Terminal(drills.home, "mcp") as terminal:
        terminal.until("Ctrl-C ends it")
        found = below(psutil.Process(terminal.child.pid))
        terminal.press("\x03")
        assert terminal.left() is None
        assert terminal.child.signalstatus == signal.SIGINT
    wait_until_gone(found)


@pytest.mark.slow("a server that imports torch")
@pytest.mark.parametrize("how", ["leaves", "dies"])
def test_client_that_dies_leaves_no_process(raw: subprocess.Popen[bytes], how: str) -> None:
    greet(raw)
    arguments = {"exercise": "warmup1", "source": ENDLESS}
    say(raw, request(2, "tools/call", name="grade_text", arguments=arguments))
    process = psutil.Process(raw.pid)
    deadline = time.monotonic() + WAIT
    while not looping(process):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    found = below(process)
    assert raw.stdin is not None
    assert raw.stdout is not None
    if how == "dies":
        raw.stdout.close()
    raw.stdin.close()
    assert raw.wait(timeout=WAIT) in (0, 1, 3)
    wait_until_gone(found)


@pytest.mark.slow("a server that imports torch")
def test_server_that_is_killed_leaves_no_process(raw: subprocess.Popen[bytes]) -> None:
    greet(raw)
    say(raw, request(2, "tools/call", name="grade_file", arguments={"exercise": "warmup1"}))
    heard(raw, 2)
    found = below(psutil.Process(raw.pid))
    assert found
    raw.kill()
    wait_until_gone(found)
