"""Sections → docs/measurements/benchmarks.md."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version

from benchmarks.section import Figure, Section, Table

PACKAGES = ("torch", "transformers", "torchinfo", "torchlens")
HEAD = """\
# Benchmarks

Written by `make bench`; `python -m benchmarks.run --only NAME` prints a part of it.

{machine}

Everything that is compared is run in turns, A B C A B C, so that what the machine does meanwhile
meets all of them; each figure is the median of {rounds} runs by itself, unless said otherwise.
*Whole process* is by the clock, from the start of a process to its end, with stdout going
nowhere. *Processor* is the time that all its processes spent computing, which other work on the
machine moves less."""
COMMENTS = """\
## What to make of it

- The peers run the model for real, which gives them what shapes do not need: torchlens keeps
  every operation with its tensors, and can intervene. What they do here is the nearest to
  `hookcli inspect` that they have; torchlens pays for much more than this table.
- `hookcli inspect` does not compute, so its lead grows with the model and the batch, and shrinks
  to nothing where the imports are all that counts. Where it has to fall back to real tensors
  (`docs/how-it-works/index.md` says when) it runs twice, and is slower than a script.
- Much of the whole process is importing torch and transformers. hookcli's worker looks for
  garbage rarely while it imports, and ends without taking torch apart. So do *the floor* and
  *imports alone*; scripts, as people write them, do not.
- On ResNet-50 torchinfo's own time is the shorter one: one image is little to compute, and fake
  tensors import torch's compiler, most of a second, which transformers imports anyway. The floor
  pays for it too.
- A tool that calls the model's own forward in train mode moves the buffers of its normalisations
  and the generators of its dropouts, as any forward of the user's would."""


def machine(cores: int | None = None) -> str:
    """The machine in general words, and the versions."""
    here = cores or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    words = [f"{platform.system()} {platform.machine()}", f"{here or os.cpu_count()} cores"]
    words += [f"{memory:.0f} GB of memory", f"Python {sys.version.split()[0]}"]
    words += [f"{name} {version(name)}" for name in PACKAGES]
    return ", ".join(words) + "."


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(one: Table) -> str:
    rest = "--:" if one.numbers else "---"
    rule = row(["---", *[rest] * (len(one.header) - 1)])
    lines = [row(one.header), rule, *map(row, one.rows)]
    return "\n".join([f"### {one.title}\n"] * bool(one.title) + lines)


def figures(found: Sequence[Figure]) -> str:
    rows = [
        (one.name, f"{one.value:.2f}", f"≤ {one.limit:g}", "yes" if one.reached else "**no**")
        for one in found
    ]
    return table(Table(("figure", "measured", "to be", "reached"), tuple(rows)))


def section(one: Section) -> str:
    return "\n\n".join([f"## {one.title}", one.how, *map(table, one.tables)])


def document(sections: Sequence[Section], rounds: int, words: str) -> str:
    """The whole page, as Markdown that ends in a newline."""
    found = [figure for one in sections for figure in one.figures]
    head = HEAD.format(machine=words, rounds=rounds)
    overview = ["## Figures", figures(found)] if found else []
    return "\n\n".join([head, *overview, *map(section, sections), COMMENTS]) + "\n"
