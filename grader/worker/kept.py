"""What a worker keeps from one request to the next, by handle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from grader.worker.devices import SimulatedDevice
from grader.worker.graphs import Graph


class Refusal(Exception):
    """The submission cannot serve a step, say for lack of a method; the text is for the learner."""


@dataclass
class Kept:
    """What later requests refer to by handle, until one releases it.

    Attributes:
        objects: Modules, and lists of calls' results.
        makers: The constructors of the modules.
        graphs: What a backward through kept calls needs.
        other_devices: What plays the other device, by handle of the module on it.
    """

    objects: dict[int, Any] = field(default_factory=dict)
    makers: dict[int, Callable[[], nn.Module]] = field(default_factory=dict)
    graphs: dict[int, Graph] = field(default_factory=dict)
    other_devices: dict[int, SimulatedDevice] = field(default_factory=dict)

    def release(self, handle: int) -> None:
        """Drop all that is kept under a handle."""
        for kept in (self.objects, self.makers, self.graphs, self.other_devices):
            kept.pop(handle, None)

    def output(self, handle: int, path: list[int | str]) -> Any:
        """Return a part of the results of kept calls; None where there is no such part."""
        found = self.objects.get(handle)
        for part in path:
            try:
                found = found[part]  # type: ignore[index]  # it may be None
            except (LookupError, TypeError):
                return None
        return found

    def find(self, handle: int, path: list[int | str]) -> Any:
        """Return a part of the results of kept calls; raise ``Refusal`` if there is none."""
        found = self.output(handle, path)
        if found is None:
            name = "".join(f"[{part!r}]" for part in path[1:])
            raise Refusal(f"an earlier call gave no output{name} to be handed on")
        return found
