"""Hostile files that are made, not kept, and what they cost the grader itself.

Each is aimed at its time or its memory. Used by ``benchmarks/hostile.py`` too.
``python -m tests.support.hostile NAME`` grades one source as exercise1: seconds, MiB, solved.
"""

from __future__ import annotations

import bz2
import gc
import gzip
import io
import itertools
import json
import lzma
import string
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from grader.grading import Options, grade
from grader.kit import installed_kit
from grader.records import Explain
from grader.sandbox.process import Sandbox
from grader.submission import MAX_SOURCE_BYTES, read_submission, submission_of

LAYER = "\nimport torch\nfrom torch import nn\n\n\nclass SelfAttentionV1(nn.Module):\n"
FORWARD = f"""{LAYER}
    def __init__(self, hidden_dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(hidden_dim, hidden_dim) for _ in range(3))

    def forward(self, x):
        {{}}
"""
FORGES_ANSWERS = (
    """
import sys

msgspec = sys.modules["msgspec"]  # no exercise allows to import it
handler = sys.modules["grader.worker.handler"]
honest = handler.RequestHandler._answer_step


def answer_step(self, step, data):
    packed, sent, failed = honest(self, step, data)
    answer = msgspec.json.decode(packed)
    if answer["is"] != "refused":
        sent = change(answer, sent)
    return msgspec.Raw(msgspec.json.encode(answer)), sent, failed


handler.RequestHandler._answer_step = answer_step
"""
    + FORWARD
)


def _names_alike() -> str:
    names = [f"{'a' * 30}{n:05}" for n in range(2000)]
    return "\n".join(f"{name} = 0" for name in names) + FORWARD.format(f"return {'a' * 34}x")


def _raised(text: str) -> str:
    return FORWARD.format(f"raise AttributeError({text!r})")


def _full(of: str) -> str:
    """As many times a text as a submission may hold, and an answer beside it."""
    return of * ((MAX_SOURCE_BYTES - 1000) // len(of))


SOURCES: dict[str, Callable[[], str]] = {
    "names nearly alike": _names_alike,
    "a long name and 80 KB of others": lambda: (
        "\n".join(f"{'a' * 500}{n} = 0" for n in range(160)) + FORWARD.format(f"return {'a' * 501}")
    ),
    "another long name in every call": lambda: (
        "import random\n"
        + _names_alike().replace(
            f"return {'a' * 34}x",
            "raise NameError("
            "f\"name '{'a' * 28}{random.random()}' is not defined\".replace('0.', ''))",
        )
    ),
    "names a module that is not imported": lambda: _raised(
        "module 'torch._inductor.fx_passes' has no attribute 'x'"
    ),
    "names a module that makes what it is asked for": lambda: _raised(
        "module 'torch.classes.a.b' has no attribute 'x'"
    ),
    "an exception beside many calls": lambda: FORWARD.format(
        "if x is None:" + _full("\n            x" + ".a()" * 80) + "\n        None.foo"
    ),
    "a number of 100,000 digits": lambda: FORWARD.format(
        f"return getattr(torch, 0x{'f' * 100_000})"
    ),
    "a shape of 500,000 numbers": lambda: (
        "def change(answer, sent):\n"
        "    if answer['is'] == 'called':\n"
        "        answer['tensors'] = [{'dtype': 'uint8', 'shape': [2] * 400_000}]\n"
        "    return sent\n" + FORGES_ANSWERS.format("return x[0]")
    ),
    "one body under many names": lambda: (
        "def change(answer, sent):\n"
        "    if answer['is'] != 'created':\n        return sent\n"
        "    size = 60 << 20\n"
        "    answer['tensors'] = [{'dtype': 'uint8', 'shape': [size]}]\n"
        "    answer['size'] = size\n"
        "    answer['parameters'] = [{'name': f'q{n}', 'shape': [size], 'value': {'tensor': 0},\n"
        "        'same_as': f'q{n}', 'requires_grad': True} for n in range(60)]\n"
        "    return bytes(size)\n" + FORGES_ANSWERS.format("raise ValueError")
    ),
    "60 MiB where values are explained, or devices compared": lambda: FORWARD.format(
        "return x.new_ones(60 << 20, dtype=torch.uint8) if x.numel() in (273, 5397) else x * 0"
    ),
    "60 MiB of floats everywhere": lambda: FORWARD.format("return torch.ones(15 << 20)"),
    "an output of 200,000 numbers": lambda: FORWARD.format("return [0.5] * 200_000"),
    "1,000 tensors in every output": lambda: FORWARD.format("return [torch.ones(64)] * 1000"),
    "10,000 parameters of long names": lambda: FORWARD.format("return x").replace(
        "        super().__init__()\n",
        "        super().__init__()\n        for n in range(3000):\n"
        "            self.register_parameter('q' * 200 + str(n), nn.Parameter(torch.ones(1)))\n",
    ),
    "a quote that is escaped without end, below 2,001 brackets": lambda: (
        f"# {'{' * 2001}\nx = '" + _full("\\'")[2000:]
    ),
    "a name of 30,000 accents": lambda: "x" + "\u0316\u0300" * 15_000 + " = (\n",
    "accents that are letters until they are read": lambda: (
        f"a{(chr(0x301) * 99 + chr(0xFF9E)) * 300}{(chr(0x334) * 99 + chr(0xFF9E)) * 300} = 1\n"
    ),
    "an import of 65,000 dots": lambda: "import a" + _full(".a"),
    "many arguments that do not parse": lambda: f"def f({_full('a,')}a(",
    "many names": lambda: f"x = {_full('a,')}\n" + FORWARD.format("return x"),
    "many brackets": lambda: f"x = {_full('[],')}\n" + FORWARD.format("return x"),
    "many statements": lambda: _full("a=b\n") + FORWARD.format("return x"),
    "many calls of torch": lambda: (
        "import torch\n" + _full("torch.a.b.c\n") + FORWARD.format("return x")
    ),
}


def _zip(name: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    return _zip_of({name: data}, method)


def _zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def _notebook(cells: list[object], more: object = "") -> bytes:
    content = {"nbformat": 4, "cells": cells, "metadata": more}
    return _zip("exercise1.ipynb", json.dumps(content, ensure_ascii=False).encode())


def _cell(source: str, more: object = "") -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": more}


def _tar(names: Iterable[str], form: int = tarfile.PAX_FORMAT, **headers: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form, pax_headers=headers) as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    return made.getvalue()


def _padded(size: int) -> bytes:
    """A tar of so many zeros in one file, and of 40 that are looked into after it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, length in (("a.txt", size), *((f"{n}.py", 0) for n in range(40))):
            member = tarfile.TarInfo(name)
            member.size = length
            archive.addfile(member, io.BytesIO(bytes(length)))
    return made.getvalue()


def _pax_header_of(keys: int) -> bytes:
    """A file with a header of so many keys, which ``tarfile`` cannot be made to write."""
    records = b"".join(b"%d a%07d=\n" % (len(b"13 a0000000=\n"), n) for n in range(keys))
    member = tarfile.TarInfo("exercise1.py")
    member.type, member.size = tarfile.XHDTYPE, len(records)
    padding = bytes(-len(records) % tarfile.BLOCKSIZE)
    return (
        member.tobuf() + records + padding + tarfile.TarInfo("exercise1.py").tobuf() + bytes(1024)
    )


def _damaged(data: bytes) -> bytes:
    return data[:45] + bytes(range(200, 215)) + data[60:]


def _imported() -> str:
    return ",".join(map("".join, itertools.product(string.ascii_uppercase, repeat=3)))


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "a bomb by deflate": lambda: _zip("exercise1.py", b"#" * (300 << 20)),
    "a bomb by bzip2": lambda: _zip("exercise1.py", b"#" * (300 << 20), zipfile.ZIP_BZIP2),
    "a bomb by LZMA": lambda: _zip("exercise1.py", b"#" * (300 << 20), zipfile.ZIP_LZMA),
    "damaged LZMA": lambda: _damaged(_zip("exercise1.py", b"x = 1\n" * 999, zipfile.ZIP_LZMA)),
    "damaged deflate": lambda: _damaged(_zip("exercise1.py", b"x = 1\n" * 999)),
    "10,000 files": lambda: _zip_of({f"a{n}.py": b"" for n in range(10_000)}),
    "a notebook with 63 MiB of outputs": lambda: _notebook(
        [_cell("x = 1", "\U0001f600" + "a" * (63 << 20))]
    ),
    "a notebook of a million empty outputs": lambda: _notebook([_cell("x = 1", [{}] * 10_000_000)]),
    "a notebook of a million cells": lambda: _notebook([_cell("")] * 1_000_000),
    "a notebook of 4,500 cells that use each other": lambda: _notebook(
        [_cell(f"a{n} = a{n - 1}") for n in range(4500)] + [_cell("SelfAttentionV1 = a4499")]
    ),
    "a tar whose global header has 50,000 keys, of 2,000 files": lambda: lzma.compress(
        _tar((f"{n}.py" for n in range(2000)), **{f"k{n}": "" for n in range(50_000)})
    ),
    "a tar with a header of seven million keys": lambda: gzip.compress(_pax_header_of(7_000_000)),
    "a tar of 120 MiB of zeros before 40 files": lambda: bz2.compress(_padded(120 << 20)),
    "a notebook with 62 MiB of empty worksheets": lambda: _zip(
        "exercise1.ipynb",
        b'{"nbformat": 3, "worksheets": [' + b'{"cells":[]},' * 5_000_000 + b'{"cells":[]}]}',
    ),
    "a notebook of imports in many scopes": lambda: _notebook(
        [_cell(f"def g():\n import {_imported()}\n return {'lambda:' * 900}0\nSelfAttentionV1 = g")]
    ),
    "a notebook of a long line": lambda: _notebook([_cell("SelfAttentionV1 = " + _full("a?"))]),
    "a notebook of a long command": lambda: _notebook([_cell(f"cat [{'a,' * 240_000}=")]),
}


ARCHIVE_SUFFIXES = {b"PK": ".zip", b"BZ": ".tar.bz2", b"\xfd7": ".tar.xz", b"\x1f\x8b": ".tar.gz"}


def hand_in(name: str, folder: Path) -> None:
    """Write an archive, as handed in by one candidate."""
    data = ARCHIVES[name]()
    (folder / f"ada{ARCHIVE_SUFFIXES[data[:2]]}").write_bytes(data)


def own_cost(action: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of this process, and MiB above what it took before."""
    gc.collect()
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    started = time.process_time()
    action()
    return time.process_time() - started, _memory("VmHWM") - before


def _memory(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def cost_of(name: str) -> tuple[float, float, bool]:
    """What grading a source takes, once what is kept for all is there; and whether it is solved."""
    exercise = installed_kit().find("exercise1")
    options = Options(seed=1, device="cpu", timeout=2.0, explain=Explain.CAUSE)
    file = submission_of(Path("exercise1.py"), SOURCES[name]().encode())
    found = []
    with Sandbox() as sandbox:
        grade(read_submission(exercise.solution), exercise, options, sandbox)
        seconds, memory = own_cost(lambda: found.append(grade(file, exercise, options, sandbox)))
    return seconds, memory, found[0].solved


if __name__ == "__main__":
    sys.stdout.write(json.dumps(cost_of(sys.argv[1])))
