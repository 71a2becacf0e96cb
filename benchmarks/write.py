"""Writes docs/measurements/benchmarks.md from the sections."""

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

Written by `make bench`; `python -m benchmarks.run --only NAME` prints one part.

{machine}

The commands that are compared run in turns, A B C A B C, so that other work on the machine affects
all of them. Each number is the median of {rounds} runs, unless the text says otherwise.
*Whole process* is the elapsed time from the start of a process to its end, with stdout discarded.
*Processor* is the processor time of the process and its children, which other work on the machine
affects less."""
COMMENTS = """\
## Conclusions

- torchinfo and torchlens run the model with real tensors, and so can do more than compute shapes:
  torchlens keeps every operation with its tensors, and can change them. The measured calls are the
  closest to `hookcli inspect` that these tools offer; torchlens does much more than this table.
- `hookcli inspect` computes no values. The larger the model and the batch, the greater its
  advantage; if imports take most of the time, there is none. If it must fall back to real tensors
  (see `docs/how-it-works/index.md`), it runs twice and is slower than a script.
- Importing torch and transformers takes much of the whole process. hookcli's worker collects
  garbage rarely while it imports, and ends without the teardown of torch. *Plain PyTorch* and
  *imports alone* do the same; scripts usually do not.
- *Plain PyTorch, fake tensors* imports torch's compiler, which takes most of a second; transformers
  imports it in any case. hookcli's worker avoids that import (see `docs/how-it-works/index.md`).
- On small models, `import torch` is nearly all of the time, in every tool. hookcli then costs as
  much as a script with torchinfo.
- A tool that calls the model's forward in train mode changes the buffers of normalisation layers
  and the state of the random generators that dropout uses, as any forward does."""


def machine(cores: int | None = None) -> str:
    """Return a description of the machine, and the versions of packages."""
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
    return table(Table(("figure", "measured", "limit", "reached"), tuple(rows)))


def section(one: Section) -> str:
    return "\n\n".join([f"## {one.title}", one.how, *map(table, one.tables)])


def document(sections: Sequence[Section], rounds: int, words: str) -> str:
    """The whole page, as Markdown that ends in a newline."""
    found = [figure for one in sections for figure in one.figures]
    head = HEAD.format(machine=words, rounds=rounds)
    overview = ["## Figures", figures(found)] if found else []
    return "\n\n".join([head, *overview, *map(section, sections), COMMENTS]) + "\n"
