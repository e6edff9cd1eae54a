"""What rounding and chance make of the answers to a unit, some requests of a check."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from grader.diagnosis.noise import NoisyOperations, moved_by_rounding
from grader.diagnosis.replay import AskedStep, Replay, ReplayUnit, difference_between, form_of
from grader.diagnosis.same import gap_between, rounding_of, tolerated_gap
from grader.sandbox.replies import StepAnswer
from grader.wire import messages, packing, responses

OTHER_SEED = 1 << 20  # added to a seed, of which a CPU looks at 32 bits
MAX_TIMES_NOISE = 4  # how many times as far off as by noise an answer in another style may be
MIN_TIMES_NEARER = 3  # how many times nearer than the solution's a mistake's answer has to be
GRADIENT_ROUNDINGS = 32  # of the largest gradient, which may be left of terms that cancel
Answer = StepAnswer | Exception
Place = tuple[int, int]  # of a step in a unit: which group, and which of its steps


def is_steady(replay: Replay, answered: ReplayUnit, seed_shift: int = OTHER_SEED) -> bool:
    """Return whether neither chance nor rounding decides a source's answers to a unit.

    Other random seeds, slightly changed inputs and noise in every operation must not change them
    beyond rounding.

    Args:
        replay: The source.
        answered: Unit with the source's answers.
        seed_shift: Is added to the random seeds; 0 looks at rounding alone.
    """
    ours = _with_noise(answered, seed_shift)
    with NoisyOperations():
        return not any(replay.differences(ours))


def unexplained(
    replay: Replay, unit: ReplayUnit, solved: Callable[[ReplayUnit], ReplayUnit]
) -> Iterator[str]:
    """Yield the kind of each difference from a submission's answers that is more than rounding.

    A difference is rounding where this source's answer is much nearer to the submission's than the
    solution's is, and noise in every operation moves it nearly as far.

    Args:
        replay: Source that answers: the solution with mistakes.
        unit: Unit with the submission's answers.
        solved: Returns a unit with the solution's answers.
    """
    near: dict[Place, StepAnswer] = {}
    for place, theirs, mine in replay.answers(unit):
        kind = difference_between(theirs, mine)
        if kind and isinstance(mine, StepAnswer) and _is_nearer(theirs, mine, solved(unit), place):
            near[place] = mine
        elif kind:
            yield kind
    if not near:
        return
    noisy = _with_noise(unit, 0)
    with NoisyOperations():
        moved = {place: answer for place, _, answer in replay.answers(noisy)}
    for (group, step), mine in near.items():
        theirs = unit.groups[group][step].answer
        if not _is_noise(theirs, mine, moved.get((group, step))):
            yield difference_between(theirs, mine)


def _is_nearer(theirs: Answer, mine: StepAnswer, solved: ReplayUnit, place: Place) -> bool:
    """Return whether ours is much nearer to the submission's answer than the solution's is.

    One tensor has to be, and of none may the contrary hold: a gradient may be rounding alone.
    """
    right = solved.groups[place[0]][place[1]].answer
    if not _differ_in_numbers_alone(theirs, mine) or form_of(right) != form_of(mine):
        return False
    assert isinstance(theirs, StepAnswer)
    assert isinstance(right, StepAnswer)
    least = _rounding_of_gradients(theirs)
    is_nearer = False
    for one, gap, other in zip(theirs.tensors, _gaps(theirs, mine), right.tensors, strict=True):
        allowed, gap_of_right = max(tolerated_gap(one), least), gap_between(one, other)
        if gap > max(allowed, MIN_TIMES_NEARER * gap_of_right):
            return False
        is_nearer |= MIN_TIMES_NEARER * gap <= gap_of_right > allowed
    return is_nearer


def _is_noise(theirs: Answer, mine: StepAnswer, moved: Answer | None) -> bool:
    """Return whether the submission's answer is hardly further off ours than noise takes it."""
    if moved is None or form_of(moved) != form_of(mine):
        return False
    assert isinstance(theirs, StepAnswer)
    assert isinstance(moved, StepAnswer)
    least = _rounding_of_gradients(theirs)
    return all(
        gap <= max(tolerated_gap(one), least, MAX_TIMES_NOISE * noise)
        for one, gap, noise in zip(
            theirs.tensors, _gaps(theirs, mine), _gaps(moved, mine), strict=True
        )
    )


def _differ_in_numbers_alone(theirs: Answer, mine: StepAnswer) -> bool:
    if not isinstance(theirs, StepAnswer) or form_of(theirs) != form_of(mine):
        return False
    return not difference_between(theirs, mine._replace(tensors=theirs.tensors))


def _rounding_of_gradients(answer: StepAnswer) -> float:
    """Return by how much any gradient may be off, as terms as large as the largest one cancel."""
    if not isinstance(answer.answer, responses.Gradients):
        return 0.0
    return max(map(rounding_of, answer.tensors), default=0.0) * GRADIENT_ROUNDINGS


def _gaps(one: StepAnswer, other: StepAnswer) -> Iterator[float]:
    return map(gap_between, one.tensors, other.tensors)


def _with_noise(unit: ReplayUnit, seed_shift: int) -> ReplayUnit:
    """Return a unit with other random seeds, and with inputs changed by a few rounding errors."""
    dice = random.Random(1)
    groups = [[_shaken(asked, seed_shift, dice) for asked in group] for group in unit.groups]
    return unit._replace(groups=groups)


def _shaken(asked: AskedStep, seed_shift: int, dice: random.Random) -> AskedStep:
    step = asked.step
    given = packing.load_tensors(step.tensors, asked.body, True)
    tensors = [moved_by_rounding(one, dice).requires_grad_(one.requires_grad) for one in given]
    specs, body = packing.dump_tensors(tensors, strided=True)
    seed = None if step.seed is None else step.seed + seed_shift
    return asked._replace(step=messages.Step(step.operation, specs, len(body), seed), body=body)
