"""How much memory is available. Only Linux reports it; elsewhere it is not known."""

from __future__ import annotations

from pathlib import Path

from hookcli.errors import ModelError


def too_large(
    need: int, most: int, place: str, why: str = "", *, gradients: bool = False
) -> ModelError:
    """Return the error for a real run that needs `need` bytes when only `most` are available."""
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
    """Return the available bytes: of the machine, or of the control group if that has fewer."""
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
    """Parse the "name number" lines of a kernel file."""
    rows = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _machine() -> int | None:
    try:
        return _fields(Path("/proc/meminfo"))["MemAvailable"] * 1024
    except (OSError, KeyError):
        return None


def _group(limit: str, used: str, stat: str, prefix: str) -> int | None:
    """Return the bytes left below a control group's limit; inactive page cache counts as free."""
    folder = Path("/sys/fs/cgroup")
    try:
        most = int((folder / limit).read_text())
        taken = int((folder / used).read_text())
        fields = _fields(folder / stat)
    except (OSError, ValueError):
        return None
    cache = fields.get(f"{prefix}inactive_file", 0) + fields.get(f"{prefix}active_file", 0)
    return most - (taken - cache) if most < 1 << 60 else None
