"""The page that is open over the report in ``grade watch``, and how far either is scrolled."""

from __future__ import annotations

from grader.kit import Exercise, Kit
from grader.languages import say
from grader.outputs.screen import KEYS_PAGE, Screen
from grader.practice.folder import PICKED_PREFIX, list_lines, reveal_solution

LIST, SOLUTION, HELP = PAGE_KEYS = ("l", "s", "?")
STEPS = {"up": -1, "k": -1, "down": 1, "j": 1}
PAGE_STEPS = {"page up": -1, "b": -1, "page down": 1, " ": 1}


class Pages:
    """Which page is open, which line of the list is marked, and what part of a text is seen.

    Attributes:
        key: The key that opened the page; empty if none is open.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self.key = ""
        self._picked = 0  # index of the marked exercise in the list
        self._scroll = 0
        self._visible_lines = 0

    @property
    def picked(self) -> Exercise | None:
        """The exercise that is marked in the list; None if the list is not open."""
        return self._kit.exercises[self._picked] if self.key == LIST else None

    def open(self, key: str, exercise: Exercise) -> None:
        """Open a key's page at its top; the list marks ``exercise``."""
        self.key, self._scroll = key, 0
        self._picked = self._kit.exercises.index(exercise)

    def close(self) -> None:
        """Close any page, and show the report from its top."""
        self.key, self._scroll = "", 0

    def move(self, key: str) -> bool:
        """Scroll, or mark another exercise in the list; return whether the key did so."""
        step = STEPS.get(key, 0) + PAGE_STEPS.get(key, 0) * max(self._visible_lines - 1, 1)
        if self.key == LIST:
            self._picked = min(max(self._picked + step, 0), len(self._kit.exercises) - 1)
        else:
            self._scroll += step
        return step != 0

    def text(self, exercise: Exercise, solved: set[str]) -> str:
        """Return the text of the open page; empty if none is open, or not for this exercise yet.

        Raises:
            GradeError: The solution cannot be read.
        """
        if self.key == LIST:
            return "\n".join(list_lines(self._kit, solved, self._picked))
        if self.key == SOLUTION and exercise.name in solved:
            return reveal_solution(exercise, self._kit)
        return say(KEYS_PAGE) if self.key == HELP else ""

    def place_on(self, screen: Screen) -> None:
        """Tell a screen which of its page's lines is to be seen, and how far it is scrolled."""
        lines = screen.page.split("\n") if self.key == LIST else []
        marked = [at for at, line in enumerate(lines) if line.startswith(PICKED_PREFIX)]
        screen.focus, screen.scroll = (marked or [-1])[0], self._scroll

    def note_shown(self, screen: Screen) -> None:
        """Note what part of its text a screen has shown."""
        self._scroll, self._visible_lines = screen.scroll, screen.visible_lines
