"""How much memory can still be had. Linux says; elsewhere nothing is known."""

from __future__ import annotations

from pathlib import Path

from hookcli.errors import ModelError


def too_large(
    need: int, most: int, place: str, why: str = "", *, gradients: bool = False
) -> ModelError:
    """Refusal of a real run whose tensors would take `need` bytes where `most` can be had."""
    what = "parameters and their gradients" if gradients else "parameters"
    needed, free = f"{need / 1e9:.1f} GB", f"{most / 1e9:.1f} GB"
    return ModelError(
        f"a real run needs {needed} for {what}, but only {free} is available{why}",
        place=place,
        hint="use `inspect` or `trace`, which run with fake tensors and need no memory"
        if gradients
        else "pass `--tensors fake`, which needs no memory for the parameters",
    )


def available() -> int | None:
    """Bytes that can still be had: the machine's, or the control group's where that is less."""
    sizes = [_machine(), *(_group(*names) for names in _GROUPS)]
    return min((size for size in sizes if size is not None), default=None)


_GROUPS = (
    ("memory.max", "memory.current", "memory.stat", ""),
    (
        "memory/memory.limit_in_bytes",
        "memory/memory.usage_in_bytes",
        "memory/memory.stat",
        "total_",
    ),
)


def _fields(path: Path) -> dict[str, int]:
    """The "name number" lines of a file of the kernel's."""
    rows = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _machine() -> int | None:
    try:
        return _fields(Path("/proc/meminfo"))["MemAvailable"] * 1024
    except (OSError, KeyError):
        return None


def _group(limit: str, used: str, stat: str, prefix: str) -> int | None:
    """What is left below a control group's limit; the page cache gives way and does not count."""
    folder = Path("/sys/fs/cgroup")
    try:
        most = int((folder / limit).read_text())
        taken = int((folder / used).read_text())
        fields = _fields(folder / stat)
    except (OSError, ValueError):
        return None
    cache = fields.get(f"{prefix}inactive_file", 0) + fields.get(f"{prefix}active_file", 0)
    return most - (taken - cache) if most < 1 << 60 else None
