"""The sizes of a module and its inputs, by letter, and shapes that are written in letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# Sizes as in practice: a constant that is right only at small sizes shows as wrong at these.
USUAL_SIZES = {"B": 2, "T": 17, "S": 19, "C": 64, "E": 32, "H": 4, "G": 2, "D": 16}


class Sizes(Mapping[str, int]):
    """The sizes of one try, by letter: ``Sizes(B=3, T=5, C=7).T`` is 5.

    Sizes that may be chosen freely are distinct primes, so that a swapped axis shows. ``B=0``
    stands for a single sequence without a batch dimension.

    Example:
        >>> sizes = Sizes(B=3, T=5, C=7)
        >>> sizes.shape("B T C"), sizes.replace(T=1).T
        ((3, 5, 7), 1)
    """

    def __init__(self, **letters: int) -> None:
        self._letters = letters

    def __getattr__(self, letter: str) -> int:
        try:
            return self.__dict__["_letters"][letter]  # type: ignore[no-any-return]  # a size
        except KeyError:
            raise AttributeError(f"there is no size `{letter}` among {self!r}") from None

    def __getitem__(self, letter: str) -> int:
        return self._letters[letter]

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)

    def __hash__(self) -> int:
        return hash(frozenset(self._letters.items()))

    def __repr__(self) -> str:
        return ", ".join(f"{letter}={size}" for letter, size in self._letters.items())

    def replace(self, **letters: int) -> Sizes:
        """Return a copy with some sizes changed or added."""
        return Sizes(**{**self._letters, **letters})

    def shape(self, letters: str) -> tuple[int, ...]:
        """Return the shape that letters such as ``B T C`` stand for.

        A number stands for itself, ``S+T`` for a sum of sizes, ``C/H`` for a quotient.
        """
        return tuple(map(self._size_of, self.axes(letters)))

    def _size_of(self, word: str) -> int:
        if "+" in word:
            return sum(map(self._size_of, word.split("+")))
        if "/" in word:
            whole, count = map(self._size_of, word.split("/"))
            return whole // count
        return int(word) if word.isdigit() else self[word]

    def axis(self, letters: str, letter: str) -> int:
        """Return the index of the axis that ``letter`` is the size of, alone or in a sum."""
        words = self.axes(letters)
        return next(axis for axis, word in enumerate(words) if letter in word.split("+"))

    def axes(self, letters: str) -> list[str]:
        """Return the letters of a shape one by one, without ``B`` where there is no batch."""
        return [word for word in letters.split() if word != "B" or self["B"]]

    def named(self, letters: str) -> str:
        """Return the letters of a shape as a message shows them: ``(B, T, C)``."""
        words = self.axes(letters)
        return f"({', '.join(words)}{',' if len(words) == 1 else ''})"

    @property
    def length(self) -> int:
        """The number of positions, of queries or of keys, whichever is larger."""
        return max(self.get("T", 1), self.get("S", 1))

    @property
    def scores(self) -> int:
        """The number of attention scores: one per query and key, in each head and sequence."""
        return max(self.get("B", 1), 1) * self.get("H", 1) * self.get("T", 1) * self.length

    def usual(self) -> Sizes:
        """Return sizes as in practice (``USUAL_SIZES``); a single head and a smaller batch stay."""
        kept = {letter: size for letter, size in self.items() if letter == "H" and size == 1}
        usual = {letter: USUAL_SIZES.get(letter, size) for letter, size in self.items()}
        if "B" in self:
            usual["B"] = min(self.B, USUAL_SIZES["B"])
        return Sizes(**{**usual, **kept})
