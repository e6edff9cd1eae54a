"""The trusted side's reader against frames that were made to break it.

Usage: python benchmarks/fuzz.py [FRAMES]
"""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable

import torch

from grader.sandbox.replies import Answered, read_reply, read_results
from grader.wire import frames, messages, values
from grader.wire.frames import BadFrame

CALL = messages.Call("f", [messages.Arguments({"tuple": []}, {"dict": {}})])


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
    called = messages.Called(
        results=[tree], grads=[True], changed=[], tensors=specs, size=len(body)
    )
    fault = messages.RaisedFault("E", ["E"], "m", [], [], raised_here=True)
    raised = messages.Raised(fault=fault)
    replies = [([called], body), ([raised], b""), ([called, raised], body)]
    return [frames.pack(messages.Reply(1, answers), data) for answers, data in replies]


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
            reply, body = frames.unpack(receive, frames.MAX_REPLY_HEADER, messages.Reply)
            for answered in read_reply(reply, body, [2]):
                if isinstance(answered, Answered):
                    read_results(answered, CALL, [torch.zeros(1)])
        except (BadFrame, EOFError, ValueError):
            refused += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{count} frames: {refused} refused, the rest read; memory grew by {grown:.1f} MiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
