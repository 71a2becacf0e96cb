"""The time that each tool adds to a step of a small convolutional network.

    python -m benchmarks.comparison time [--rounds 5]

Each round runs `cnn.py` once without a tool and once with each, one after the other. A figure is
the median over the rounds of the ratio to the plain run of the same round; steps 10 to 59 count,
with the settings of the table of faults. Processor time is that of the training's own process.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from pathlib import Path

from benchmarks.comparison.attached import PLAIN, TOOLS, Tool, run

SOURCE = (Path(__file__).parent / "cnn.py").read_text()
PRINTED = re.compile(r"per step: ([\d.]+) ms of wall time, ([\d.]+) ms of processor time")


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison time")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(arguments).rounds
    tools = {name: tool for name, tool in TOOLS.items() if tool.version}
    times: dict[str, list[tuple[float, float]]] = {"plain": [], **{name: [] for name in tools}}
    for _ in range(rounds):
        for name, tool in {"plain": PLAIN, **tools}.items():
            times[name].append(_per_step(tool))
    print("| tool | wall time per step | ratio to plain | ratio of processor time |")
    print("|---|--:|--:|--:|")
    for name, measured in times.items():
        wall = statistics.median(pair[0] for pair in measured)
        ratios = [_ratio(measured, times["plain"], index) for index in (0, 1)]
        print(f"| {name} | {wall:.1f} ms | {ratios[0]} | {ratios[1]} |", flush=True)


def _per_step(tool: Tool) -> tuple[float, float]:
    """Wall and processor time of a step, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        text = run(tool, SOURCE, Path(folder))
    found = PRINTED.search(text)
    if found is None:
        raise RuntimeError(f"{tool.distribution} did not end the training:\n{text}")
    return float(found[1]), float(found[2])


def _ratio(of: list[tuple[float, float]], to: list[tuple[float, float]], index: int) -> str:
    """Median and range of the ratios of the rounds."""
    ratios = [a[index] / b[index] for a, b in zip(of, to, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
