"""The state that the steps of attention work on, and the registry of their choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.attention.layout import WeightLayout

# Steps of one part of attention begin with the same word: each can be wrong beside the others.
STEPS = (
    "learn", "learn queries", "learn keys", "learn values", "learn output", "learn norms",
    "drop", "norms used", "norms computed", "norms first", "norms second", "arrange",
    "project", "project queries", "project keys", "project values", "split", "score",
    "scale", "scale place", "mask", "mask scale", "mask fill", "softmax", "mix", "merge", "output",
    "add1", "feed", "add2",
)  # fmt: skip
_UNSET = torch.empty(0)
BLOCK_STEPS = frozenset(
    {"learn norms", "norms used", "norms computed", "norms first", "norms second"}
    | {"arrange", "add1", "feed", "add2"}
)


def _generator(device: str) -> torch.Generator:
    """Return torch's default generator on a device where an operation has already run."""
    match device:
        case "cuda":
            return torch.cuda.default_generators[torch.cuda.current_device()]
        case "mps":
            return torch.mps._get_default_mps_generator()
    return torch.default_generator


def standardised(x: Tensor) -> Tensor:
    """Return each token's features with mean 0 and deviation 1, as a norm without weights does."""
    return F.layer_norm(x, x.shape[-1:])


@dataclass
class State:
    """One forward pass on its way through the steps.

    Attributes:
        layout: The exercise's layout.
        weights: The submission's own weights, float64, by name.
        given: The input, (B, T, C).
        attention_mask: The mask, nonzero = may attend, broadcastable to (B, T, T); or None.
        H: Number of heads.
        training: Whether the module is in training.
        rate: Dropout rate passed to the constructor.
        seed: Seed of the random numbers at the start of the call.
        device: Device that draws the random numbers: each kind of device draws others.
        recording: Whether gradients are recorded.
        x: Input of the attention, (B, T, C).
        projected: Results of the projection, ``q``, ``k`` and ``v``, and its input ``x``, by
            letter.
        q: Queries, (B, T, C), later (B, H, T, D); ``k`` and ``v`` likewise.
        scores: Scores, (B, H, T, T).
        factor: Factor of the scores.
        unscaled: Scores before they were scaled.
        hidden: Which scores are hidden, broadcastable to (B, H, T, T); None where none is.
        attention: Attention weights, (B, H, T, T).
        mixed: Mixed values, (B, H, T, D), later (B, T, C).
        out: Output, (B, T, C).
        untransposed: Whether heads are left where a view has put them, (B, T, H, D).
        late_scale: Factor of the weights after the softmax.
        drop_at: Where dropout acts: ``input``, ``queries``, ``keys``, ``projected`` (all that is),
            ``scores``, ``weights``, ``values``, ``mixed``, ``output``.
        drop_rate: Dropout rate where it is not the constructor's; None where it is.
        drop_always: Whether dropout acts in evaluation too.
        drop_by_gradients: Whether dropout acts where gradients are recorded, not in training.
        rescale: Whether kept entries grow by 1/(1 - rate).
        drop_by_hand: What ``torch.rand`` draws, not torch's dropout: weights are kept where it is
            ``above`` the rate, or ``below`` the share to keep; empty for torch's dropout.
        shared_noise: Largest shape of dropout's noise, with 1 for an axis whose entries share it;
            empty where every entry has its own.
        renormalise: Whether weights are normalised to sum to 1 again after dropout.
        detached_places: Which intermediate values are detached from the graph: ``scores``,
            ``queries`` etc.
        frozen: Names of the layers whose parameters get no gradient.
        hidden_score: Number that replaces a hidden score: -inf, or the least number of a dtype;
            None for -inf, and weights of 0 where all are hidden.
        random: State of the random numbers after the last dropout; None before the first.
        mask_late: Whether the mask fills the weights after the softmax.
        late_fill: Number that then replaces hidden weights.
        norms: Names of the norms used as the first and the second one.
        normed: Function that a norm computes before its weights, (…, C) -> (…, C).
        places: Where the first and the second norm act: ``nowhere``, on the ``sublayer`` alone, on
            the ``residual`` alone, ``before`` the sublayer, ``twice`` (there as well as after the
            sum) or over the ``positions``; empty for a norm in its right place.
        pre_norm: Whether the input of a sublayer is normed.
        swapped: Whether the feed-forward came before the attention.
    """

    layout: WeightLayout
    weights: Mapping[str, Tensor]
    given: Tensor
    attention_mask: Tensor | None
    H: int
    training: bool
    rate: float
    seed: int
    recording: bool = False
    x: Tensor = _UNSET
    projected: Mapping[str, Tensor] = field(default_factory=dict)
    q: Tensor = _UNSET
    k: Tensor = _UNSET
    v: Tensor = _UNSET
    scores: Tensor = _UNSET
    factor: float = 1.0
    unscaled: Tensor = _UNSET
    hidden: Tensor | None = None
    attention: Tensor = _UNSET
    mixed: Tensor = _UNSET
    out: Tensor = _UNSET
    untransposed: bool = False
    late_scale: float = 1.0
    drop_at: frozenset[str] = frozenset({"weights"})
    drop_rate: float | None = None
    drop_always: bool = False
    drop_by_gradients: bool = False
    rescale: bool = True
    drop_by_hand: str = ""
    shared_noise: tuple[int, ...] = ()
    renormalise: bool = False
    detached_places: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()
    hidden_score: float | None = float("-inf")
    random: Tensor | None = None
    device: str = "cpu"
    mask_late: bool = False
    late_fill: float = 0.0
    norms: tuple[str, str] = ("norm1", "norm2")
    normed: Callable[[Tensor], Tensor] = standardised
    places: tuple[str, str] = ("", "")
    pre_norm: bool = False
    swapped: bool = False

    def copy(self) -> State:
        """Return a copy with which other steps can be done; it shares this state's tensors."""
        made = State.__new__(State)
        made.__dict__.update(self.__dict__)
        return made

    @property
    def D(self) -> int:
        """The head size."""
        return self.q.size(-1)

    @property
    def C(self) -> int:
        """The width that is split into heads: H times the width of ``q``."""
        return self.q.size(-1) * self.H

    def linear(self, name: str, x: Tensor, bias: bool = True) -> Tensor:
        """Apply the layer of this name, (…, in) -> (…, out)."""
        is_frozen = name in self.frozen
        name = f"attention.{name}" if self.layout.block else name
        names = (name, "") if self.layout.bare else (f"{name}.weight", f"{name}.bias")
        weight, added = (self.weights.get(name) for name in names)
        if weight is None:
            raise KeyError(name)
        if is_frozen:
            weight, added = weight.detach(), None if added is None else added.detach()
        out = x @ (weight if self.layout.bare else weight.mT)
        return out if added is None or not bias else out + added

    def norm(self, half: int, x: Tensor) -> Tensor:
        """Apply the norm of a block's first or second half, 0 or 1."""
        name = self.norms[half]
        over = self.places[half] == "positions"
        # A norm over the positions norms each feature over all tokens of the batch.
        normed = self.normed(x.flatten(0, 1).mT).mT.reshape(x.shape) if over else self.normed(x)
        return normed * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def drops(self, where: str) -> bool:
        """Return whether dropout acts in this call at the place ``where``, such as ``scores``."""
        when = self.recording if self.drop_by_gradients else self.training or self.drop_always
        return self.layout.dropout and where in self.drop_at and when

    def drop(self, where: str, value: Tensor) -> Tensor:
        """Return the value after dropout, if this acts at the place ``where``, such as ``scores``.

        The noise is what torch draws for a float32 tensor of this shape, from the same seed.
        """
        if not self.drops(where):
            return value
        # A submission with one head has no axis for it, but its elements have the same order.
        ones = torch.ones(self._noise_shape(value), device=self.device)
        generator = _generator(self.device)
        before = generator.get_state()
        try:
            if self.random is None:
                generator.manual_seed(self.seed)
            else:
                generator.set_state(self.random)
            noise = self.noise(ones).cpu().double()
            self.random = generator.get_state()
        finally:
            generator.set_state(before)
        return value * noise

    def noise(self, ones: Tensor) -> Tensor:
        """Draw the factor by which dropout multiplies each of these entries."""
        rate = self.rate if self.drop_rate is None else self.drop_rate
        if self.drop_by_hand:
            chance = torch.rand_like(ones)
            kept = chance >= rate if self.drop_by_hand == "above" else chance < 1 - rate
            drawn = kept / (1 - rate)
        else:
            drawn = F.dropout(ones, rate)
        return drawn if self.rescale else (drawn != 0).to(ones.dtype)

    def _noise_shape(self, value: Tensor) -> tuple[int, ...]:
        shape = tuple(value.shape)
        kept = self.shared_noise or shape
        return tuple(min(pair) for pair in zip(shape, kept, strict=True))

    def detached(self, place: str, value: Tensor) -> Tensor:
        """Return the value, detached from its graph if ``detached_places`` names this place."""
        return value.detach() if place in self.detached_places else value


Choice = Callable[[State], None]
# The choices of each step, by name. A step without the choice "right" is right if skipped.
CHOICES: dict[str, dict[str, Choice]] = {step: {} for step in STEPS}
# By step and choice: the steps in which that choice leaves nothing else to be done wrong.
SETTLED_STEPS: dict[tuple[str, str], frozenset[str]] = {}


def choice(step: str, name: str = "right", *settles: str) -> Callable[[Choice], Choice]:
    """Return a decorator that registers a function as one way to do a step.

    Args:
        step: One of ``STEPS``.
        name: Name of this choice.
        settles: Other steps in which this choice leaves nothing to be done wrong.
    """

    def register(function: Choice) -> Choice:
        assert name not in CHOICES[step], f"{step}: {name} is registered twice"
        CHOICES[step][name] = function
        SETTLED_STEPS[step, name] = frozenset({step, *settles})
        return function

    return register


def sets(step: str, name: str, *settles: str, **made: Callable[[State], Any]) -> None:
    """Register one way to do a step that does no more than to set attributes of the state.

    The arguments are those of ``choice``, and what each attribute is made of the state.
    """

    @choice(step, name, *settles)
    def set_them(s: State) -> None:
        for attribute, make in made.items():
            setattr(s, attribute, make(s))
