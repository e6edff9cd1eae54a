"""Copies are found, honest people are not, and what is too short to tell is said to be."""

from __future__ import annotations

import itertools
import random
import time
import tomllib
from pathlib import Path

import pytest

from benchmarks.people import STUB, Person
from grader.hiring.compared import MAX_SUBMISSION_CHARS
from grader.hiring.dataflow import contract_of
from grader.hiring.likelihood import Evidence
from grader.hiring.similarity import find_similar
from grader.hiring.strangers import Floats, _Chances
from grader.hiring.traits import read_traits
from grader.records import EarlierSubmission, SimilarPair
from tests.support.disguises import disguise, in_stub
from tests.support.independent import KIN, WRITTEN, answers, solution_of, stub_of


def canonical() -> dict[str, str]:
    people = tomllib.loads((Path(__file__).parent / "canonical.toml").read_text(encoding="utf-8"))
    stub = stub_of("exercise3")
    return {name: in_stub(stub, one["init"], one["forward"]) for name, one in people.items()}


def names(pair: SimilarPair) -> frozenset[str]:
    return frozenset({pair.first, pair.second})


def found(files: dict[str, str], stub: str) -> set[frozenset[str]]:
    return {names(pair) for pair in find_similar(files, stub).pairs}


@pytest.mark.parametrize("name", WRITTEN)
def test_right_answers_written_independently_are_not_listed(name: str) -> None:
    files = {**answers(name), "solution": solution_of(name)}
    assert found(files, stub_of(name)) <= KIN
    assert not find_similar(files, stub_of(name)).groups


def test_answers_made_from_one_another_are_listed() -> None:
    assert len(found(answers("exercise5"), stub_of("exercise5")) & KIN) == 2


@pytest.mark.parametrize("size", [2, 3, 7])
@pytest.mark.parametrize("known", [(), tuple(answers("exercise3").values())], ids=["", "known"])
def test_people_who_write_the_canonical_answer_are_not_listed(
    size: int, known: tuple[str, ...]
) -> None:
    for some in itertools.combinations(canonical().items(), size):
        assert find_similar(dict(some), stub_of("exercise3"), known).pairs == ()


def test_canonical_people_are_not_listed_among_others() -> None:
    assert found({**answers("exercise3"), **canonical()}, stub_of("exercise3")) == set()


@pytest.mark.slow("a thousand files are read")
@pytest.mark.parametrize(("size", "batches"), [(6, 60), (1_000, 1)])
def test_made_up_people_are_hardly_ever_listed(size: int, batches: int) -> None:
    known = [solution_of("exercise3")]
    pairs = 0
    for seed in range(batches):
        files = {f"person{n:03}": Person(size * seed + n).file() for n in range(size)}
        pairs += len(find_similar(files, STUB, known).pairs)
    assert pairs == 0  # of 900, of 499,500


@pytest.mark.slow("a thousand files are read")
def test_half_of_the_restructured_copies_stand_out_from_a_thousand_honest_people() -> None:
    files = {f"person{n:03}": Person(n).file() for n in range(1_000)}
    copied = random.Random(0).sample(sorted(files), 40)
    for number, name in enumerate(copied):
        files[f"robber{number}"] = disguise(files[name], STUB, number, "structure")
    pairs = {names(pair) for pair in find_similar(files, STUB, [solution_of("exercise3")]).pairs}
    right = {frozenset({name, f"robber{n}"}) for n, name in enumerate(copied)}
    assert pairs <= right
    assert len(pairs) >= 20


# How many of the copies have to be found; the rest are copies of what is common. The figures for
# large batches are in benchmarks/similarity.py.
@pytest.mark.slow("each answer is copied, and compared with all others")
@pytest.mark.parametrize(
    ("ways", "share"),
    [
        ((), 1.0),
        (("order",), 1.0),
        (("dead code",), 0.85),
        (("names",), 0.7),
        (("structure",), 0.8),
        (("structure", "names", "order", "dead code"), 0.7),
        (("structure", "names", "order", "dead code", "idioms"), 0.25),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_disguised_copy_is_found_and_nobody_else(ways: tuple[str, ...], share: float) -> None:
    hits, wrong, tried = 0, [], 0
    for name in ("exercise3", "exercise4", "exercise5", "exercise6"):
        files, stub = answers(name), stub_of(name)
        for number, source in enumerate(files):
            copy = disguise(files[source], stub, number, *ways)
            pairs = found({**files, "copy": copy}, stub)
            hits += frozenset({source, "copy"}) in pairs
            kin = {frozenset({"copy", *pair - {source}}) for pair in KIN if source in pair}
            wrong += pairs - KIN - kin - {frozenset({source, "copy"})}
            tried += 1
    assert tried == 49
    assert wrong == []
    assert hits >= share * tried, f"{hits} of {tried}"


def test_same_code_in_other_layout_stands_on_top() -> None:
    files = answers("exercise3")
    plain = files["right_dtype_min"]
    other = plain.replace('"', "'").replace("    ", "  ").replace("# unusual", "# mine: nothing")
    other = other.replace(
        "scores = q @ k.transpose(-2, -1)", "scores = (q @ k.transpose(\n-2, -1,))"
    )
    close = disguise(files["right_unusual_file"], stub_of("exercise3"), 0, "dead code")
    result = find_similar({**files, "a": other, "b": close}, stub_of("exercise3"))
    assert names(result.pairs[0]) == {"a", "right_dtype_min"}
    assert result.pairs[0].evidence[0] == "same code"
    assert names(result.pairs[1]) == {"b", "right_unusual_file"}
    assert result.pairs[1].score > result.pairs[0].score


def test_stub_and_empty_files_are_left_out() -> None:
    stub = stub_of("exercise3")
    commented = stub.replace("raise NotImplementedError", "raise NotImplementedError  # no time")
    files = {"a": stub, "b": commented, "c": "# nothing\n", "d": "x" * (MAX_SUBMISSION_CHARS + 1)}
    result = find_similar({**files, **canonical()}, stub)
    assert [(one.name, one.why) for one in result.left_out] == [
        ("a", "is the stub"),
        ("b", "is the stub"),
        ("c", "holds no code"),
        ("d", "too long to compare"),
    ]
    assert result.pairs == ()
    assert result.compared == 7
    assert find_similar(files, stub).says.startswith("Nothing to compare")


def test_thirty_with_the_same_code_are_one_group_and_one_pair() -> None:
    files = answers("exercise5")
    same = {f"same{n:02}": files["right_block_mask"] + f"# number {n}\n" for n in range(30)}
    result = find_similar({**files, **same}, stub_of("exercise5"))
    (group,) = result.groups
    assert group.names == ("right_block_mask", *sorted(same))
    assert group.same_code
    assert names(result.pairs[0]) == {"right_block_mask", "same00"}
    assert {names(pair) for pair in result.pairs[1:]} <= KIN
    assert result.compared == len(files) + 30


def test_ring_of_disguised_copies_is_a_group() -> None:
    files, stub = answers("exercise5"), stub_of("exercise5")
    source = files.pop("right_block_mask")
    ring = {f"ring{n}": disguise(source, stub, n, "names", "order") for n in range(6)}
    result = find_similar({**files, **ring}, stub)
    (group,) = result.groups
    assert group.names == tuple(ring)
    assert not group.same_code
    among = [pair for pair in result.pairs if pair.first in ring]
    assert len(among) < 6  # each with its nearest, not each with each
    assert {name for pair in among for name in names(pair)} == set(ring)


def test_same_code_tells_nothing_where_the_exercise_is_too_short_to_tell() -> None:
    stub, line = stub_of("bug7"), "b, t, h = x.size()"
    assert stub.count(line) == 1
    repairs = ("b, t, _ = x.size()", "b, t, c = x.shape", "b, t = x.size()[:2]")
    files = {f"p{n}": stub.replace(line, repairs[n % 3]) for n in range(12)}
    result = find_similar(files, stub)
    assert result.too_short
    assert "Too short to tell" in result.says
    assert (result.pairs, result.groups) == ((), ())
    odd = "  # dont ask me why this wroks, I never relized it, funny how the hads come befor\n" * 5
    files |= {name: files[name] + odd for name in ("p0", "p3")}
    (pair,) = find_similar(files, stub).pairs
    assert (names(pair), pair.evidence[0]) == ({"p0", "p3"}, "same code")
    long = find_similar(answers("exercise5"), stub_of("exercise5"))
    assert not long.too_short
    assert "Too short" not in long.says


def test_order_of_the_files_changes_nothing() -> None:
    files, stub = answers("exercise5"), stub_of("exercise5")
    for number, name in enumerate(list(files)[:5]):
        files[f"copy{number}"] = disguise(files[name], stub, number, "names")
    first = find_similar(files, stub)
    shuffled = random.Random(0).sample(sorted(files.items()), len(files))
    assert find_similar(dict(shuffled), stub) == first
    assert len(first.pairs) > 3
    fewer = find_similar(files, stub, max_listed=2)
    assert fewer.pairs == first.pairs[:2]
    assert f"{len(first.pairs)} pairs are close, the first 2 are listed" in fewer.says


def test_shared_lines_are_marked_and_the_stub_never() -> None:
    stub = stub_of("exercise3")
    files = {name: in_stub(stub, *_bodies(source)) for name, source in answers("exercise3").items()}
    source = files["right_chunked_queries"]
    files["copy"] = disguise(source, stub, 0, "names", "dead code")
    pair = next(p for p in find_similar(files, stub).pairs if p.first == "copy")
    marked = [_marked(files["copy"], pair.spans_first), _marked(source, pair.spans_second)]
    for text in marked:
        assert "range(0, " in text
        assert ".new_ones(1, 1, 1, dtype=torch.bool)" in text
        assert "super().__init__()" not in text
        assert "Args:" not in text
    assert pair.evidence == ("same structure",)


def _bodies(source: str) -> list[str]:
    """The bodies of the two methods of a short answer."""
    init, forward = source.split("super().__init__()\n")[1].split("    def forward")
    return [init, forward.split("\n", 1)[1]]


def _marked(source: str, spans: tuple[tuple[int, int], ...]) -> str:
    lines = source.split("\n")
    assert all(0 < first <= last <= len(lines) for first, last in spans)
    return "\n".join(line for first, last in spans for line in lines[first - 1 : last])


def test_odd_names_and_odd_comments_are_evidence_of_their_own() -> None:
    names_too, comments_too = ({**answers("exercise3"), **canonical()} for _ in range(2))
    one, other = "right_bernoulli_on_exp", "right_own_dropout"
    for number in range(16):  # the same names in unlike statements
        names_too[one] += f"wheight{number} = torch.zeros({number})\n"
        names_too[other] += f"wheight{number} = [{number}, {number}]\n"
    for name in (one, other):
        comments_too[name] += "# funny how this wroks at all, I never relized\n"
        comments_too[name] += "# dont ask me why the hads come befor the tokens here\n"
        comments_too[name] += "# realy must rember to divide by the root\n"
    (pair,) = find_similar(names_too, stub_of("exercise3")).pairs
    assert (pair.first, pair.second, pair.evidence) == (one, other, ("same names",))
    (pair,) = find_similar(comments_too, stub_of("exercise3")).pairs
    assert (pair.first, pair.second) == (one, other)
    assert pair.evidence == ("same comments or strings",)
    for source, spans in (
        (comments_too[one], pair.spans_first),
        (comments_too[other], pair.spans_second),
    ):
        assert "\n".join(source.splitlines()[-3:]) in _marked(source, spans)


def test_file_that_does_not_parse_is_compared_all_the_same() -> None:
    files, stub = answers("exercise3"), stub_of("exercise3")
    source = files["right_chunked_queries"]
    files["broken"] = source.replace("return self.output_proj(", "return self.output_proj((")
    files["dedented"] = source.replace("        outputs = []", "     outputs = []")
    pairs = found(files, stub)
    assert any("broken" in pair for pair in pairs)
    assert any("dedented" in pair for pair in pairs)
    assert not any(
        pair & (answers("exercise3").keys() - {"right_chunked_queries"}) for pair in pairs
    )


@pytest.mark.slow("a thousand files are read")
def test_hostile_files_cost_little_and_hide_nobody() -> None:
    files, stub = answers("exercise3"), stub_of("exercise3")
    source = files["right_chunked_queries"]
    files["copy"] = disguise(source, stub, 0, "names")
    hostile = {
        "mebibyte": "x" * (1 << 20),
        "one name": "x" * MAX_SUBMISSION_CHARS,
        "open": "(" * 60_000,
        "nested": "x = " + "[" * 1_500 + "]" * 1_500,
        "operators": "x = " + "-" * 3_000 + "1",
        "nul": "\x00" * 3_000 + "\nx = 1 + 1\n",
        "surrogate": "x = '\ud800' + \ud800\n",
        "tabs": "x" + "\t" * (MAX_SUBMISSION_CHARS - 2) + "\\",
        "string": "x = '''" + "\n'" * 30_000,
        "deep": "\n".join(" " * n + "if x:" for n in range(300)),
        "names": "\n".join(f"name{n} = other{n} + 1" for n in range(500)),
        "words": f"# {' '.join(map(hex, range(9_000)))[: MAX_SUBMISSION_CHARS - 9]}\nx = 1\n",
        "helpers": "".join(f"def f{n}(x):\n    return f{n + 1}(f{n + 1}(x))\n" for n in range(99)),
        "escapes": "# \x1b[2J \u202e gpj.exe\nx = y + '\x1b]0;t\x07'\n",
    }
    crowd = {f"crowd{n:04}": f"{source}# {n}\n" for n in range(1_000)}
    started = time.process_time()
    result = find_similar({**files, **hostile, **crowd}, stub)
    assert time.process_time() - started < 60  # it takes about 5 s
    assert {one.name for one in result.left_out} == {"mebibyte", "open"}
    assert result.pairs[0].evidence[0] == "same code"
    assert "copy" in {name for pair in result.pairs for name in names(pair)}
    assert result.groups[0].names == ("copy", *sorted(crowd), "right_chunked_queries")


@pytest.mark.parametrize("name", WRITTEN)
def test_whoever_has_our_solution_is_in_no_pair(name: str) -> None:
    ours, stub = solution_of(name), stub_of(name)
    files = {"a": disguise(ours, stub, 0), "b": disguise(ours, stub, 1)}
    files |= {f"copy{n}": disguise(ours, stub, n, "structure") for n in range(3)}
    files |= {f"other{n}": disguise(ours, stub, n, "names", "dead code") for n in range(3)}
    result = find_similar({**answers(name), **files}, stub, [ours])
    assert {names(pair) for pair in result.pairs} <= KIN
    assert {one.name for one in result.left_out} == {"a", "b"}
    assert {one.why for one in result.left_out} == {"is a solution that everybody may know"}


def test_earlier_submissions_are_compared_but_not_with_each_other() -> None:
    files, stub = answers("exercise5"), stub_of("exercise5")
    copied, verbatim = files["right_block_mask"], files["right_einsum"]
    before = {
        "\0ada": disguise(copied, stub, 0, "structure"),
        "\0ben": disguise(copied, stub, 1, "order"),
        "\0cleo": f"# mine\n{verbatim}",
        "\0dan": files["right_vmap"].replace("vmap", "vmap  "),
        "\0eve": disguise(files.pop("right_vmap"), stub, 2, "structure"),
        "\0fay": stub,
    }
    earlier = {key: EarlierSubmission(key[1:], "spring", text) for key, text in before.items()}
    result = find_similar(files, stub, earlier=earlier)
    found = {names(pair) for pair in result.pairs} - KIN
    assert frozenset({"right_einsum", "\0cleo"}) in found
    assert {name for pair in found for name in pair} == {
        *("right_block_mask", "right_einsum", "\0ada", "\0ben", "\0cleo")
    }
    assert result.compared == len(files)
    assert result.left_out == ()
    assert {"\0ada", "\0ben", "\0cleo"} == result.earlier.keys()
    (group,) = result.groups
    assert group.names == ("right_block_mask", "\0ada", "\0ben")
    assert find_similar({}, stub, earlier=earlier).pairs == ()


def test_earlier_ones_are_weighed_against_those_of_the_batch_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weighed, compare = list[int](), _Chances.compare

    def noted(self: _Chances, has: Floats, kept: float) -> Floats:
        weighed.append(len(has))
        return compare(self, has, kept)

    monkeypatch.setattr(_Chances, "compare", noted)
    sets = [(frozenset({str(n)}),) * 3 for n in range(43)]
    Evidence(sets, (frozenset(),) * 3, earlier=40)
    assert sum(weighed) == 3 * 2 * (3 * 43 + 40 * 3)  # kinds, and shares that a copy keeps


def test_imported_names_are_nobodys_own() -> None:
    text = "from a import b as c\nq, k = c.f(x, dim=1)\nself.own, y = q @ k, b(q)\n"
    traits = read_traits(text, contract_of("x"))
    assert traits.trait_sets()[1] == {"q", "k", "own", "y"}
