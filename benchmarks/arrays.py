"""Makes the covering arrays of all contracts of the kit anew, and prints what they cover.

python benchmarks/arrays.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.kit import load_kit
from grader.suite import Contract, load_suite
from grader.suite.situations.covering import ARRAYS, KEPT, kept_at, make
from grader.suite.situations.factors import Model
from grader.suite.situations.trial import model_of


def models() -> Iterator[tuple[str, Model]]:
    """What the situations of each exercise of the kit are made of, by its name."""
    for exercise in load_kit(Path(__file__).parent.parent).exercises:
        contract = getattr(load_suite(str(exercise.suite), exercise.suite.name), "contract", None)
        if isinstance(contract, Contract) and contract.has_situations:
            yield exercise.name, model_of(contract)
            for part in contract.inside:
                yield f"{exercise.name}, {part.entry}", model_of(part)


def main() -> None:
    """Write a file for each set of factors; those of no contract any more are removed."""
    KEPT.mkdir(exist_ok=True)
    written: set[Path] = set()
    for name, model in models():
        file = kept_at(model)
        if file not in written:
            arrays = [make(model, seed) for seed in range(ARRAYS)]
            file.write_bytes(msgspec.json.encode(arrays) + b"\n")
            written.add(file)
            count, lengths = len(model.factors), [len(array) for array in arrays]
            print(f"{name}: {count} factors, {lengths} situations, strength 2")
    for file in set(KEPT.glob("*.json")) - written:
        file.unlink()


if __name__ == "__main__":
    main()
