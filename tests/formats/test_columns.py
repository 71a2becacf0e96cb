"""Columns: every recorded statistic can be shown and sorted by; what is not shown is said."""

from __future__ import annotations

import json
import math
import random

import pytest
import torch
from hypothesis import given, strategies as st

from hookcli.cli.flags.values import parse_columns, parse_sort
from hookcli.engine.statistics.statistics import statistics
from hookcli.formats.names import FLOW, GRADS, TABLES, TRACE, columns_of, sorts_of
from hookcli.formats.order import ordered
from hookcli.formats.parts.grid import Column, draw
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.report.values import Leaf
from tests.conftest import run_cli
from tests.formats.fabricate import event, layer, parameter, report
from tests.formats.test_trace import body

NET = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.a, self.act, self.b = nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)

    def forward(self, x):
        return self.b(self.act(self.a(x)))

def example_inputs():
    return (torch.arange(20.0).view(5, 4) - 10,)
"""


def paths(figures):
    """Every statistic that `statistics` returns, as a path."""
    for key, value in figures.items():
        if isinstance(value, dict):
            yield from ((key, inner) for inner in value)
        else:
            yield (key,)


def test_every_recorded_statistic_is_a_column():
    recorded = set(paths(statistics(torch.tensor([1.0, math.nan, math.inf]))))
    assert {facts.stat for facts in TRACE.values() if facts.stat} == recorded
    gradients = {n: facts.stat for n, facts in GRADS.items() if not n.startswith("weight")}
    assert {stat for stat in gradients.values() if stat} == recorded
    for part in ("output", "input"):
        of_part = {facts.stat for name, facts in FLOW.items() if name.startswith(part)}
        assert of_part == {path for path in recorded if path[0] != "finite"}


@pytest.mark.parametrize("command", TABLES)
def test_explain_columns_has_every_column_and_sort(command):
    page = run_cli("explain", "columns").out
    section = page[page.index(f"{command}: ") :]
    for _, table in TABLES[command]:
        for name, facts in table.items():
            assert f"\n  {name}  " in section
            assert facts.meaning.split()[0] in section
    assert ", ".join(sorts_of(command)) in " ".join(section.split())


def by_hand(folder):
    """The zeros and means of the values that the model's forward hooks get, by plain PyTorch."""
    scope = {}
    exec(NET, scope)
    model, seen = scope["Net"](), {}
    for name, module in model.named_modules():
        module.register_forward_hook(
            lambda m, a, out, name=name: seen.__setitem__(name, out.detach())
        )
    model(*scope["example_inputs"]())
    return {name: (int((out == 0).sum()), float(out.mean())) for name, out in seen.items()}


def test_a_chosen_statistic_is_measured_and_is_that_of_plain_pytorch(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = run_cli("trace", "net.py", "--kinds", "forward", "--columns", "target,zeros,mean",
                   cwd=tmp_path)  # fmt: skip
    rows = {line.split()[0]: line.split()[1:] for line in body(done.out)[1:]}
    expected = by_hand(tmp_path)
    assert rows.keys() == {name or "(root)" for name in expected}
    for name, (zeros, mean) in expected.items():
        shown = rows[name or "(root)"]
        assert int(shown[0]) == zeros
        assert float(shown[1]) == pytest.approx(mean, rel=1e-3)


def test_the_statistics_of_calls_in_grads_are_measured_too(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = run_cli("grads", "net.py", "--columns", "layer,output_zeros", "-f", "json",
                   cwd=tmp_path)  # fmt: skip
    rows = {row["name"]: row["output_grad"] for row in json.loads(done.out)["layers"]}
    assert rows["a"]["zeros"] is not None
    assert rows["a"]["mean"] is not None


def test_hooks_of_a_configuration_are_left_as_they_are_and_the_note_says_what_to_add(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "h.yaml").write_text("model: net.py\nhooks:\n  - {kind: forward, at: a}\n")
    done = run_cli("trace", "-c", "h.yaml", "--columns", "target,mean,nans", cwd=tmp_path)
    assert "mean, nan were not measured: add `do: stats` to the hooks" in done.out


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (("trace", "--columns", "seq,zeross"), "unknown column 'zeross'", "try `zeros`, or"),
        (("grads", "--columns", "rat"), "unknown column 'rat'", "try `ratio`, or another of name"),
        (("grads", "--sort", "-nrom"), "rows cannot be sorted by 'nrom'", "try `norm`, or"),
        (("inspect", "--sort=-qqqqqq"), "rows cannot be sorted by 'qqqqqq'", "choose from order"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_the_list(line, message, hint, tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = run_cli(line[0], "net.py", *line[1:], cwd=tmp_path)
    assert done.status == 2
    first, place, last = done.err.splitlines()
    assert first == f"error: {message}"
    assert line[1].partition("=")[0] in place
    assert last.startswith(f"hint: {hint}")


@pytest.mark.parametrize("minus", [("--sort", "-norm"), ("--sort=-norm",)])
def test_a_minus_reverses_and_the_column_is_shown(minus, tmp_path):
    (tmp_path / "net.py").write_text(NET)
    done = run_cli("trace", "net.py", *minus, cwd=tmp_path)
    norms = [float(line.split()[-1]) for line in body(done.out)[1:]]
    assert norms == sorted(norms)
    assert len(norms) > 4


NUMBERS = st.one_of(st.none(), st.floats(), st.sampled_from(["nan", "inf", "-inf"]))


@given(st.lists(NUMBERS), st.booleans())
def test_rows_without_a_value_are_last_in_both_directions(values, reverse):
    rows = list(enumerate(values))
    found = ordered(rows, "-norm" if reverse else "norm", lambda row: row[1])
    numbers = [None if v is None else float(v) for _, v in found.rows]
    good = [v for v in numbers if v is not None and not math.isnan(v)]
    assert numbers[: len(good)] == good == sorted(good, reverse=not reverse)
    assert sorted(found.rows) == rows if not values else len(found.rows) == len(rows)
    assert found.nan + found.unknown == len(values) - len(good)
    for value in set(good):  # equal values stay in order
        at = [i for i, v in found.rows if v not in (None, "nan") and float(v) == value]
        assert at == sorted(at)


@pytest.mark.parametrize("width", range(10, 200, 7))
def test_a_table_tells_each_column_that_it_drops(width):
    names = [f"c{i}" for i in range(9)]
    columns = {name: Column(name, lambda row, name=name: name * 4) for name in names}
    dropped = []
    table = draw(columns, [1, 2], width=width, give_way=names[1:], dropped=dropped)
    shown = table.splitlines()[0].split()
    assert sorted([*shown, *dropped]) == names
    assert dropped == names[1 : len(dropped) + 1]


def test_notes_tell_what_is_not_shown():
    known = statistics(torch.tensor([1.0, 2.0]))
    values = (Leaf("", (2,), "float32", stats=known),)
    events = tuple(event(i, "forward", "forward", f"l{i}", 0, values) for i in range(3))
    text = FORMATS["table"].render(report("trace", events=events), View(width=200))
    assert "recorded, but not shown: mean, std, min, max, abs_max (use `--columns`)" in text
    rows = tuple(parameter(f"p{i}.w", (2,), grad=known) for i in range(3))
    for form in ("table", "tree", "markdown"):
        text = FORMATS[form].render(report("grads", parameters=rows), View(width=200, only="p1*"))
        assert "1 of 3 parameters is shown" in text.replace("\\", "")
    calls = tuple(layer(i, f"l{i}", "Linear", None) for i in range(3))
    for form in ("table", "tree", "markdown"):
        text = FORMATS[form].render(report("inspect", layers=calls), View(width=200, only="l1*"))
        assert "1 of 3 calls is shown" in text


def test_a_sort_by_any_column_orders_the_cells_of_that_column():
    chosen = random.Random(0)
    rows = []
    for i in range(6):
        known = statistics(torch.randn(8, generator=torch.Generator().manual_seed(i)))
        known["zeros"], known["numel"] = chosen.randrange(9), chosen.randrange(9)
        rows.append(parameter(f"p{i}", (8,), grad=known, ratio=chosen.random()))
    found = report("grads", parameters=tuple(rows))
    for sort in ("norm", "mean", "std", "min", "max", "abs_max", "zeros", "numel", "ratio"):
        for sign in ("", "-"):
            text = FORMATS["table"].render(found, View(sort=sign + sort, columns=("name", sort)))
            cells = [float(line.split()[1]) for line in body(text)[1:]]
            assert cells == sorted(cells, reverse=not sign)
    assert set(sorts_of("grads")) - {"order", "params"} <= set(columns_of("grads"))


@pytest.mark.parametrize("command", TABLES)
def test_a_flag_of_render_accepts_each_column_and_sort_of_each_command(command):
    names = tuple(columns_of(command))
    assert parse_columns(",".join(names), None) == names
    assert [parse_sort(name, None) for name in sorts_of(command)] == [*sorts_of(command)]
