"""Names that are shown together stay apart when they are shortened, and keep what tells them."""

from __future__ import annotations

from itertools import islice, product

import pytest
from hypothesis import given, settings, strategies as st
from torch import nn

from hookcli.formats.parts.short_names import shortened
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from tests.formats.fabricate import event, layer, parameter, report, stats

PART = st.sampled_from(
    ["encoder", "decoder", "layers", "0", "1", "10", "self_attn", "q_proj", "k_proj", "weight",
     "bias", "norm", "a", "b", "x" * 40, "very_long_name_of_a_layer", "(LayerNorm)", "…", ".."]
)  # fmt: skip
NAME = st.lists(PART, min_size=1, max_size=8).map(".".join) | st.text(max_size=60)
NAMES = st.sets(NAME, max_size=30)


@settings(max_examples=100)
@given(NAMES, st.integers(4, 80))
def test_distinct_names_stay_distinct_within_the_width(names, width):
    forms = shortened(names, width)
    assert forms.keys() == names
    assert all(len(form) <= width for form in forms.values())
    assert len(set(forms.values())) == len(names)
    assert all(forms[name] == name for name in names if len(name) <= width)


@given(st.lists(NAME, max_size=20), st.integers(1, 40), st.randoms())
def test_the_order_of_the_names_does_not_matter(names, width, chance):
    mixed = list(names)
    chance.shuffle(mixed)
    assert shortened(names, width) == shortened(mixed, width)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attention = nn.MultiheadAttention(4, 1)
        self.feed_forward = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder_layers = nn.ModuleList(Block() for _ in range(12))
        self.decoder_layers = nn.ModuleList(Block() for _ in range(12))


@pytest.mark.parametrize("width", [16, 20, 24, 28, 32])
def test_the_end_and_the_parts_that_tell_are_kept(width):
    names = [name for name, _ in Deep().named_parameters()]
    for name, form in shortened(names, width).items():
        shown = form.replace("…", ".").strip(".").split(".")
        assert name.split(".")[1] in shown  # the number of the block
        assert shown[0][0] == name[0]  # of the encoder or the decoder
        if width >= 24:
            assert name.endswith(shown[-1])


def test_what_all_names_share_is_left_out_first():
    names = [f"model.backbone.stage{i}.conv.weight" for i in range(3)]
    assert set(shortened(names, 24).values()) == {f"…stage{i}.conv.weight" for i in range(3)}


LONG = [
    f"network.{side}.transformer_block_{i}.self_attention.{what}"
    for side, i, what in product(("left", "right"), range(4), ("query", "key"))
]


def rows_of(text):
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    return lines[start + 1 : start + 1 + len(LONG)]


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("command", ["trace", "grads", "flow", "inspect"])
def test_no_two_rows_of_a_table_look_alike(command, width):
    figures = stats(0.5)
    calls = tuple(
        layer(i, name, "Linear", None, output_grad=figures) for i, name in enumerate(LONG)
    )
    found, column = {
        "trace": (report("trace", events=tuple(
            event(0, "forward", "forward", name, 0) for name in LONG)), "target"),
        "grads": (report("grads", parameters=tuple(
            parameter(name, (2, 2), grad=figures) for name in LONG)), "name"),
        "flow": (report("grads", layers=calls), "layer"),
        "inspect": (report("inspect", layers=calls), "layer"),
    }[command]  # fmt: skip
    for view in (View(width=width), View(width=width, columns=(column,))):
        text = FORMATS["table"].render(found, view)
        assert len(set(rows_of(text))) == len(LONG), text  # the rows differ in the name only


def test_many_and_hostile_names_take_no_time():
    many = [".".join(map(str, digits)) for digits in islice(product(range(30), repeat=3), 6000)]
    hostile = ["a." * 50_000 + str(i) for i in range(20)]
    assert len(set(shortened([*many, *hostile], 6).values())) > 6000
