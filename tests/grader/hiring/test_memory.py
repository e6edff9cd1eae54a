"""A batch takes most of the memory that is free, and no more than its container has."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.hiring import memory

MIB = 1 << 20
MEMINFO = "MemTotal: 16777216 kB\nMemFree: 1024 kB\nMemAvailable: 8388608 kB\n"


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8,192 MiB that are free, in no group."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "groups")
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text(MEMINFO)
    (tmp_path / "proc" / "self" / "cgroup").write_text("0::/\n")
    return tmp_path / "proc"


def limit(group: Path, version: int, most: int | str, used: int, given_back: int) -> None:
    """Give a group a limit, in MiB."""
    group.mkdir(parents=True, exist_ok=True)
    limit_file, used_file, line = memory.GROUP_FILES[0 if version == 2 else 1]
    (group / limit_file).write_text(f"{most * MIB if isinstance(most, int) else most}\n")
    (group / used_file).write_text(f"{used * MIB}\n")
    (group / "memory.stat").write_text(f"anon 5\n{line} {given_back * MIB}\nshmem 0\n")


def taken(free: int) -> int:
    return int(free * memory.SHARE_TO_TAKE)


def test_most_of_what_is_available_is_taken(proc: Path) -> None:
    assert memory.memory_to_take() == taken(8192)


def test_container_with_less_than_the_machine_bounds_it(proc: Path) -> None:
    limit(memory.CGROUPS, 2, 4096, used=3000, given_back=1000)
    assert memory.memory_to_take() == taken(2096)


def test_group_around_the_own_one_bounds_it_as_well(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("0::/user/job 7\n")
    limit(memory.CGROUPS / "user" / "job 7", 2, "max", used=100, given_back=0)
    limit(memory.CGROUPS / "user", 2, 3000, used=500, given_back=0)
    assert memory.memory_to_take() == taken(2500)


def test_groups_of_version_1_count(proc: Path) -> None:
    (proc / "self" / "cgroup").write_text("5:devices:/x\n4:memory:/jobs/7\n1:cpu,cpuacct:/\n0::/\n")
    limit(memory.CGROUPS / "memory", 1, 1 << 40, used=0, given_back=0)  # that is no limit
    limit(memory.CGROUPS / "memory" / "jobs" / "7", 1, 2000, used=800, given_back=300)
    assert memory.memory_to_take() == taken(1500)


def test_group_that_is_full_leaves_nothing(proc: Path) -> None:
    limit(memory.CGROUPS, 2, 1000, used=1001, given_back=0)
    assert memory.memory_to_take() == 0


def test_system_that_does_not_tell_counts_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path / "nowhere")
    assert memory.memory_to_take() > 100
