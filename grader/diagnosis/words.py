"""A diagnosis in words. No torch here."""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.catalogue import KnownMistake, Mistake

WHERE_WRONG = "Where your output is wrong, it is exactly what comes out"
MODULE = "Your module is exactly what comes out"
WHOLE = "Your output is exactly what comes out"
ONLY = {
    "learn": "Your values are right, and your gradients are exactly those that come out",
    "mask": "Your output is right without a mask, and under one it is exactly what comes out",
    "drop": "Without dropout your output is right, and with it exactly what comes out",
}
BESIDE = "Your values are right, and what is wrong beside them is exactly what comes out"
RAISED = "Your output is right wherever one comes, and exceptions are exactly those that are raised"
PARTS = {  # of the pipeline, as they are listed
    "project": "queries, keys and values",
    "split": "heads, cut",
    "score": "scores",
    "scale": "scale",
    "mask": "mask",
    "drop": "dropout",
    "softmax": "softmax",
    "mix": "mixing",
    "merge": "heads, put back",
    "output": "output",
    "arrange": "block: order",
    "norms": "block: norms",
    "add1": "block: first sum",
    "feed": "block: feed-forward",
    "add2": "block: second sum",
    "learn": "gradients",
}
BY_CHANCE = (
    "The same call gives other numbers with another seed, in evaluation and with the same weights: "
    "random numbers are drawn in each call, or layers are made anew in `forward`, where the "
    "constructor should make them once."
)
COUNTS = {2: "two", 3: "three"}


def describe(
    sets: Sequence[Sequence[KnownMistake]],
    left: Sequence[str],
    beginning: str = "",
    right: Sequence[str] = (),
) -> str:
    """What reproduces a submission, as a few sentences.

    Args:
        sets: The smallest sets of mistakes that do, none of them empty.
        left: What they don't reproduce, such as ``gradients``.
        right: What of that is right.
        beginning: Of the first sentence; empty where the steps of the pipeline tell it.
    """
    first, *others = sets
    text = f"{beginning or _beginning(first)} {_listed(first)}."
    if others:
        listing = ", or ".join(_listed(other) for other in others[:2])
        text += f" The same comes out {listing}; nothing that was tried tells these apart."
    unknown = [what for what in left if what not in right]
    if unknown:
        text += f" Something else is wrong in this as well, and is not known: {', '.join(unknown)}."
    if right:
        text += f" This is right all the same: {', '.join(right)}."
    return text


def reasons(mistakes: Sequence[KnownMistake]) -> str:
    """Why these mistakes matter; of one that does not say so, where to look."""
    whys = [mistake.hurts or mistake.hint for mistake in mistakes]
    return whys[0] if len(whys) == 1 else " ".join(f"({i}) {w}" for i, w in enumerate(whys, 1))


def where(mistakes: Sequence[KnownMistake]) -> str:
    """Where these mistakes are, and nothing of what they are."""
    places = dict.fromkeys(
        f"the step `{PARTS[one.part]}`"
        if isinstance(one, Mistake)
        else f"what the check `{getattr(one, 'loses', '').removeprefix('test_')}` is about"
        for one in mistakes
    )
    return f"The mistake is in {', another in '.join(places)}."


def ask(mistakes: Sequence[KnownMistake]) -> str:
    """A question for each of these mistakes, which does not give it away."""
    return " ".join(mistake.hint for mistake in mistakes)


def _beginning(mistakes: Sequence[KnownMistake]) -> str:
    of_pipeline = [mistake for mistake in mistakes if isinstance(mistake, Mistake)]
    parts = {mistake.part for mistake in of_pipeline}
    causal = any("causal" in mistake.choice for mistake in of_pipeline)
    return ONLY.get(next(iter(parts)), WHOLE) if len(parts) == 1 and not causal else WHOLE


def _listed(mistakes: Sequence[KnownMistake]) -> str:
    if len(mistakes) == 1:
        return f"when {mistakes[0].says}"
    listing = " ".join(f"({i}) {mistake.says}" for i, mistake in enumerate(mistakes, 1))
    return f"with {COUNTS[len(mistakes)]} mistakes: {listing}"
