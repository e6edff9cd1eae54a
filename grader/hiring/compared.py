"""The submissions of one exercise that can be compared, those with the same code together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.hiring.dataflow import contract_of
from grader.hiring.likelihood import Evidence
from grader.hiring.traits import SubmissionTraits, TraitSets, read_traits
from grader.records import EarlierSubmission, LeftOut

MAX_SUBMISSION_CHARS = 1 << 16  # a longer submission is not compared
MAX_TOKENS = 4_000  # tokens; six times as many as our longest answer holds
MAX_TRAITS = 4_000  # of one kind; a file of nothing but comments has fewer
TOO_LONG, NO_CODE, STUB, KNOWN = (
    "too long to compare",
    "holds no code",
    "is the stub",
    "is a solution that everybody may know",
)


@dataclass(frozen=True)
class SameCode:
    """Submissions with the same code.

    Attributes:
        names: Those of the batch, in alphabetical order.
        earlier: The keys of those of earlier batches.
        trait_sets: Their traits; of comments, where there are several, what two of them have.
    """

    names: Sequence[str]
    earlier: Sequence[str]
    trait_sets: TraitSets

    @property
    def everybody(self) -> list[str]:
        """All of them, those of the batch first."""
        return [*self.names, *self.earlier]


class ComparedSubmissions:
    """The submissions of one exercise, and the evidence between them.

    Args:
        sources: The text of each submission by its name.
        stub: The text of the stub.
        known: Answers that everybody may know.
        earlier: The submissions of earlier batches, by keys that are nobody's name.

    Attributes:
        codes: Each code that is compared, those of the batch first.
        left_out: The submissions of the batch that are not compared.
        evidence: The evidence between the codes, by their place.
    """

    def __init__(
        self,
        sources: Mapping[str, str],
        stub: str,
        known: Sequence[str],
        earlier: Mapping[str, EarlierSubmission],
    ) -> None:
        self._contract = contract_of(stub)
        self._stub_lines = {line.strip() for line in stub.split("\n")}
        self._sources = {**sources, **{key: one.source for key, one in earlier.items()}}
        untouched = read_traits(stub, self._contract)
        answers = [read_traits(source, self._contract) for source in known]
        reasons = {**{one.code: KNOWN for one in answers}, untouched.code: STUB, "": NO_CODE}
        there, self.left_out = self._read_all(sorted(sources), reasons)
        before, _ = self._read_all(sorted(earlier), reasons)
        self.codes = [
            _same_code(there.get(code, {}), before.get(code, {})) for code in {**there, **before}
        ]
        self.evidence = Evidence(
            [*(one.trait_sets for one in self.codes), *(one.trait_sets() for one in answers)],
            untouched.trait_sets(),
            len(before.keys() - there.keys()),
            len(answers),
        )

    def _read_all(
        self, names: Iterable[str], reasons: Mapping[str, str]
    ) -> tuple[dict[str, dict[str, TraitSets]], list[LeftOut]]:
        """Return the traits by code and name, and who is left out, for a reason by the code."""
        codes: dict[str, dict[str, TraitSets]] = {}
        left_out: list[LeftOut] = []
        for name in names:
            traits = self._read(name)
            if traits is None:
                left_out.append(LeftOut(name, TOO_LONG))
            elif traits.code in reasons:
                left_out.append(LeftOut(name, reasons[traits.code]))
            else:
                codes.setdefault(traits.code, {})[name] = traits.trait_sets()
        return codes, left_out

    def _read(self, name: str) -> SubmissionTraits | None:
        """Return the traits of a submission; None if it is too long, or the reading fails.

        No fault that one file finds in our reading may cost all others their comparison.
        """
        if len(self._sources[name]) > MAX_SUBMISSION_CHARS:
            return None
        try:
            found = read_traits(self._sources[name], self._contract, MAX_TOKENS)
        except Exception:  # mostly `TooLong`
            return None
        return found if max(map(len, found.trait_sets())) <= MAX_TRAITS else None

    def read(self, name: str) -> SubmissionTraits:
        """Return the traits of a submission that is compared."""
        return read_traits(self._sources[name], self._contract)

    def own_lines(self, name: str) -> set[int]:
        """Return the numbers of the lines of a submission that are not as in the stub."""
        lines = enumerate(self._sources[name].split("\n"), 1)
        return {number for number, line in lines if line.strip() not in self._stub_lines}


def _same_code(there: Mapping[str, TraitSets], before: Mapping[str, TraitSets]) -> SameCode:
    """Return submissions with the same code: those of the batch, and those of earlier ones."""
    sets = [*there.values(), *before.values()]
    *code, comments = sets[0]
    if len(sets) > 1:
        times = Counter(text for one in sets for text in one[-1])
        comments = frozenset(text for text, count in times.items() if count > 1)
    return SameCode(list(there), list(before), (*code, comments))
