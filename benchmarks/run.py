"""`python -m benchmarks.run [--only NAME] [--quick]`: measures all parts, or some.

Without flags it writes docs/measurements/benchmarks.md.
"""

from __future__ import annotations

import argparse
import compileall
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from benchmarks import (
    correctness,
    growth,
    huge,
    inspection,
    modules,
    run_cost,
    small_steps_cost,
    startup,
)
from benchmarks.section import Section
from benchmarks.timing import ROOT, CommandFailedError
from benchmarks.write import document, machine

PAGE = ROOT / "docs" / "measurements" / "benchmarks.md"
ROUNDS = 5
PARTS: dict[str, Callable[[int, bool], Section]] = {
    "help": lambda rounds, quick: startup.measure(rounds),
    "inspect": lambda rounds, quick: inspection.measure(rounds),
    "commands": lambda rounds, quick: inspection.measure_commands(rounds),
    "huge": lambda rounds, quick: huge.measure(min(rounds, 3)),
    "modules": lambda rounds, quick: modules.measure(
        rounds, modules.SIZES[:-1] if quick else modules.SIZES
    ),
    "growth": lambda rounds, quick: growth.measure(min(rounds, 3), 50 if quick else 10),
    "training": lambda rounds, quick: run_cost.measure(
        min(rounds, 3), *((100, 10_000) if quick else ())
    ),
    "small-steps": lambda rounds, quick: small_steps_cost.measure(
        min(rounds, 3), 0.1 if quick else 1.0
    ),
    "correctness": lambda rounds, quick: correctness.measure(),
}


def part(name: str, rounds: int, quick: bool) -> Section:
    """Measure a part. If a command fails, its section shows the error, and other parts continue."""
    try:
        return PARTS[name](rounds, quick)
    except CommandFailedError as error:
        print(f"  FAILED: {error}", flush=True)
        return Section(name, f"**Failed:** {error}", ())


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure, and write docs/measurements/benchmarks.md."
    )
    parser.add_argument(
        "--only", action="append", choices=PARTS, help="measure only this part; repeatable"
    )
    parser.add_argument(
        "--quick", action="store_true", help="run one round, without 100,000 modules"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, help="write the page to this file")
    given = parser.parse_args()
    rounds = 1 if given.quick else given.rounds
    compileall.compile_dir(ROOT / "hookcli", quiet=1)  # as an installation does
    started = perf_counter()
    sections = []
    for name in given.only or PARTS:
        print(f"{name}:", flush=True)
        sections.append(part(name, rounds, given.quick))
    page = document(sections, rounds, machine())
    target = given.output or (None if given.only or given.quick else PAGE)
    if target is None:
        print(page)
    else:
        target.write_text(page)
        print(f"{target}: {perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
