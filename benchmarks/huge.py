"""A model that does not fit into the memory of a usual machine."""

from __future__ import annotations

import sys

from benchmarks.section import Section, Table, gigabytes, seconds
from benchmarks.timing import HOOKCLI, Command, alternate, medians

HOW = """\
Llama 3.1 405B by its public config: 126 layers, 405,853,388,800 parameters, 1.6 TB in float32.
Peak is the largest memory that the process and its descendants used at one time, with shared pages
divided among them (PSS). The other tools build a model with real tensors and cannot run here."""


def measure(rounds: int) -> Section:
    floor = (sys.executable, "-m", "benchmarks.peers.bare", "fake", "llama405b")
    imports = (sys.executable, "-m", "benchmarks.peers.bare", "imports", "llama405b")
    commands = (
        Command(
            "`hookcli inspect`",
            (HOOKCLI, "inspect", "benchmarks/models/llama405b.py"),
            peak=True,
        ),
        Command("plain PyTorch", floor, peak=True),
        Command("imports alone", imports, peak=True),
    )
    found = {name: medians(runs) for name, runs in alternate(commands, rounds).items()}
    rows = tuple(
        (name, seconds(one.wall), seconds(one.processor), gigabytes(one.peak))
        for name, one in found.items()
    )
    header = ("", "whole process, s", "processor, s", "peak")
    return Section("405 billion parameters", HOW, (Table(header, rows),))
