"""Fuzz the trusted side's readers with bytes that were made to break them.

For each kind of data that strangers may hand over, honest samples are changed at random and read
as they are in use: some of their bytes, or, so that more of them are read to the end, a value
within a frame's header, a database or a notebook. Any exception but the declared ones ends the run.

Usage: python -m benchmarks.fuzz [frames|archives|notebooks|histories|results] [COUNT [SEED]]
"""

from __future__ import annotations

import io
import json
import math
import random
import resource
import sqlite3
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import closing, redirect_stderr, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import torch

from grader.errors import GradeError
from grader.hiring.archives import archive_contents, nested_contents
from grader.hiring.batch_records import BatchSettings, GradingResult
from grader.hiring.store import BatchStore
from grader.kit import installed_kit
from grader.outputs.progress_page import progress_page
from grader.practice.history import Event, History
from grader.practice.schedule import standings
from grader.records import CheckResult, Report, Verdict
from grader.sandbox import replies
from grader.submission import submission_of
from grader.wire import frames, messages, packing, responses
from grader.wire.frames import BadFrame

CALL = messages.Call("f", [messages.Arguments({"tuple": []}, {"dict": {}})])
FRAME_ERRORS = (BadFrame, EOFError, ValueError)
KIT = installed_kit()
WARM_UP_INPUTS = 100  # after which memory is measured, as first uses allocate more
ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**63 - 1, math.inf, [], {}, [None], "", "x", "\0", "\ud83d", "null"),
    *("9" * 5000, '{"a":' * 2000, "2026-01-01", "9999-12-31T23:59:59+23:59", "%%time\nx", "!ls"),
    *("def f(x:\n", "'''", "a\\", "await x", "x = !ls {x}", "\u2028x", "\r", "lambda: (yield)"),
]
FuzzTarget = tuple[list[bytes], Callable[[bytes], object]]


def reader(data: bytes) -> Callable[[int], bytes]:
    """Return a function that reads the bytes as from a connection, with EOFError at the end."""
    position = 0

    def receive(count: int) -> bytes:
        nonlocal position
        part = data[position : position + count]
        position += count
        if len(part) < count:
            raise EOFError
        return part

    return receive


def read_frame(data: bytes) -> None:
    """Read a frame as the channel and a call do."""
    reply, body = frames.unpack(reader(data), frames.MAX_REPLY_HEADER_BYTES, responses.Reply)
    for answered in replies.read_reply(reply, body, [2]):
        if isinstance(answered, replies.StepAnswer):
            replies.read_results(answered, CALL, [torch.zeros(1)])


def answers() -> list[bytes]:
    """Return honest answers of every kind, packed as frames."""
    tensors = [
        torch.randn(2, 3),
        torch.zeros(3, dtype=torch.bool),
        torch.ones(2, dtype=torch.int64),
    ]
    specs, body = packing.dump_tensors([*tensors, torch.empty(2, device="meta")])
    tree = {"dict": {"a": {"tensor": 0}, "b": {"tuple": [{"list": [1, None]}, {"float": "inf"}]}}}
    called = responses.Called(
        results=[tree], grads=[True], changed=[], tensors=specs, size=len(body)
    )
    fault = responses.RaisedFault("E", ["E"], "m", [], [], raised_here=True)
    raised = responses.Raised(fault=fault)
    replies = [([called], body), ([raised], b""), ([called, raised], body)]
    return [frames.pack(responses.Reply(1, answers), data) for answers, data in replies]


def change(rng: random.Random, frame: bytes) -> bytes:
    """Return a frame with random changes: bytes overwritten, inserted, cut, or made JSON tokens."""
    data = bytearray(frame)
    for _ in range(rng.randint(1, 5)):
        place = rng.randrange(len(data))
        match rng.randrange(5):
            case 0 | 1:
                data[place] = rng.randrange(256)
            case 2:
                data[place:place] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
            case 3:
                del data[place : place + rng.randint(1, 8)]
            case 4:
                data[place : place + 1] = rng.choice([b"[", b"{", b"9" * 30, b"-", b'"', b"1e999"])
        if not data:
            return frame
    return bytes(data)


def change_value(rng: random.Random, value: Any) -> Any:
    """Return a JSON value in which another stands in one place."""
    if isinstance(value, dict | list) and value and rng.random() < 0.8:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = rng.choice(keys)
        changed = value.copy()
        changed[key] = change_value(rng, value[key])
        return changed
    return rng.choice(ODD_VALUES)


def change_header(rng: random.Random, frame: bytes) -> bytes:
    """Return a frame in whose header another value stands in one place."""
    header, body = frames.unpack(reader(frame), frames.MAX_REPLY_HEADER_BYTES, Any)
    return frames.pack(msgspec.Raw(json.dumps(change_value(rng, header)).encode()), body)


def change_notebook(rng: random.Random, data: bytes) -> bytes:
    """Return a notebook in which another value stands in one place."""
    return json.dumps(change_value(rng, json.loads(data))).encode()


def change_cell(rng: random.Random, data: bytes) -> bytes:
    """Return an SQLite file in which another value stands in one column, or in the JSON there."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(data)
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        table = rng.choice([name for (name,) in tables])
        columns = connection.execute(f"PRAGMA table_info({table})")
        column = rng.choice([name for _, name, *_ in columns])
        (value,) = connection.execute(f"SELECT {column} FROM {table}").fetchone()
        if isinstance(value, str) and value.startswith("{"):
            odd = json.dumps(change_value(rng, json.loads(value)))
        else:
            odd = rng.choice([one for one in ODD_VALUES if not isinstance(one, list | dict)])
        with suppress(sqlite3.Error, UnicodeEncodeError), connection:
            connection.execute(f"UPDATE {table} SET {column} = ?", (odd,))
        return connection.serialize()


def archives() -> list[bytes]:
    """Return a zip and three tars, each of a file and an archive."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("exercise1.py", "x = 1\n" * 99)
    whole, made = {"a/exercise3.py": b"x = 1\n" * 99, "more.zip": inner.getvalue()}, []
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as file:
        for name, data in whole.items():
            file.writestr(name, data)
    for mode, form in (("w", tarfile.PAX_FORMAT), ("w:gz", tarfile.GNU_FORMAT), ("w:xz", None)):
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode=mode, format=form) as packed:  # type: ignore[call-overload]
            for name, data in whole.items():
                member = tarfile.TarInfo(name)
                member.size, member.pax_headers = len(data), {"comment": "é"}
                packed.addfile(member, io.BytesIO(data))
        made.append(tar.getvalue())
    return [outer.getvalue(), *made]


def read_archive(data: bytes) -> None:
    """Read an archive as a batch does in a process of its own."""
    endings = {b"PK": ".zip", b"\xfd7": ".tar.xz", b"\x1f\x8b": ".tar.gz"}
    contents = archive_contents(f"a{endings.get(data[:2], '.tar')}", lambda: io.BytesIO(data))
    contents.files.update(nested_contents(contents).files)
    for path, read in contents.files.items():
        submission_of(Path(path.name), read())


def notebooks() -> list[bytes]:
    """Return a notebook of each version of the format that is read."""
    cell = {"cell_type": "code", "source": ["%time x = 1\n", "!ls"], "outputs": [{"a": [1.5]}]}
    old = {"cell_type": "code", "input": "x = 1", "language": "python"}
    return [
        msgspec.json.encode({"nbformat": 4, "metadata": {}, "cells": [cell, cell]}),
        msgspec.json.encode({"nbformat": 3, "worksheets": [{"cells": [old, old]}]}),
    ]


def report() -> Report:
    """Return a minimal report, with one failed check."""
    check = CheckResult("test_a", Verdict.FAIL, 2, message="m", output="x", seconds=0.1)
    return Report(
        exercise="exercise3",
        submission="exercise3.py",
        sha256="0" * 64,
        checks=(check,),
        seed=1,
        device="cpu",
        isolation="full",
        started="2026-01-01T00:00:00+00:00",
        seconds=1.5,
        versions={"torch": "2"},
    )


def databases() -> tuple[bytes, bytes]:
    """Return a history and a batch's results as SQLite files, with a row in each table."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder) / "history.sqlite", Path(folder) / "results.sqlite"
        with History(first) as history:
            history.record(report(), "x = 1", own=True)
            history.record_event("exercise3", Event.SAVED, datetime.now(UTC))
            history.show_hints("exercise3", 1)
        with BatchStore(second) as store:
            store.begin_or_resume(
                BatchSettings("", ("exercise3",), (1,), "full", "cpu", 1.0, 1, "", "", "")
            )
            store.add(GradingResult("ann", "exercise3", 1, "exercise3.py", report(), "x = 1"))
            store.record_names({"ann": "Ann"})
        for path in (first, second):  # with small pages, so that less of the file is empty
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA page_size = 512")
                connection.execute("VACUUM")
        return first.read_bytes(), second.read_bytes()


def read_history(data: bytes) -> None:
    """Read a history as the commands do."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.sqlite"
        path.write_bytes(data)
        with redirect_stderr(io.StringIO()), History(path) as history:
            history.rename({"exercise1": "exercise3"})
            history.hints("exercise3")
            history.last_source("exercise3")
            progress_page("", [("exercise3", "")], history.gradings(), history.solved(), {})
            standings(KIT, history, datetime.now(UTC))


def read_results(data: bytes) -> None:
    """Read a batch's results as a batch that continues does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.sqlite"
        path.write_bytes(data)
        with BatchStore(path) as store:
            store.known_settings()
            store.done()
            store.names()
            store.nothing_to_grade()
            for result in store.results():
                result.report.to_builtins()


def main(kind: str = "frames", count: str = "10000", seed: str = "0") -> None:
    """Read changed inputs of one kind, and print refusals, the longest time and memory growth."""
    made: dict[str, Callable[[], FuzzTarget]] = {
        "frames": lambda: (answers(), read_frame),
        "archives": lambda: (archives(), read_archive),
        "notebooks": lambda: (notebooks(), lambda data: submission_of(Path("a.ipynb"), data)),
        "histories": lambda: ([databases()[0]], read_history),
        "results": lambda: ([databases()[1]], read_results),
    }
    within = {"frames": change_header, "notebooks": change_notebook}
    within |= {"histories": change_cell, "results": change_cell}
    rng, (honest, read) = random.Random(int(seed)), made[kind]()
    declared = FRAME_ERRORS if kind == "frames" else (GradeError,)
    refused, before, longest = 0, 0, 0.0
    for number in range(int(count)):
        if number == WARM_UP_INPUTS:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        how = within[kind] if kind in within and number % 2 else change
        data = how(rng, rng.choice(honest))
        began = time.process_time()
        try:
            read(data)
        except declared:
            refused += 1
        except BaseException:
            Path("fuzzed").write_bytes(data)
            raise
        longest = max(longest, time.process_time() - began)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{count} {kind}: {refused} refused, the rest read; {longest:.2f} s at most, memory grew "
        f"by {grown:.1f} MiB"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
