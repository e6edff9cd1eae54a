"""What a submission computes is the same however it is cut, ordered and named."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext, suppress
from textwrap import indent

import pytest

from grader.hiring.dataflow import TooMuch, contract_of, parsing, read_operations
from tests.support.disguises import disguise
from tests.support.independent import WRITTEN, answers, stub_of

STUB = '''"""Mix: queries of x, weighted by w."""

from torch import nn


def mix(x, w): ...


class Mixer(nn.Module):
    def __init__(self, width): ...

    def forward(self, x): ...
'''
CONTRACT = contract_of(STUB)


def operations(source: str) -> set[str]:
    return {one.what for one in read_operations(source, CONTRACT)}


def mix(*lines: str, before: str = "") -> set[str]:
    body = "".join(f"    {line}\n" for line in lines)
    return operations(f"import torch\n{before}\ndef mix(x, w):\n{body}")


def mixer(init: str, forward: str, more: str = "") -> set[str]:
    return operations(
        "import torch\nfrom torch import nn\n\nclass Mixer(nn.Module):\n"
        f"    def __init__(self, width):\n        super().__init__()\n        {init}\n\n"
        f"    def forward(self, x):\n        {forward}\n\n{more}"
    )


PLAIN = mix("return torch.relu(x @ w.T / 2).sum(-1)")


@pytest.mark.parametrize(
    "lines",
    [
        ("a = w.T", "b = x @ a", "b = b / 2", "c = torch.relu(b)", "return c.sum(-1)"),
        (
            "b = x @ w.T",
            "b /= 2",
            "unused = b + 1",
            "c: object = torch.relu(b)",
            "return c.sum(-1)",
        ),
        ("a, b = x, w.T", "return torch.relu((a @ b) / 2.0).sum(-1,)"),
        ("return (y := torch.relu(x @ w.T / 2)).sum(-1)",),
        ("def inner(a, b=2):", "    return a / b", "return torch.relu(inner(x @ w.T)).sum(-1)"),
        ("half = lambda a: a / 2", "return torch.relu(half(a=x @ w.T)).sum(-1)"),
        ("dead = x" + " + 1" * 2000, "return torch.relu(x @ w.T / 2).sum(-1)"),
        ("f = lambda: x" + " + 1" * 2000, "f()", "return torch.relu(x @ w.T / 2).sum(-1)"),
    ],
    ids=["split", "dead code", "unpacked", "walrus", "helper", "lambda", "deep", "deep lambda"],
)
def test_cutting_an_expression_up_changes_nothing(lines: tuple[str, ...]) -> None:
    assert mix(*lines) == PLAIN
    assert "Div(MatMult, 2)" in PLAIN


@pytest.mark.parametrize("lines", [("y = {}", "y += 1", "return y"), ("return {}",)])
def test_answer_nested_too_deeply_to_be_read_is_said_to_be(lines: tuple[str, ...]) -> None:
    with pytest.raises(TooMuch):
        mix(*(line.format("x" + " * 1" * 2000) for line in lines))


CLASS = "class Mixer(nn.Module):\n    def forward(self, x):\n        return x.sin() + 1\n"
WITHIN = indent(CLASS, "    ")
HANDED_ON = (
    "class Mixer(nn.Module):\n    def forward(self, *a, **b):\n        return self.f(*a, **b)\n"
)
OUTSIDE = "def _go(self, x):\n    return x.sin() + 1\n"
FORWARD = "class Mixer(nn.Module):\n    def forward(self, x):\n" + "        {}\n" * 4
TO_ITSELF = "    def forward(self, x):\n        return {}(self, x)\n"


@pytest.mark.parametrize(
    "source",
    [
        f"if True:\n{WITHIN}",
        f"try:\n{WITHIN}finally:\n    pass\n",
        f"def made():\n{WITHIN}    return Mixer\nMixer = made()\n",
        CLASS.replace("    ", "        ").replace("):\n", "):\n    if True:\n", 1),
        CLASS.replace("forward", "_go") + "    forward = _go\n",
        "class Mixer(nn.Module):\n    forward = lambda self, x: x.sin() + 1\n",
        f"class Mixer(nn.Module):\n    pass\n{OUTSIDE}Mixer.forward = _go\n",
        f"class Mixer(nn.Module):\n    pass\n{OUTSIDE}setattr(Mixer, 'forward', _go)\n",
        f"class Mixer(nn.Module):\n    pass\n@keep\n{OUTSIDE}setattr(Mixer, 'forward', kept[0])\n",
        f"exec({CLASS!r})\n",
        f"text = {CLASS!r}\nexec(text)\n",
        FORWARD.format("try:", "    return x.sin() + 1", "except* MemoryError:", "    pass"),
        FORWARD.format(
            "y = 0", "def inner():", "    nonlocal y; y = x.sin() + 1", "inner(); return y"
        ),
        HANDED_ON + "    def f(self, y):\n        return y.sin() + 1\n",
        HANDED_ON.replace("*a, **b", "**b") + "    def f(self, x):\n        return x.sin() + 1\n",
    ],
)
def test_class_is_read_wherever_it_stands(source: str) -> None:
    """One line around a class hid a copy, and a fix-it file from those who must not explain it."""
    assert operations(source) == operations(CLASS)


@pytest.mark.parametrize(
    "source",
    [
        CLASS.replace("forward", "_go") + "    locals()['for' + 'ward'] = locals()['_' + 'go']\n",
        FORWARD.format("def inner():", "    yield x.sin() + 1", "return next(inner())", ""),
        FORWARD.format("match x.sin():", "    case y:", "        y = y + 1", "return y"),
        CLASS.replace("forward", "_go") + TO_ITSELF.format("type(self)._go"),
        CLASS.replace("forward", "_go") + TO_ITSELF.format("getattr(Mixer, '_go')"),
    ],
)
def test_what_is_called_in_a_way_of_its_own_is_read_as_well(source: str) -> None:
    found = operations(source)
    assert {".sin(x)", "Add(.sin, 1)"} <= found
    assert any(one.startswith("return(") for one in found)


def test_helpers_are_followed_wherever_they_stand() -> None:
    helper = "def half(a, by):\n    made = a / by\n    return made\n"
    assert mix("return torch.relu(half(x @ w.T, 2)).sum(-1)", before=helper) == PLAIN
    one = mixer("self.keep = nn.Dropout(0.5)", "return self.keep(x + 1).mean(0)")
    method = "    def added(self, y):\n        return self.odd(y + 1)\n"
    other = mixer("self.odd = nn.Dropout(p=0.5)", "return self.added(x).mean(0)", method)
    assert one - other == {"torch.nn.Dropout()(0.5)"}
    same = mixer("self.odd = nn.Dropout(0.5)", "return self.added(x).mean(0)", method)
    assert same == one
    static = "    @staticmethod\n    def more(y):\n        return y + 1\n"
    assert mixer("self.a = nn.Dropout(0.5)", "return self.a(self.more(x)).mean(0)", static) == one


def test_loops_and_comprehensions_are_the_same() -> None:
    loop = mix("out = []", "for one in x:", "    out.append(one * w)", "return torch.stack(out)")
    assert loop == mix("return torch.stack([a * w for a in x])")
    assert "list of(Mult)" in loop
    assert "Mult(each, w)" in loop


def test_branches_are_the_same_as_statement_and_expression() -> None:
    statement = mix("y = x * 2", "if w is not None:", "    y = y + w", "return y")
    assert statement == mix("y = x * 2", "y = y + w if w is not None else y", "return y")
    assert statement != mix("y = x * 2", "y = y + w", "return y")


def test_changing_a_tensor_in_place_is_the_same() -> None:
    assert mix("y = x * 2", "y.add_(w)", "return y") == mix("return (x * 2).add(w)")
    assert "[] =(Mult, 0, w)" in mix("y = x * 2", "y[0] = w", "return y")


def test_what_is_computed_otherwise_is_not_the_same() -> None:
    for other in ("torch.relu(x @ w.T * 2)", "torch.relu(w @ x.T / 2)", "torch.relu(x @ w.T / 3)"):
        assert mix(f"return {other}.sum(-1)") - PLAIN


def test_what_the_contract_names_keeps_its_name_and_what_the_author_names_has_none() -> None:
    whole = mixer("self.width, self.mine = width, width + 1", "return x + self.width + self.mine")
    assert "Add(x, self.width)" in whole
    assert ".width =(self, width)" in whole
    assert not any("mine" in one for one in whole)
    buffer = "self.register_buffer('hidden', torch.ones(3))"
    assert "Mult(x, torch.ones())" in mixer(buffer, "return x * self.hidden")


def test_entry_under_another_name_is_read() -> None:
    assert mix("return x") == set()
    renamed = (
        "import torch\ndef other(x, w):\n    return torch.relu(x @ w.T / 2).sum(-1)\nmix = other\n"
    )
    assert operations(renamed) == PLAIN


def test_unfinished_function_counts_as_far_as_it_goes() -> None:
    found = mix("scores = x @ w.T", "scores = scores / 2", "raise NotImplementedError")
    assert {"MatMult(x, w.T)", "Div(MatMult, 2)"} <= found


def test_lines_that_do_not_parse_are_passed_over() -> None:
    lines = ["y = x @ w.T / 2", "z = ((y", "y = torch.relu(y)", "return y.sum(-1)"]
    assert mix(*lines) == PLAIN
    hopeless = "\n".join("(" for _ in range(parsing.MAX_BROKEN_LINES + 1))
    assert operations(hopeless) == set()


@pytest.mark.parametrize(
    "source",
    [
        "def mix(x, w):\n    return mix(x, w)\n",
        "def a(x):\n    return b(x)\ndef b(x):\n    return a(x)\ndef mix(x, w):\n    return a(x)\n",
        f"def mix(x, w):\n    return {'-' * 5_000}x\n",
        "def mix(x, w):\n"
        + "".join(f"{' ' * n}if x:\n" for n in range(4, 90))
        + f"{' ' * 99}y = 1\n",
        "mix = mix\nself.x = 1\n*a, b = mix\n",
        "def mix(x, w):\n" + "    x = x[0]\n" * 2_000 + "    return x\n",
        "class Mixer:\n    def forward(): return super().forward()\n",
        "async def mix(x, w):\n    async with x as y: return await y\n",
        "def mix(x, w):\n    match x:\n        case [y, *z]: return y @ w\n",
        "def mix(x, w):\n    global y\n    del x\n    return f'{x!r}' + y[1:2, ..., None]\n",
    ],
)
def test_odd_files_end_soon(source: str) -> None:
    # From 3.13 on, Python parses what is nested more deeply than can be read.
    too_deep = sys.version_info >= (3, 13) and "-" * 5_000 in source
    with pytest.raises(TooMuch) if too_deep else nullcontext():
        assert len(read_operations(source, CONTRACT)) < 20


def test_helpers_that_call_each_other_a_thousand_times_are_too_much() -> None:
    calls = ["def f0(x):\n    return x + 1\n"]
    for n in range(6):
        calls.append(f"def f{n + 1}(x):\n    return {' + '.join([f'f{n}(x)'] * 9)}\n")
    with pytest.raises(TooMuch):
        read_operations("".join(calls) + "def mix(x, w):\n    return f6(x)\n", CONTRACT)


def test_functions_that_wait_for_nothing_compute_the_same() -> None:
    plain = (
        "def mix(x, w):\n    for n in x:\n        w = norm(n) @ w\n    return w\n"
        "def norm(x):\n    return x / x.norm()\n"
    )
    waiting = plain.replace("def ", "async def ").replace("norm(n)", "(await norm(n))")
    waiting = waiting.replace("    for n", "    async for n")
    found = [[one.what for one in read_operations(text, CONTRACT)] for text in (plain, waiting)]
    assert len(found[0]) > 3
    assert found[0] == found[1]


MIXER = "class Mixer:\n    def forward(self, x, w):\n        return x @ self.w.norm()\n"
TURN = "def turn(self, x, w):\n    return x @ self.w.norm()\n"


@pytest.mark.parametrize(
    "source",
    [
        MIXER.replace("self.w.norm", "getattr(getattr(self, 'w'), 'norm')"),
        f"{TURN}class Mixer:\n    forward = turn\n",
        f"{TURN}class Mixer: pass\nMixer.forward = turn\n",
        f"{TURN}class Mixer: pass\nsetattr(Mixer, 'forward', turn)\n",
        f"{TURN}Mixer = type('M', (object,), {{'forward': turn}})\n",
        f"exec({MIXER!r})\n",
        f"exec({MIXER.encode()!r})\n",
    ],
)
def test_class_made_in_another_way_computes_the_same(source: str) -> None:
    contract = contract_of(MIXER)
    wanted = {one.what for one in read_operations(MIXER, contract)}
    assert len(wanted) > 2
    assert wanted <= {one.what for one in read_operations(source, contract)}


def test_text_that_cannot_run_is_not_read() -> None:
    broken = f"exec({MIXER + 'x = = 1'!r})\n"
    assert read_operations(broken, contract_of(MIXER)) == []


@pytest.mark.parametrize("line", ["x = (x, w)[--0]", "x = (w, x)[- - 1]"])
def test_sign_before_a_sign_is_none(line: str) -> None:
    """It ended a whole batch: no number is written `--1`."""
    assert mix(line, "return torch.relu(x @ w.T / 2).sum(-1)") == PLAIN


def test_attribute_is_called_by_a_text_alone() -> None:
    """Of 4,000 digits, Python makes no text at all."""
    named = mixer("self.register_buffer('mask', torch.ones(width))", "return x * self.mask")
    odd = mixer(f"self.register_buffer(0x{'f' * 4000}, x)", "return x * 2")
    assert named != odd


HOSTILE = {
    "deep statement in a function that is called often": "def h(x):\n    return "
    + "x"
    + " * 1" * 2000
    + " + g("
    + "1, " * 15_000
    + ")\n{}"
    + "    h(x)\n" * 400,
    "wide pattern in a function that is called often": "def h(x):\n    match x:\n        case "
    + "1 | " * 15_000
    + "2: pass\n{}"
    + "    h(x)\n" * 400,
    "lambdas without a value": "import torch as u\nf0 = lambda: u\n"
    + "".join(f"f{n + 1} = lambda: f{n}({f'f{n}(), ' * 40})\n" for n in range(7))
    + "{}",
    "one function under many names": f"def f(x):\n    return {'+'.join('x' * 9000)}\n"
    "class Mixer: pass\n" + "Mixer.a = f\n" * 5000 + "{}",
    "blank lines in a text that may run": 'exec\nt = """' + "\n" * 60_000 + '"""\n{}',
    "wide calls": f"def h(a):\n    return g({'a,' * 20_000})\n{{}}    x = h(x)\n"
    + "    x = h(x)\n" * 3000,
    "long functions": f"def h():\n    {'pass;' * 30_000}\n{{}}    {'h();' * 19_000}\n",
    "many names and branches": "{}"
    + "".join(f"    a{n} = x\n" for n in range(5000))
    + "    if x: pass\n" * 5000,
    "long decorators": f"class Mixer:\n    @g({'a,' * 50_000})\n    def h(self): pass\n"
    f"    def forward(self, x):\n        {'self.h();' * 2000}\n",
    "items of items": "{}"
    + f"    x = x[{'9' * 150}]\n" * 900
    + "    y = g(x)\n    x.w = y\n" * 5000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_source_made_to_be_followed_for_ever_costs_little(name: str) -> None:
    source = HOSTILE[name].replace("{}", "def mix(x, w):\n") + "    return x\n"
    started = time.process_time()
    with suppress(TooMuch):
        read_operations(source, CONTRACT)
    assert time.process_time() - started < 5  # it takes 0.2 s; some took minutes


@pytest.mark.parametrize("name", WRITTEN)
def test_disguised_answer_computes_the_same(name: str) -> None:
    stub, ways = stub_of(name), ("structure", "names", "order", "dead code")
    contract = contract_of(stub)
    kept = made = 0
    for number, source in enumerate(answers(name).values()):
        before = {one.what for one in read_operations(source, contract)}
        after = {
            one.what for one in read_operations(disguise(source, stub, number, *ways), contract)
        }
        kept += len(before & after)
        made += len(before | after)
    assert made > 50
    assert kept > 0.9 * made


def test_lines_of_an_operation_are_where_it_stands() -> None:
    source = "import torch\n\ndef mix(x, w):\n    y = (x\n         @ w)\n    return y.sum(-1)\n"
    lines = {one.what: (one.first, one.last) for one in read_operations(source, CONTRACT)}
    assert lines["MatMult(x, w)"] == (4, 5)
    assert lines[".sum(MatMult, -1)"] == (6, 6)
