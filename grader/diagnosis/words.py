"""Put a diagnosis into words, without importing torch."""

from __future__ import annotations

from collections.abc import Sequence

from grader.diagnosis.catalogue import KnownMistake, Mistake

BEGINNING_WHERE_WRONG = "Where your output is wrong, it is exactly what comes out"
BEGINNING_MODULE = "Your module behaves exactly as one does"
BEGINNING_OUTPUT = "Your output is exactly what comes out"
BEGINNING_BY_PART = {
    "learn": "Your output is right, but your gradients are exactly those that come out",
    "mask": "Your output is right without a mask, but with one it is exactly what comes out",
    "drop": "Your output is right without dropout, but with it exactly what comes out",
}
BEGINNING_BESIDE = "Where nothing else is wrong, your output is exactly what comes out"
BEGINNING_WHERE_GIVEN = "Where there is an output, it is exactly what comes out"
BEGINNING_NOT_OUTPUT = "Your output is right, and what else is wrong is exactly what comes out"
BEGINNING_EXCEPTIONS = (
    "Your output is right; only exceptions are wrong, raised or missing exactly as they are"
)
PART_TITLES = {  # parts of the pipeline, as messages call them
    "project": "queries, keys and values",
    "split": "splitting into heads",
    "score": "scores",
    "scale": "scale",
    "mask": "mask",
    "drop": "dropout",
    "softmax": "softmax",
    "mix": "mixing",
    "merge": "merging the heads",
    "output": "output",
    "arrange": "block: order",
    "norms": "block: norms",
    "add1": "block: first sum",
    "feed": "block: feed-forward",
    "add2": "block: second sum",
    "learn": "gradients",
}
BY_CHANCE = {  # whether it shows in training alone
    False: "The same call gives different numbers with another seed, in evaluation with the same "
    "weights: random numbers are drawn in each call, or layers are created anew in `forward`, "
    "instead of once in the constructor.",
    True: "In training, the same call gives different numbers with another seed, where nothing is "
    "to be dropped: is there a dropout that the exercise does not ask for?",
}
COUNT_WORDS = {2: "two", 3: "three"}


def describe_mistakes(
    sets: Sequence[Sequence[KnownMistake]],
    unexplained: Sequence[str],
    beginning: str = "",
    right_anyway: Sequence[str] = (),
) -> str:
    """Describe in a few sentences which mistakes reproduce a submission.

    Args:
        sets: The smallest sets of mistakes that reproduce it, none of them empty.
        unexplained: What they do not reproduce, such as ``gradients``.
        right_anyway: What of ``unexplained`` is right.
        beginning: Beginning of the first sentence; empty where the mistakes' steps decide it.
    """
    first, *others = sets
    text = f"{beginning or _beginning(first)} {_listed(first)}."
    if others:
        listing = ", or ".join(_listed(other) for other in others[:2])
        text += f" The same comes out {listing}; nothing that was tried tells these apart."
    unknown = [what for what in unexplained if what not in right_anyway]
    if unknown:
        text += f" This does not explain all that is wrong: {', '.join(unknown)}."
    if right_anyway:
        text += f" This is right nonetheless: {', '.join(right_anyway)}."
    return text


def beside_others(says: str) -> str:
    """Return what ``describe_mistakes`` said without its claim that all else is right."""
    for beginning in (BEGINNING_BY_PART["mask"], BEGINNING_BY_PART["drop"], BEGINNING_OUTPUT):
        if says.startswith(beginning):
            return BEGINNING_BESIDE + says.removeprefix(beginning)
    return says


def reasons(mistakes: Sequence[KnownMistake]) -> str:
    """Return why these mistakes matter; for one without such a text, its hint."""
    whys = [mistake.hurts or mistake.hint for mistake in mistakes]
    return whys[0] if len(whys) == 1 else " ".join(f"({i}) {w}" for i, w in enumerate(whys, 1))


def place_sentence(mistakes: Sequence[KnownMistake]) -> str:
    """Return a sentence that tells in which step the mistakes are, without saying what they are."""
    places = dict.fromkeys(
        f"the step `{PART_TITLES[one.part]}`"
        if isinstance(one, Mistake)
        else f"what the check `{getattr(one, 'loses', '').removeprefix('test_')}` is about"
        for one in mistakes
    )
    return f"The mistake is in {', another in '.join(places)}."


def question_text(mistakes: Sequence[KnownMistake]) -> str:
    """Return a question for each of these mistakes that does not give it away."""
    return " ".join(mistake.hint for mistake in mistakes)


def _beginning(mistakes: Sequence[KnownMistake]) -> str:
    of_pipeline = [mistake for mistake in mistakes if isinstance(mistake, Mistake)]
    parts = {mistake.part for mistake in of_pipeline}
    always = any(one.part == "mask" and "masks" not in one.needs for one in of_pipeline)
    part = parts.pop() if len(parts) == 1 and not always else ""
    return BEGINNING_BY_PART.get(part, BEGINNING_OUTPUT)


def _listed(mistakes: Sequence[KnownMistake]) -> str:
    if len(mistakes) == 1:
        return f"when {mistakes[0].says}"
    listing = " ".join(f"({i}) {mistake.says}" for i, mistake in enumerate(mistakes, 1))
    return f"with {COUNT_WORDS[len(mistakes)]} mistakes: {listing}"
