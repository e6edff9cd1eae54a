"""Makes the covering arrays of all contracts of the kit anew, and prints what they cover.

python benchmarks/arrays.py
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.kit import load_kit
from grader.suite import Contract, load_suite
from grader.suite.situations.covering import ARRAYS, KEPT, kept_at, make
from grader.suite.situations.trial import model_of


def main() -> None:
    """Write a file for each set of factors; those of no contract any more are removed."""
    KEPT.mkdir(exist_ok=True)
    written: set[Path] = set()
    for exercise in load_kit(Path(__file__).parent.parent).exercises:
        contract = getattr(load_suite(str(exercise.suite), exercise.suite.name), "contract", None)
        if not isinstance(contract, Contract) or not contract.has_situations:
            continue
        model = model_of(contract)
        file = kept_at(model)
        if file not in written:
            arrays = [make(model, seed) for seed in range(ARRAYS)]
            file.write_bytes(msgspec.json.encode(arrays) + b"\n")
            written.add(file)
            count, lengths = len(model.factors), [len(array) for array in arrays]
            print(f"{exercise.name}: {count} factors, {lengths} situations, strength 2")
    for file in set(KEPT.glob("*.json")) - written:
        file.unlink()


if __name__ == "__main__":
    main()
