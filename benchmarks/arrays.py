"""Make the covering arrays that our kits' contracts need and no file holds, and print their sizes.

python benchmarks/arrays.py          only for new sets of factors; removes unused arrays
python benchmarks/arrays.py --all    all of them anew
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.kit import load_kit
from grader.suite import Contract, load_suite
from grader.suite.situations.covering import (
    ARRAYS_FOLDER,
    ARRAYS_PER_MODEL,
    array_file_of,
    halves,
    make_array,
)
from grader.suite.situations.factors import FactorModel
from grader.suite.situations.places import model_of

ROOT = Path(__file__).parent.parent
KITS = (ROOT, ROOT / "kits/training")


def models() -> Iterator[tuple[str, FactorModel]]:
    """Yield an exercise's name and the model of factors behind its situations, for each model."""
    for exercise in [one for kit in KITS for one in load_kit(kit).exercises]:
        suite = load_suite(str(exercise.suite), exercise.suite.name)
        tried = [
            one for one in vars(suite).values() if isinstance(one, Contract) and one.has_situations
        ]
        found = [model_of(one) for whole in tried for one in (whole, *whole.part_contracts)]
        for model in {array_file_of(model): model for model in found}.values():
            yield exercise.name, model


def main(*, anew: bool) -> None:
    """Write a file of arrays for each set of factors, and remove files that no contract uses."""
    ARRAYS_FOLDER.mkdir(exist_ok=True)
    written: set[Path] = set()
    for name, model in models():
        file = array_file_of(model)
        if file not in written and (anew or not file.exists()):
            whole = [make_array(model, seed) for seed in range(ARRAYS_PER_MODEL // 2)]
            arrays = [half for one in whole for half in halves(model, one)]
            file.write_bytes(msgspec.json.encode(arrays) + b"\n")
            count, lengths = len(model.factors), [len(array) for array in arrays]
            print(f"{name}: {count} factors, {lengths} situations")
        written.add(file)
    for file in set(ARRAYS_FOLDER.glob("*.json")) - written:
        file.unlink()


if __name__ == "__main__":
    main(anew="--all" in sys.argv[1:])
