"""``grade batch status``: show how far a batch is, without grading anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from grader.cli.batch_remarks import open_batch, out_option
from grader.cli.names import kit_in_use, kit_option
from grader.cli.saying import echo


@click.command()
@out_option
@kit_option
def status(out: Path, kit_path: Path | None) -> None:
    """Say how far a batch is, what came of it so far, and how it goes on.

    \b
    Example: grade batch status
    """
    from grader.hiring.candidates import Candidate
    from grader.hiring.gradebook import Gradebook

    with open_batch(out) as store:
        names, weights, done = store.names(), store.weights(), store.done()
        settings, command = store.known_settings(), store.fact("command")
        seeds = settings.seeds if settings else ()
        candidates = [Candidate(name, {}, key) for key, name in names.items()]
        rows = Gradebook(store, candidates, weights, kit_in_use(kit_path)).rows()
        is_busy = store.is_locked()
    people = "candidate" if len(names) == 1 else "candidates"
    asked = len(names) * len(weights) * len(seeds)
    echo(f"{len(names)} {people}, {len(done)} of {asked} gradings done")
    for number, exercise in enumerate(weights):
        tally = Counter(str(row.scores[number].status) for row in rows)
        echo(f"  {exercise}: {', '.join(f'{n} {what}' for what, n in tally.most_common())}")
    decided = Counter(row.decision for row in rows if row.decision)
    if decided:
        echo(f"  decisions: {', '.join(f'{n} {what}' for what, n in decided.most_common())}")
    if is_busy:
        echo(f"at work: `{command}`")
    elif command:
        echo(f"not at work; `{command}` goes on, or grades what is new")
