"""``grade doctor``: show what this machine offers."""

from __future__ import annotations

import platform
from importlib.metadata import version

import click

from grader.cli.options import warn_of_untried_versions
from grader.cli.saying import echo
from grader.errors import GraderFault
from grader.languages import say
from grader.sandbox.process import Sandbox
from grader.versions import TESTED_PYTHONS, TESTED_TORCH_RANGE
from grader.wire.levels import LEVELS

WALLS = {
    "full": "namespaces, Landlock, seccomp, limits",
    "landlock": "Landlock, seccomp, limits",
    "process": "a process of its own, limits",
}
ADVICE = {
    "full": "allow user namespaces: in a container `--security-opt seccomp=unconfined`, on Ubuntu "
    "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
    "landlock": "Linux 5.13 or later with Landlock among `cat /sys/kernel/security/lsm`",
    "process": "reinstall `attention-drills`: Python itself cannot start a worker",
}


@click.command()
def doctor() -> None:
    """Show what this machine offers: levels of isolation, versions, devices.

    \b
    Example: grade doctor
    """
    sandboxes = {level: Sandbox(level) for level in LEVELS if not _why_unsupported(level)}
    echo("isolation, the strongest first; the first that holds is the default")
    for level in LEVELS:
        text = _why_unsupported(level) or _examine(sandboxes[level], level)
        click.echo(f"  {level:<9} {say(text)}")
    for sandbox in sandboxes.values():
        sandbox.close()
    echo("versions")
    echo(f"  python    {platform.python_version()}, known to work: {', '.join(TESTED_PYTHONS)}")
    echo(f"  torch     {version('torch')}, known to work: {' to '.join(TESTED_TORCH_RANGE)}")
    warn_of_untried_versions()
    echo(say("devices"))
    for name, text in _devices().items():
        click.echo(f"  {name:<9} {say(text)}")


def _why_unsupported(level: str) -> str:
    if platform.system() == "Linux" or level == "process":
        return ""
    return "needs Linux"


def _examine(sandbox: Sandbox, level: str) -> str:
    """Return whether an isolation level holds here, in words.

    A canary, code that attempts what no submission may do, has tried it in the sandbox.
    """
    try:
        assert sandbox.isolation
    except GraderFault as fault:
        return (
            f"not here: {sandbox.refused.get(level, fault)}\n            to get it: {ADVICE[level]}"
        )
    done = sandbox.open_walls
    open_walls = f"; not prevented: a worker {', '.join(map(say, done))}" if done else ""
    tasks = f"at most {sandbox.tasks} threads" if sandbox.tasks else "threads bounded by memory"
    return f"{say('holds')}: {say(WALLS[level])}; {say(tasks)}{say(open_walls)}"


def _devices() -> dict[str, str]:
    import torch

    found = {"cpu": platform.machine()}
    count = torch.cuda.device_count()
    names = ", ".join(torch.cuda.get_device_name(i) for i in range(count))
    found["cuda"] = names or "none that torch can use"
    found["mps"] = "yes" if torch.mps.is_available() else "none"
    return found
