"""Projecting the input to queries, keys and values; detaching parts from the graph."""

from __future__ import annotations

import itertools

from torch import Tensor

from grader.attention.steps.state import State, choice


def _cut(step: str, place: str) -> None:
    @choice(step, f"{place} detached")
    def cut(s: State) -> None:
        s.detached_places |= {place}


for _place in ("input", "scores", "parameters", "residual"):
    _cut("learn", _place)
_cut("learn output", "output")
for _part in ("queries", "keys", "values"):
    _cut(f"learn {_part}", _part)
    _cut(f"learn {_part}", f"input of the {_part}")


def _freeze(step: str, layer: str) -> None:
    @choice(step, f"{layer} frozen")
    def freeze(s: State) -> None:
        s.frozen |= {getattr(s.layout, layer)}


_freeze("learn", "fused")
for _part in ("queries", "keys", "values", "output"):
    _freeze(f"learn {_part}", _part)


@choice("project")
def project(s: State) -> None:
    """Make q, k and v by their own weights, in this order where one layer makes all three."""
    s.x = s.detached("input", s.drop("input", s.x))
    if "parameters" in s.detached_places:
        s.weights = {name: value.detach() for name, value in s.weights.items()}
    q, k, v = _projected(s, s.x)
    _set_projected(s, s.drop("queries", q), s.drop("keys", k), v)


def _set_projected(s: State, q: Tensor, k: Tensor, v: Tensor) -> None:
    s.projected = {"q": q, "k": k, "v": v, "x": s.x}


def _projected(s: State, x: Tensor, bias: bool = True) -> tuple[Tensor, ...]:
    layout = s.layout
    q, k, v = (s.detached(f"input of the {name}", x) for name in ("queries", "keys", "values"))
    if layout.fused:
        cut = any(place.startswith("input of the") for place in s.detached_places)
        parts = [
            s.drop("projected", s.linear(layout.fused, each, bias)).chunk(3, dim=-1)
            for each in (q, k, v)[: 3 if cut else 1]
        ]
        return tuple(part[i] for i, part in enumerate(parts)) if cut else parts[0]
    if layout.queries:
        names = (layout.queries, layout.keys, layout.values)
        pairs = zip(names, (q, k, v), strict=True)
        return tuple(s.drop("projected", s.linear(n, each, bias)) for n, each in pairs)
    return q, k, v


QKV_NAMES = {"q": "queries", "k": "keys", "v": "values"}
SOURCE_NAMES = {**QKV_NAMES, "x": "input"}


def _taken_from(letter: str, source: str) -> None:
    @choice(
        f"project {QKV_NAMES[letter]}",
        "right" if letter == source else f"from {SOURCE_NAMES[source]}",
    )
    def take(s: State) -> None:
        setattr(s, letter, s.detached(QKV_NAMES[letter], s.projected[source]))


for _letter in QKV_NAMES:
    for _source in SOURCE_NAMES:
        _taken_from(_letter, _source)


def _made_of(letter: str, source: str) -> None:
    @choice(f"project {QKV_NAMES[letter]}", f"made of the {QKV_NAMES[source]}")
    def make(s: State) -> None:
        made = s.linear(getattr(s.layout, QKV_NAMES[letter]), s.projected[source])
        setattr(s, letter, s.detached(QKV_NAMES[letter], made))


for _letter, _source in (("k", "q"), ("v", "q"), ("v", "k")):
    _made_of(_letter, _source)


def _turned(letter: str, layer: str) -> None:
    @choice(f"project {layer}", f"weight of the {layer} transposed")
    def turn(s: State) -> None:
        name = getattr(s.layout, layer)
        weight = s.weights[f"{name}.weight"]
        added = s.weights.get(f"{name}.bias")
        out = s.projected["x"] @ weight
        setattr(s, letter, s.detached(layer, out if added is None else out + added))


def _unbiased(letter: str, layer: str) -> None:
    @choice(f"project {layer}", f"{layer} without bias")
    def leave_out(s: State) -> None:
        name = getattr(s.layout, layer)
        setattr(s, letter, s.detached(layer, s.linear(name, s.projected["x"], bias=False)))


for _letter, _layer in QKV_NAMES.items():
    _turned(_letter, _layer)
_unbiased("q", "queries")
_unbiased("v", "values")  # that of the keys adds the same to all of a query's scores


def _swap(name: str, order: str) -> None:
    """Register a choice that mixes up q, k and v: ``kqv`` takes what should be keys as queries."""
    others = [
        f"project {QKV_NAMES[one]}" for one, other in zip("qkv", order, strict=True) if one != other
    ]

    @choice("project", name, *others)
    def swap(s: State) -> None:
        project(s)
        _set_projected(s, *(s.projected[letter] for letter in order))


_swap("input for queries and keys", "xxv")
_swap("input for all", "xxx")
for _order in itertools.permutations("qkv"):
    if _order != ("q", "k", "v"):
        _swap(f"order {' '.join(_order)}", "".join(_order))


@choice("project", "without bias")
def project_without_bias(s: State) -> None:
    """Never add the biases, though the module has them."""
    _set_projected(s, *_projected(s, s.x, bias=False))


@choice("project", "weights transposed")
def project_with_transposed_weights(s: State) -> None:
    """Compute x @ W where x @ Wᵀ is meant, or the other way around."""
    whole = s.weights
    turned = {n: w.mT if w.dim() == 2 and w.size(0) == w.size(1) else w for n, w in whole.items()}
    s.weights = turned
    project(s)
    s.weights = whole


@choice("project", "fused in turns")
def project_in_turns(s: State) -> None:
    """Take every third feature of the fused projection for q, for k and for v, not whole thirds."""
    fused = s.linear(s.layout.fused, s.x)
    _set_projected(s, *(fused[..., start::3] for start in range(3)))


@choice("project", "fused across tokens")
def project_across_tokens(s: State) -> None:
    """View (B, T, 3C) as three of (B, T, C), so that each holds a third of the tokens."""
    fused = s.linear(s.layout.fused, s.x)
    B, T, C = s.x.shape
    _set_projected(s, *fused.reshape(B, 3, T, C).unbind(1))


@choice("project", "fused across the batch")
def project_across_batch(s: State) -> None:
    """View (B, T, 3C) as (3, B, T, C), so that a third of all tokens makes the queries of all."""
    fused = s.linear(s.layout.fused, s.x)
    _set_projected(s, *fused.reshape(3, *s.x.shape).unbind(0))


@choice("project", "batch in one sequence")
def project_batch_as_one(s: State) -> None:
    """Join a batch's sequences into one, then project it: they will attend to one another."""
    s.given = s.given.reshape(1, -1, s.given.size(-1))
    s.x = s.x.reshape(1, -1, s.x.size(-1))
    project(s)


@choice("project", "mean of the batch for values")
def project_batch_mean(s: State) -> None:
    """Average the values over the batch, so that every sequence mixes the same ones."""
    project(s)
    v = s.projected["v"]
    _set_projected(s, s.projected["q"], s.projected["k"], v.mean(0, keepdim=True).expand_as(v))


@choice("project", "input centred")
def project_centred(s: State) -> None:
    """Subtract the mean of each token's features before the projection."""
    s.x = s.x - s.x.mean(-1, keepdim=True)
    project(s)


@choice("project", "first sequence's keys and values")
def project_first_sequence(s: State) -> None:
    """Have every sequence attend to the first one's keys and values."""
    project(s)
    k, v = s.projected["k"], s.projected["v"]
    _set_projected(s, s.projected["q"], k[:1].expand_as(k), v[:1].expand_as(v))
