"""The time for each additional module, in small models and in very large ones."""

from __future__ import annotations

import sys

from benchmarks.section import Figure, Section, Table, seconds
from benchmarks.timing import HOOKCLI, Command, Run, alternate, medians

SIZES = (1, 1_000, 10_000, 100_000)
MOST_ROUNDS = {10_000: 3, 100_000: 2}
HOW = """\
Chains of `nn.Linear(8, 8)`, each called once. The time per module is the time of a chain minus that
of the chain of one module, divided by the number of additional modules. The largest chain runs at
most twice. Plain PyTorch, which builds the chain with fake tensors and calls it, runs with up to
10,000 modules."""


def chain(name: str, size: int, argv: tuple[str, ...]) -> Command:
    return Command(
        f"{name} {size}", argv, {"BENCH_MODULES": str(size)}, rounds=MOST_ROUNDS.get(size)
    )


def measure(rounds: int, sizes: tuple[int, ...] = SIZES) -> Section:
    inspect = (HOOKCLI, "inspect", "benchmarks/models/chain.py")
    floor = (sys.executable, "-m", "benchmarks.peers.bare", "fake", "chain")
    commands = [chain("hookcli", size, inspect) for size in sizes]
    commands += [chain("floor", size, floor) for size in sizes if size <= 10_000]
    found = {name: medians(runs) for name, runs in alternate(commands, rounds).items()}
    rows = tuple(row(size, found) for size in sizes)
    small, large = sizes[1], sizes[-1]
    growth = cost("hookcli", large, found)[0] / cost("hookcli", small, found)[0]
    header = ("modules", "whole process, s", "processor, s", "ms per module",
              "processor, ms per module", "plain PyTorch, ms per module")  # fmt: skip
    figure = Figure(f"time per module, {large:,} modules relative to {small:,}", growth, 1.5)
    return Section("Many modules", HOW, (Table(header, rows),), (figure,))


def cost(name: str, size: int, found: dict[str, Run]) -> tuple[float, float]:
    """Return the milliseconds per additional module: elapsed time, and processor time."""
    one, many = found[f"{name} 1"], found[f"{name} {size}"]
    each = 1000 / (size - 1)
    return (many.wall - one.wall) * each, (many.processor - one.processor) * each


def row(size: int, found: dict[str, Run]) -> tuple[str, ...]:
    one = found[f"hookcli {size}"]
    cells = (f"{size:,}", seconds(one.wall), seconds(one.processor))
    if size == 1:
        return (*cells, "–", "–", "–")
    wall, processor = cost("hookcli", size, found)
    bare = f"{cost('floor', size, found)[0]:.2f}" if f"floor {size}" in found else "–"
    return (*cells, f"{wall:.2f}", f"{processor:.2f}", bare)
