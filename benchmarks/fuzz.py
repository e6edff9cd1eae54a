"""The trusted side's reader against frames that were made to break it.

Usage: python benchmarks/fuzz.py [FRAMES]
"""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable

import torch

from grader.sandbox.answers import read_answer, read_several
from grader.sandbox.faults import SubmissionError, SubmissionRefused
from grader.sandbox.wire import frames, values
from grader.sandbox.wire.frames import BadFrame


def reader(data: bytes) -> Callable[[int], bytes]:
    """Give out bytes as a connection would, and its end as an error."""
    position = 0

    def receive(count: int) -> bytes:
        nonlocal position
        part = data[position : position + count]
        position += count
        if len(part) < count:
            raise EOFError
        return part

    return receive


def seeds() -> list[bytes]:
    """Honest answers of every kind, to be changed."""
    tensors = [
        torch.randn(2, 3),
        torch.zeros(3, dtype=torch.bool),
        torch.ones(2, dtype=torch.int64),
    ]
    specs, body = values.dump_tensors([*tensors, torch.empty(2, device="meta")])
    tree = {"dict": {"a": {"tensor": 0}, "b": {"tuple": [{"list": [1, None]}, {"float": "inf"}]}}}
    answers = [
        ({"number": 1, "results": [tree], "grad": [True], "changed": []}, body),
        ({"number": 1, "fault": {"type": "E", "message": "m", "frames": [], "tensors": []}}, b""),
    ]
    parts = [({**header, "tensors": specs if data else []}, data) for header, data in answers]
    several = [{**header, "size": len(data)} for header, data in parts]
    whole = ({"number": 1, "several": several}, b"".join(data for _, data in parts))
    return [frames.pack(header, data) for header, data in (*parts, whole)]


def change(rng: random.Random, frame: bytes) -> bytes:
    """Another frame: bytes changed, cut, doubled, or lengths made to lie."""
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


def main(count: str = "1000000") -> None:
    """Read them all; any exception but the declared ones ends the run."""
    rng, honest = random.Random(0), seeds()
    refused, before = 0, 0
    for number in range(int(count)):
        if number == 10_000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            receive = reader(change(rng, rng.choice(honest)))
            header, body = frames.unpack(receive, frames.MAX_REPLY_HEADER)
            if "several" in header:
                read_several(header, body, 2)
            else:
                _, tensors = read_answer(header, body)
                values.decode(header.get("results"), tensors)
        except (BadFrame, EOFError, SubmissionError, SubmissionRefused):
            refused += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{count} frames: {refused} refused, the rest read; memory grew by {grown:.1f} MiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
