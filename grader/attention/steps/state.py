"""What the steps of attention work on, and how their choices are registered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.attention.layout import WeightLayout

# Steps of one part of attention begin with the same word: each can be done wrong beside the others.
STEPS = (
    "learn", "learn queries", "learn keys", "learn values", "learn output", "learn norms",
    "drop", "norms used", "norms computed", "norms first", "norms second", "arrange",
    "project", "project queries", "project keys", "project values", "split", "score",
    "scale", "scale place", "mask", "mask scale", "mask fill", "softmax", "mix", "merge", "output",
    "add1", "feed", "add2",
)  # fmt: skip
_NOTHING = torch.empty(0)
BLOCK_STEPS = frozenset(
    {"learn norms", "norms used", "norms computed", "norms first", "norms second"}
    | {"arrange", "add1", "feed", "add2"}
)


def _generator(device: str) -> torch.Generator:
    """What torch draws from on a device where it is given none; there was an operation there."""
    match device:
        case "cuda":
            return torch.cuda.default_generators[torch.cuda.current_device()]
        case "mps":
            return torch.mps._get_default_mps_generator()
    return torch.default_generator


def _standardised(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


@dataclass
class State:
    """One forward on its way through the steps.

    Attributes:
        layout: The exercise's.
        weights: The submission's own, float64, by name.
        given: The input, (B, T, C).
        attention_mask: Nonzero = may attend, broadcastable to (B, T, T), or None.
        H: Heads.
        training: Whether the module is in training.
        rate: Of dropout.
        seed: Of the random numbers at the start of the call.
        device: Whose random numbers they are: each kind of device draws others.
        recording: Whether gradients are recorded.
        x: What the attention sees, (B, T, C).
        made: What the projection made, by letter: ``q``, ``k``, ``v``, and ``x`` that went in.
        q: Queries, (B, T, C), then (B, H, T, D); ``k`` and ``v`` likewise.
        scores: (B, H, T, T).
        factor: Multiplies the scores.
        unscaled: The scores before they were scaled.
        hidden: Which scores are hidden, broadcastable to (B, H, T, T); None where none is.
        attention: The weights, (B, H, T, T).
        mixed: (B, H, T, D), then (B, T, C).
        out: (B, T, C).
        untransposed: Whether heads are left where a view has put them, (B, T, H, D).
        late_scale: Multiplies the weights after the softmax.
        drop_at: Where dropout acts: ``scores``, ``weights``, ``values``, ``mixed``, ``output``.
        drop_rate: Its rate where that is not the constructor's.
        drop_always: Whether it acts in evaluation too.
        drop_by_gradients: Whether it acts where gradients are recorded instead.
        rescale: Whether what is kept grows by 1/(1 - rate).
        drop_by_hand: Whether what is dropped is drawn by ``torch.rand``, not by torch's dropout.
        shared_noise: The shape of dropout's noise, where it is not that of the weights.
        renormalise: Whether weights are shared out anew after dropout.
        cut: What is detached, each by its name.
        frozen: Layers whose parameters get no gradient.
        lowest: What a hidden score becomes: -inf, or the least number of a dtype.
        random: The state of the random numbers after the last dropout.
        mask_late: Whether it is the weights that are filled, after the softmax.
        late_fill: What they are filled with.
        norms: The names of the first and the second norm.
        normed: How a norm computes, (…, C) -> (…, C), before its weights.
        places: Where the first and the second norm act, if not where they should.
        pre_norm: Whether what goes into a sublayer is normed.
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
    x: Tensor = _NOTHING
    made: Mapping[str, Tensor] = field(default_factory=dict)
    q: Tensor = _NOTHING
    k: Tensor = _NOTHING
    v: Tensor = _NOTHING
    scores: Tensor = _NOTHING
    factor: float = 1.0
    unscaled: Tensor = _NOTHING
    hidden: Tensor | None = None
    attention: Tensor = _NOTHING
    mixed: Tensor = _NOTHING
    out: Tensor = _NOTHING
    untransposed: bool = False
    late_scale: float = 1.0
    drop_at: frozenset[str] = frozenset({"weights"})
    drop_rate: float | None = None
    drop_always: bool = False
    drop_by_gradients: bool = False
    rescale: bool = True
    drop_by_hand: bool = False
    shared_noise: tuple[int, ...] = ()
    renormalise: bool = False
    cut: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()
    lowest: float = float("-inf")
    random: Tensor | None = None
    device: str = "cpu"
    mask_late: bool = False
    late_fill: float = 0.0
    norms: tuple[str, str] = ("norm1", "norm2")
    normed: Callable[[Tensor], Tensor] = _standardised
    places: tuple[str, str] = ("", "")
    pre_norm: bool = False
    swapped: bool = False

    def copy(self) -> State:
        """A state that can go another way from here; its tensors are shared."""
        made = State.__new__(State)
        made.__dict__.update(self.__dict__)
        return made

    @property
    def D(self) -> int:
        """The head size."""
        return self.q.size(-1)

    @property
    def C(self) -> int:
        """The width of what heads are cut from."""
        return self.q.size(-1) * self.H

    def linear(self, name: str, x: Tensor, bias: bool = True) -> Tensor:
        """What a layer gives, (…, in) -> (…, out)."""
        cut = name in self.frozen
        name = f"attention.{name}" if self.layout.block else name
        names = (name, "") if self.layout.bare else (f"{name}.weight", f"{name}.bias")
        weight, added = (self.weights.get(name) for name in names)
        if weight is None:
            raise KeyError(name)
        if cut:
            weight, added = weight.detach(), None if added is None else added.detach()
        out = x @ (weight if self.layout.bare else weight.mT)
        return out if added is None or not bias else out + added

    def norm(self, half: int, x: Tensor) -> Tensor:
        """What the norm of the first or the second half gives, 0 or 1."""
        name = self.norms[half]
        over = self.places[half] == "positions"
        # Over the positions each feature is normed over all tokens of the batch.
        normed = self.normed(x.flatten(0, 1).mT).mT.reshape(x.shape) if over else self.normed(x)
        return normed * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def drops(self, where: str) -> bool:
        """Whether dropout acts here."""
        when = self.recording if self.drop_by_gradients else self.training or self.drop_always
        return self.layout.dropout and where in self.drop_at and when

    def drop(self, where: str, value: Tensor) -> Tensor:
        """The value after dropout, if it acts here.

        The noise is what torch draws for a float32 tensor of this shape, from the same seed.
        """
        if not self.drops(where):
            return value
        # One head has no axis of its own in a submission; the order of elements is the same.
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
        """What each of these entries is multiplied by, as torch draws it now."""
        rate = self.rate if self.drop_rate is None else self.drop_rate
        drawn = torch.rand_like(ones) >= rate if self.drop_by_hand else F.dropout(ones, rate)
        return drawn if self.rescale else (drawn != 0).to(ones.dtype)

    def _noise_shape(self, value: Tensor) -> tuple[int, ...]:
        shape = tuple(value.shape)
        kept = self.shared_noise or shape
        return tuple(min(pair) for pair in zip(shape, kept, strict=True))

    def detached(self, place: str, value: Tensor) -> Tensor:
        """The value, without its graph if it is cut here."""
        return value.detach() if place in self.cut else value


Choice = Callable[[State], None]
# Of each step by name. A step without the choice "right" is one in which nothing is to be done.
CHOICES: dict[str, dict[str, Choice]] = {step: {} for step in STEPS}
SETTLED: dict[tuple[str, str], frozenset[str]] = {}  # the steps that a choice leaves no choice in


def choice(step: str, name: str = "right", *settles: str) -> Callable[[Choice], Choice]:
    """Register a way to do a step.

    Args:
        step: One of ``STEPS``.
        name: Of the way.
        settles: Other steps in which nothing is left to be done wrong then.
    """

    def register(function: Choice) -> Choice:
        assert name not in CHOICES[step], f"{step}: {name} is registered twice"
        CHOICES[step][name] = function
        SETTLED[step, name] = frozenset({step, *settles})
        return function

    return register
