"""The event loop of ``grade watch``: a file is saved, a key is pressed, a grading is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue

from grader.errors import GradeError
from grader.kit import Exercise, Kit
from grader.kit.notebooks import notebook_file
from grader.kit.stubs import expect_within, is_edited, real_path, relative_to_cwd
from grader.languages import say
from grader.outputs.phrases import describe_progress
from grader.outputs.screen import Screen
from grader.practice.background_grader import BackgroundGrader
from grader.practice.events import FileSaved, GradingEnded, GradingUnderWay, KeyPressed, WatchEvent
from grader.practice.folder import start_anew
from grader.practice.history import open_history
from grader.practice.pages import PAGE_KEYS, SOLUTION, Pages
from grader.records import Explain, Report
from grader.records.progress import Progress
from grader.submission import Submission, read_submission

BUSY_DELAY_S = 0.4  # before the screen says that a grading is under way


class Watch:
    """The state of ``grade watch``, and how each event changes it.

    Args:
        kit: The kit whose exercises are graded.
        exercise: The exercise to begin with.
        events: Queue of the events to handle, in turn.
        draw: Shows a screen.
        keyed: Whether keys can be pressed; without them, a solved exercise leads to the next.
    """

    def __init__(
        self,
        kit: Kit,
        exercise: Exercise,
        events: SimpleQueue[WatchEvent],
        draw: Callable[[Screen], None],
        keyed: bool,
    ) -> None:
        self._kit = kit
        self._events = events
        self._show = draw
        self._keyed = keyed
        self._exercise = exercise
        self._report: Report | None = None
        self._graded: dict[str, str] = {}  # the source that was graded last, by exercise
        self._file: dict[str, Path] = {}  # the file that was saved last, by exercise
        self._under_way, self._began_s = False, 0.0
        self._progress = ""  # of the grading under way, in words, once it is shown
        self._so_far = ""  # what it has found wrong
        self._next_to_grade: Exercise | None = None  # once the grading under way has ended
        self._maps = self._verbose = False
        self._explain: Explain | None = None  # what the folder says, until a key says otherwise
        self._hints: list[str] = []
        self._pages = Pages(kit)
        self._news = self._key_to_confirm = ""  # a key to be pressed once more to confirm
        with open_history(kit) as history:
            self._solved = history.solved()

    def run(self, grader: BackgroundGrader) -> None:
        """Handle events until the person quits."""
        self._grader = grader
        self._turn_to_and_grade(self._exercise)
        while True:
            if self._events.empty():  # else what is drawn would be out of date at once
                self._draw()
            event = self._wait()
            if isinstance(event, KeyPressed) and event.name == "q":
                return
            self._take(event)

    def _wait(self) -> WatchEvent:
        if not self._under_way or self._progress:
            return self._events.get()
        try:
            left_s = self._began_s + BUSY_DELAY_S - time.monotonic()
            return self._events.get(timeout=max(left_s, 0.0))
        except Empty:
            self._progress = say("grading")
            self._draw()
            return self._events.get()

    def _take(self, event: WatchEvent) -> None:
        try:
            match event:
                case FileSaved():
                    self._saved(event.path)
                case GradingUnderWay():
                    self._came_so_far(event.progress)
                case GradingEnded():
                    self._ended(event)
                case KeyPressed():
                    self._pressed(event.name)
        except GradeError as error:  # the history or a file cannot be used: keep watching
            self._news = str(error)

    def _saved(self, path: Path) -> None:
        for exercise in self._kit.exercises:
            for file in (exercise.file, notebook_file(exercise)):
                if real_path(file) == path:
                    self._file[exercise.name] = file
                    self._grade(exercise)

    def _grade(self, exercise: Exercise) -> None:
        """Grade the exercise's file unless it is unchanged; first stop a grading under way."""
        file = self._file.get(exercise.name, exercise.file)
        try:
            expect_within(file, self._kit)
            submission = read_submission(relative_to_cwd(file))
        except GradeError as error:
            self._turn_to(exercise)
            self._news = str(error)
            return
        if not submission.source.strip():
            return  # an editor has emptied the file, and is about to fill it
        if self._graded.get(exercise.name) == submission.source and self._exercise is exercise:
            return
        if self._under_way:
            self._next_to_grade = exercise
            self._grader.stop()
            return
        self._turn_to(exercise)
        self._under_way, self._began_s = True, time.monotonic()
        self._grader.grade(exercise, submission, self._maps, self._explain)

    def _came_so_far(self, progress: Progress) -> None:
        """Show how far the grading is if it takes long or has found something wrong."""
        if (self._explain or self._exercise.explain) is not Explain.NOTHING:
            self._so_far = self._so_far or progress.wrong
        if self._so_far or self._progress:
            self._progress = describe_progress(progress)

    def _ended(self, graded: GradingEnded) -> None:
        self._under_way, self._progress, self._so_far = False, "", ""
        wanted, self._next_to_grade = self._next_to_grade, None
        if isinstance(graded.outcome, GradeError):
            self._news = f"not graded: {str(graded.outcome).partition(chr(10))[0]}"
        elif graded.outcome is not None:
            self._judged(graded.exercise, graded.submission, graded.outcome)
        if wanted is not None:
            self._grade(wanted)

    def _judged(self, exercise: Exercise, submission: Submission, report: Report) -> None:
        self._graded[exercise.name] = submission.source
        if exercise is self._exercise:
            self._news, self._report = "", report
            self._draw()  # at once, as writing the history takes time
        trouble = self._remember(report, submission)
        if exercise is self._exercise:
            self._go_on(report)
        self._news = trouble or self._news

    def _remember(self, report: Report, submission: Submission) -> str:
        """Add a grading to the history unless the source is unchanged; return why that failed."""
        try:
            with open_history(self._kit) as history:
                history.record_once(report, submission.source)
        except GradeError as error:
            return f"not recorded: {error}"
        return ""

    def _go_on(self, report: Report) -> None:
        """Once an exercise is first solved, offer the next; without keys, turn to it at once."""
        if not report.solved or report.exercise in self._solved:
            return
        self._solved.add(report.exercise)
        score = f"{report.exercise} is solved, {report.earned} / {report.possible}"
        if (following := self._following) is None:
            self._news = f"{score}, and so are all the others"
        elif self._keyed:
            self._news = f"{score}: Enter goes on to {following.name}, s shows our solution"
        else:
            self._turn_to_and_grade(following)
            self._news = score

    @property
    def _following(self) -> Exercise | None:
        """The next unsolved exercise, wrapping around at the end; None if all are solved."""
        at = self._kit.exercises.index(self._exercise)
        others = self._kit.exercises[at + 1 :] + self._kit.exercises[:at]
        return next((one for one in others if one.name not in self._solved), None)

    def _turn_to_and_grade(self, exercise: Exercise) -> None:
        """Turn to an exercise, and grade its file if it was edited."""
        self._turn_to(exercise)
        if self._under_way:
            self._grader.stop()
        if is_edited(exercise) or exercise.name in self._file:
            self._graded.pop(exercise.name, None)
            self._grade(exercise)

    def _turn_to(self, exercise: Exercise) -> None:
        if exercise is not self._exercise:
            self._exercise, self._report, self._hints, self._maps = exercise, None, [], False
        self._news = ""
        self._pages.close()

    def _pressed(self, key: str) -> None:
        if self._pages.move(key):
            return
        again, opened, picked = key == self._key_to_confirm, self._pages.key, self._pages.picked
        self._news = self._pages.key = self._key_to_confirm = ""
        if key == "\n":
            self._enter(picked)
        elif key in ("n", "p"):
            at = self._kit.exercises.index(self._exercise) + (1 if key == "n" else -1)
            self._turn_to_and_grade(self._kit.exercises[at % len(self._kit.exercises)])
        elif key == "h":
            with open_history(self._kit) as history:
                self._hints = history.next_hint(self._exercise)
        elif key in ("m", "e", "v"):
            self._tell_otherwise(key)
        elif key == "r":
            self._reset(sure=again)
        elif key == SOLUTION and self._exercise.name not in self._solved:
            self._news = self._not_solved
        elif key in PAGE_KEYS:
            self._pages.open(key if key != opened else "", self._exercise)
        else:
            what = f"`{key}`" if key.isprintable() and key.strip() else "that"
            self._news = f"{what} is not a key here; ? lists the keys"

    def _enter(self, picked: Exercise | None) -> None:
        is_solved = self._exercise.name in self._solved
        wanted = picked or (self._following if is_solved else None)
        if wanted is not None:
            self._turn_to_and_grade(wanted)
        else:
            self._news = "all are solved" if is_solved else self._not_solved

    def _tell_otherwise(self, key: str) -> None:
        """Toggle maps, the explanation's level or verbosity; regrade for the first two."""
        if key == "v":  # the report holds the details already
            self._verbose = not self._verbose
            return
        if self._under_way:
            return
        levels = list(Explain)
        if key == "m":
            self._maps = not self._maps
        else:
            now = levels.index(self._explain or self._exercise.explain)
            self._explain = levels[(now + 1) % len(levels)]
        self._turn_to_and_grade(self._exercise)
        if key == "e":
            self._news = f"how much of a known mistake is told from now on: {self._explain}"

    def _reset(self, sure: bool) -> None:
        if not sure:
            self._key_to_confirm = "r"
            self._news = f"r once more puts the stub of {self._exercise.name} back, and keeps yours"
            return
        kept = start_anew(self._exercise, self._kit)
        self._graded.pop(self._exercise.name, None)
        self._file.pop(self._exercise.name, None)
        self._report, self._hints = None, []
        where = " and ".join(str(path) for path in kept)
        self._news = f"yours is kept in {where}" if kept else "it is already the stub"

    def _text(self) -> str:
        """Return the text of the open page; empty if none is open or it cannot be shown."""
        try:
            return self._pages.text(self._exercise, self._solved)
        except GradeError as error:
            self._news, self._pages.key = str(error), ""
            return ""

    @property
    def _not_solved(self) -> str:
        return f"{self._exercise.name} is not solved yet; h gives a hint"

    def _draw(self) -> None:
        exercise, text = self._exercise, self._text()
        screen = Screen(
            title=self._kit.title,
            solved=len(self._solved),
            total=len(self._kit.exercises),
            name=exercise.name,
            about=exercise.title,
            file=str(relative_to_cwd(self._file.get(exercise.name, exercise.file))),
            news=self._news,
            under_way=self._progress,
            so_far=self._so_far,
            report=self._report,
            maps=self._maps,
            verbose=self._verbose,
            hints=self._hints,
            page=text,
        )
        self._pages.place_on(screen)
        self._show(screen)
        self._pages.note_shown(screen)
