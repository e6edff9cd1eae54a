"""What comes from a worker is bytes until it has been looked at."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable

import msgspec
import pytest
import torch

from grader.sandbox.replies import StepAnswer, read_reply, read_results
from grader.wire import frames, messages, packing, responses, values
from grader.wire.frames import BadFrame

CALL = messages.Call("f", [messages.Arguments({"tuple": []}, {"dict": {}})])


def reader(data: bytes) -> Callable[[int], bytes]:
    def receive(count: int) -> bytes:
        nonlocal data
        part, data = data[:count], data[count:]
        if len(part) < count:
            raise EOFError
        return part

    return receive


def unpack(data: bytes) -> tuple[responses.Reply, bytes]:
    return frames.unpack(reader(data), frames.MAX_REPLY_HEADER_BYTES, responses.Reply)


def head(magic: bytes = b"ADW1", header: int = 0, body: int = 0) -> bytes:
    return struct.pack("<4sIQ", magic, header, body)


def test_frame_goes_out_and_back() -> None:
    reply = responses.Reply(3, [responses.Refused(text="ü"), responses.Done(size=4)])
    assert unpack(frames.pack(reply, b"body")) == (reply, b"body")


@pytest.mark.parametrize(
    "data",
    [
        head(b"HTTP"),
        head(header=frames.MAX_REPLY_HEADER_BYTES + 1),
        head(header=2, body=frames.MAX_BODY_BYTES + 1) + b"{}",
        head(header=2) + b"[]",
        head(header=2) + b"{}",
        head(header=29) + b'{"number": "1", "answers": []}'[:29],
        head(header=47) + b'{"number": 1, "answers": [{"is": "no such one"}]}'[:47],
        head(header=4) + b"\xff\xfe\x00\x00",
        head(header=200_000) + b"[" * 200_000,
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(BadFrame):
        unpack(data)


@pytest.mark.parametrize("dtype", packing.DTYPES.values(), ids=str)
def test_every_dtype_crosses(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0, 1, 1], [1, 0, 0]]).to(dtype)
    specs, body = packing.dump_tensors([tensor, tensor[:0], tensor[0, 0]])
    for sent, got in zip(
        [tensor, tensor[:0], tensor[0, 0]], packing.load_tensors(specs, body), strict=True
    ):
        assert got.dtype == dtype
        assert torch.equal(got, sent)


def test_shared_memory_crosses_as_copies() -> None:
    whole = torch.arange(6.0)
    specs, body = packing.dump_tensors([whole, whole[:3], whole[:3]])
    first, second, third = packing.load_tensors(specs, body)
    second.zero_()
    assert torch.equal(first, whole)
    assert torch.equal(third, whole[:3])


def test_numbers_that_torch_has_not_written_yet_cross() -> None:
    x = torch.randn(3, requires_grad=True)
    (known_to_be_0,) = torch.autograd.grad(x.sgn().sum(), x)
    negated = torch.complex(x, x).detach().conj().imag
    sent = packing.load_tensors(*packing.dump_tensors([known_to_be_0, negated]))
    torch.testing.assert_close(sent, [torch.zeros(3), -x.detach()])


def test_bool_bytes_are_made_0_or_1() -> None:
    specs, body = packing.dump_tensors([torch.tensor([True, False])])
    body = body[:-2] + bytes([2, 0])
    (got,) = packing.load_tensors(specs, body)
    assert got.view(torch.uint8).tolist() == [1, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float64"},
        {"dtype": "object"},
        {"shape": [3, 3]},
        {"shape": [2, 2]},
        {"shape": [-2, -3]},
        {"shape": [2] * 20},
        {"shape": "23"},
        {"device": "cuda:0; rm"},
        {"stride": [0, 10**15]},
        {"stride": [1]},
        {"stride": [2**64, 1]},
        {"shape": [0, 2**63], "device": "meta"},
        {"shape": [2**62, 2**62, 0], "device": "meta"},
    ],
)
def test_spec_that_does_not_fit_its_bytes_is_refused(change: dict[str, object]) -> None:
    specs, body = packing.dump_tensors([torch.ones(2, 3)])
    spec = msgspec.structs.replace(specs[0], **change)
    with pytest.raises(BadFrame):
        packing.load_tensors([spec], body, strided=True)


@pytest.mark.parametrize("shape", [[2] * 17, [10**4000] * 60, [-1]])
def test_numbers_of_a_shape_are_bounded_before_anybody_multiplies_them(
    shape: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a million numbers took 67 s of the trusted side's time."""
    monkeypatch.setattr(values.math, "prod", None)
    named = {"name": "a", "value": None, "same_as": "a", "requires_grad": True}
    for answer in (
        {"is": "done", "tensors": [{"dtype": "float32", "shape": shape}]},
        {"is": "done", "tensors": [{"dtype": "float32", "shape": [2], "stride": [1] * 17}]},
        {"is": "created", "parameters": [{**named, "shape": shape}]},
    ):
        text = json.dumps({"number": 1, "answers": [answer]}).encode()
        with pytest.raises(BadFrame, match="no message of ours"):
            unpack(head(header=len(text)) + text)
    with pytest.raises(BadFrame):
        packing.load_tensors([messages.TensorSpec("float32", shape)], b"")


def test_strides_are_for_requests_alone() -> None:
    """Eight bytes that lie far apart would take gigabytes of whoever reads the answer."""
    specs, body = packing.dump_tensors([torch.ones(2, 3).mT], strided=True)
    with pytest.raises(BadFrame, match="strides"):
        packing.load_tensors(specs, body)
    (got,) = packing.load_tensors(specs, body, strided=True)
    assert got.stride() == (1, 3)


def test_missing_bytes_are_refused() -> None:
    specs, _ = packing.dump_tensors([torch.ones(2, 3)])
    with pytest.raises(BadFrame):
        packing.load_tensors(specs, b"")
    with pytest.raises(BadFrame):
        packing.load_tensors([messages.TensorSpec("float32", [10**9, 10**9], "meta")], b"")


@pytest.mark.parametrize(
    "tree",
    [
        *([], {}, {"tensor": 5}, {"tensor": -1}, {"tensor": True}, {"tensor": None}, {"list": 3}),
        *({"dict": []}, {"float": "x"}, {"float": 10**400}, {"unknown": 1}),
        {"list": [], "tuple": []},
    ],
)
def test_tree_of_another_form_is_refused(tree: object) -> None:
    with pytest.raises(BadFrame):
        values.decode(tree, [torch.ones(1)])


def test_name_in_a_dict_is_one_line() -> None:
    assert values.decode({"dict": {"a\nb": {"dict": {}}}}, []) == {"a�b": {}}


def test_mutated_answers_are_read_or_refused() -> None:
    rng = random.Random(0)
    specs, body = packing.dump_tensors([torch.ones(2, 3), torch.zeros(3, dtype=torch.bool)])
    tree = {"tuple": [{"tensor": 0}, 1.5]}
    called = responses.Called(results=[tree], grads=[], changed=[], tensors=specs, size=len(body))
    frame = frames.pack(responses.Reply(1, [called]), body)
    refused = 0
    for _ in range(3000):
        data = bytearray(frame)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            reply, rest = unpack(bytes(data))
            for answer in read_reply(reply, rest, [1]):
                if isinstance(answer, StepAnswer):
                    read_results(answer, CALL, [torch.zeros(1)])
        except (BadFrame, EOFError, ValueError):
            refused += 1
    assert refused > 1000


def test_unsendable_tensor_says_why() -> None:
    with pytest.raises(packing.Unsendable, match="larger than 64 MiB"):
        packing.dump_tensors([torch.zeros(1).expand(10**12)])
    with pytest.raises(packing.Unsendable, match="complex64"):
        packing.dump_tensors([torch.zeros(1, dtype=torch.complex64)])
    specs, body = packing.dump_tensors([torch.zeros(2)] * 1024)
    with pytest.raises(packing.Unsendable, match="has 1025 tensors, 1024 are allowed"):
        packing.dump_tensors([torch.zeros(2)] * 1025)
    with pytest.raises(BadFrame, match="it has 1025 tensors, 1024 are allowed"):
        packing.load_tensors([*specs, specs[0]], body + body[:8])


def test_spec_is_plain_json() -> None:
    specs, _ = packing.dump_tensors([torch.ones(2, 3).T], strided=True)
    assert msgspec.json.decode(msgspec.json.encode(specs), type=list[messages.TensorSpec]) == specs
    assert specs[0].stride == [1, 3]
