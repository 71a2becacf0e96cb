"""How the benchmark measures growth: the slopes, and the large report. No test looks at a clock."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import hookcli
from benchmarks.growth import (
    LIMIT,
    MEMORY,
    TIME,
    Cost,
    Point,
    Quantity,
    of_loop,
    repeat_events,
    row,
    run,
    slopes,
)
from benchmarks.timing import CommandFailedError
from hookcli.report.files import read_report


def points(cost):
    return [Point(size, Cost(cost(size), 1e6 * cost(size))) for size in (100, 400, 1600)]


def test_a_linear_cost_has_the_ratio_1_whatever_a_run_costs_at_least():
    found = slopes(*points(lambda size: 30 + 0.5 * size))
    assert found.time == pytest.approx(1)
    assert found.memory == pytest.approx(1)
    assert found.large == Cost(pytest.approx(0.5), pytest.approx(0.5e6))
    assert row("a", "unit", found)[-1] == "held"


def test_a_cost_that_grows_with_the_square_has_the_ratio_4_and_misses_the_limit():
    found = slopes(*points(lambda size: 30 + 0.01 * size**2))
    assert found.time == pytest.approx(4)
    assert row("a", "unit", found)[-1] == "**missed**"
    a_tenth_more = slopes(*points(lambda size: size + 0.0003 * size**2))
    assert a_tenth_more.time > LIMIT


def test_differences_that_cannot_be_measured_count_as_the_least_that_can():
    found = slopes(Point(0, Cost(1, 5e6)), Point(10, Cost(0.9, 5e6)), Point(20, Cost(1, 4e6)))
    assert found.small == found.large == Cost(TIME / 10, MEMORY / 10)


def test_a_loop_is_measured_from_its_second_tenth_on():
    flat = [(float(i), 100_000_000) for i in range(1, 11)]
    assert of_loop([(9.0, 10), *flat[1:]], 1_000).time == pytest.approx(1)
    slow = [(float(i) if i <= 6 else 6 + 2.0 * (i - 6), i * 10_000_000) for i in range(1, 11)]
    assert of_loop(slow, 1_000).time == pytest.approx(2)
    assert of_loop(slow, 1_000).large.bytes == pytest.approx(100_000)


def test_a_report_is_repeated_to_a_size_and_can_be_read(tmp_path):
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    text = hookcli.trace(model, torch.randn(4, 3)).to_json()
    file = tmp_path / "large.json"
    file.write_text("".join(repeat_events(text, 60_000)))
    assert 60_000 <= file.stat().st_size < 62_000
    events = read_report(str(file)).events
    assert [event.seq for event in events] == list(range(len(events)))
    first = text.count('"seq": ')
    assert events[first + 1].target == events[1].target


def test_the_memory_of_a_run_is_its_own_and_a_failure_is_not_measured(tmp_path):
    def prepare(size: int, folder: Path) -> None:
        Path(folder, "size").write_text(str(size))

    code = "import sys; from pathlib import Path; bytearray(int(Path(sys.argv[1]).read_text()))"
    grows = Quantity("a", "byte", 0, (sys.executable, "-c", code, "{folder}/size"), {}, prepare)
    found = grows.measure(96_000_000, 1)
    assert found.large.bytes == pytest.approx(1, abs=0.1)
    assert found.memory == pytest.approx(1, abs=0.1)
    held = bytearray(150_000_000)  # of the process that starts the run
    assert run((sys.executable, "-c", "pass"), {}).bytes < 100_000_000
    del held
    with pytest.raises(CommandFailedError, match="status 3: no output"):
        run((sys.executable, "-c", "raise SystemExit(3)"), {})
