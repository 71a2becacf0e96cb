"""What the formats draw: the tree, folding, the fit, and that names do no harm."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import hookcli
from hookcli.console import escape
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.outputs.escapes import markdown as quote

PLAIN = ("layer", "input", "output", "params")


def draw(model, batch, form="table", **view):
    return FORMATS[form].render(hookcli.inspect(model, batch), View(**view))


def table_rows(text):
    """The cells of the first column, below the rule."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---")) + 1
    width = lines[start - 1].index(" ")
    end = lines.index("", start)
    return [line[:width].rstrip() for line in lines[start:end]]


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.head = nn.Linear(3, 1)

    def forward(self, x):
        for _ in range(12):
            x = self.cell(x)
        return self.head(x)


class Alternating(Looped):
    def forward(self, x):
        for _ in range(4):
            x = self.cell(x)
            self.head(x)
        return x


class Growing(Looped):
    def forward(self, x):
        for _ in range(3):
            x = self.cell(torch.cat([x, x]))
        return x


def test_repeated_calls_are_folded_with_their_number():
    assert table_rows(draw(Looped(), torch.ones(2, 3))) == [
        "Looped",
        "├─ cell (Sequential) ×12",
        "│  ├─ 0 (Linear)",
        "│  └─ 1 (ReLU)",
        "└─ head (Linear)",
    ]


def test_a_loop_over_several_modules_folds_as_a_group():
    assert table_rows(draw(Alternating(), torch.ones(2, 3), depth=1)) == [
        "Alternating",
        "├─ cell (Sequential) ×4 alternating",
        "└─ head (Linear) ×4 alternating",
    ]


def test_in_a_row_and_in_turn_look_different():
    class InARow(Looped):
        def forward(self, x):
            for _ in range(4):
                y = self.cell(x)
            for _ in range(4):
                self.head(x)
            return y

    assert table_rows(draw(InARow(), torch.ones(2, 3), depth=1)) == [
        "InARow",
        "├─ cell (Sequential) ×4",
        "└─ head (Linear) ×4",
    ]


def test_no_shape_is_cut_inside_a_number():
    class Deep(nn.Module):
        def forward(self, x):
            return {"a": x, "b": x}

    model = nn.Sequential(Deep())
    batch = torch.ones(2, 64, 32, 128, 16)
    for width in range(40, 130, 3):
        text = draw(model, batch, width=width, columns=PLAIN)
        for found in re.findall(r"\[[\d, ]*…?\]?", text):
            sizes = [part for part in re.split(r"[\[\], …]+", found) if part]
            assert sizes == ["2", "64", "32", "128", "16"][: len(sizes)], found


def test_calls_with_other_shapes_are_not_folded():
    rows = table_rows(draw(Growing(), torch.ones(2, 3), depth=1))
    assert rows == ["Growing", *["├─ cell (Sequential)"] * 2, "└─ cell (Sequential)"]


def test_every_call_stands_in_the_json_though_folded():
    assert hookcli.inspect(Looped(), torch.ones(2, 3)).totals.calls == 1 + 12 * 3 + 1


def test_the_parameter_column_adds_up_to_the_total():
    text = draw(Looped(), torch.ones(2, 3), columns=PLAIN)
    shown = [int(n) for n in re.findall(r"\]\s+(\d+)$", text, re.MULTILINE)]
    assert sum(shown) == 12 + 4
    assert re.search(r"Total params\s+16$", text, re.MULTILINE)


def test_hidden_rows_are_counted_in_the_row_above_them():
    text = draw(Looped(), torch.ones(2, 3), depth=1, columns=PLAIN)
    assert re.search(r"cell \(Sequential\) ×12 .* 12$", text, re.MULTILINE)


def test_the_mult_adds_column_adds_up_to_the_total():
    """A row that stands for twelve calls costs twelve, and so do those below it."""
    for depth in (None, 1):
        text = draw(Looped(), torch.ones(2, 3), depth=depth, columns=("layer", "macs"))
        rows = text.split("---")[-1].split("\n\n")[0].splitlines()[1:]
        shown = [int(n) for line in rows if (n := line.split()[-1]).isdigit()]
        assert sum(shown) == 12 * 2 * 9 + 2 * 3
        assert re.search(rf"Total mult-adds +{sum(shown)}$", text, re.MULTILINE)


def test_frozen_shared_and_reused_parameters_are_marked():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.frozen = (nn.Linear(2, 2, bias=False) for _ in range(3))
            self.b.weight = self.a.weight
            self.frozen.requires_grad_(False)

        def forward(self, x):
            return self.a(self.frozen(self.b(self.a(x))))

    text = draw(Tied(), torch.ones(1, 2), columns=PLAIN)
    assert re.search(r"a \(Linear\) .* 4\*$", text, re.MULTILINE)
    assert re.search(r"b \(Linear\) .* 4\*$", text, re.MULTILINE)
    assert re.search(r"frozen \(Linear\) .* \(4\)$", text, re.MULTILINE)
    assert re.search(r"a \(Linear\) .* \(reused\)$", text, re.MULTILINE)
    assert re.search(r"Total params +8$", text, re.MULTILINE)
    assert re.search(r"shared, counted once +4$", text, re.MULTILINE)


def test_what_attention_uses_without_a_call_stands_in_the_totals():
    class Attends(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.idle = nn.MultiheadAttention(4, 2), nn.MultiheadAttention(4, 2)

        def forward(self, x):
            return self.attention(x, x, x)[0]

    text = draw(Attends(), torch.ones(3, 4), columns=PLAIN)
    assert re.search(r"attention \(MultiheadAttention\) .* 60$", text, re.MULTILINE)
    assert re.search(r"used without a call +20$", text, re.MULTILINE)
    assert re.search(r"in modules never called +80$", text, re.MULTILINE)
    assert re.search(r"Total params +160$", text, re.MULTILINE)
    assert "shared" not in text


@pytest.mark.parametrize("width", [50, 80, 120, 200])
@pytest.mark.parametrize("model", [Looped(), Growing()], ids=["looped", "growing"])
def test_no_line_is_wider_than_the_terminal(model, width):
    text = draw(model, torch.ones(2, 3), width=width)
    assert max(map(len, text.splitlines())) <= width


class Encoder(nn.Module):
    """Long names, and shapes that have a short form."""

    def __init__(self, depth=3):
        super().__init__()
        self.intermediate_projection = nn.Linear(3, 3)
        self.following_encoder_layer = Encoder(depth - 1) if depth else nn.Identity()

    def forward(self, x):
        hidden = self.intermediate_projection(x)
        inner = self.following_encoder_layer(hidden)
        last = inner if isinstance(inner, torch.Tensor) else inner[0]
        return last, hidden, x, last.sum()


@pytest.mark.parametrize("width", range(84, 150, 6))
def test_no_name_is_cut_where_the_line_has_room(width):
    text = draw(Encoder(), torch.ones(2, 3), width=width, columns=PLAIN)
    [rule] = [line for line in text.splitlines() if line.startswith("---")]
    if any("…" in cell for cell in table_rows(text)):
        assert len(rule) == width
    else:
        assert len(rule) <= width


def test_many_leaves_are_cut_to_fit_and_counted():
    class Many(nn.Module):
        def forward(self, x):
            return {f"key{i}": x for i in range(50)}

    narrow = draw(Many(), torch.ones(2, 3), width=80)
    assert re.search(r"key0 \[2,3\].* \+\d+ ", narrow)
    assert draw(Many(), torch.ones(2, 3), "tree").count("key") == 50


def test_ascii_terminals_get_ascii():
    text = draw(Looped(), torch.ones(2, 3), unicode=False)
    assert text.isascii()
    assert "|- cell (Sequential) x12" in text


def test_only_and_sort_show_rows_by_themselves():
    assert table_rows(draw(Looped(), torch.ones(2, 3), only="cell.*"))[:2] == [
        "cell.0 (Linear)",
        "cell.1 (ReLU)",
    ]
    rows = table_rows(draw(Looped(), torch.ones(2, 3), sort="own"))
    assert rows[0] == "cell.0 (Linear)"


def test_a_view_never_changes_the_json():
    report = hookcli.inspect(Looped(), torch.ones(2, 3))
    assert FORMATS["json"].render(report, View(depth=0, only="x", width=3)) == FORMATS[
        "json"
    ].render(report, View())


HOSTILE = {
    "escape": "\x1b[31mred\x1b[0m",
    "bell and title": "\x1b]0;pwned\x07",
    "c1": "\x9b31m",
    "bidi": "\u202egnp-exe\u2066",
    "line break": "a\nb\r\nc\u2028d",
    "command": "::error file=x::hi",
    "old command": "##[error]hi",
    "zero width": "a\u200bb\ufeffc",
    "surrogate": "a\udc80b",
    "pipe": "a|b",
    "html": "<script>alert(1)</script>",
    "link": "[x](http://evil)",
    "mention": "@team `code` **bold** _it_ ~s~ # h ![i](u)",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("form", ["table", "tree", "markdown"])
def test_names_of_the_user_do_no_harm(name, form):
    model = nn.Sequential()
    kind = type(name.replace("\udc80", ""), (nn.ReLU,), {})
    model.add_module(name, kind())
    text = draw(model, torch.ones(1), form, width=200)
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f]", text
    )
    assert not re.search(r"(?<![\w:\-])::", text)  # nothing that could begin a command
    assert "##[" not in text
    text.encode()


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_markdown_renders_names_as_text(name):
    """A reader's parser finds no markup of the user's: one table, two rows, nothing else."""
    markdown_it = pytest.importorskip("markdown_it")
    model = nn.Sequential()
    model.add_module(name, nn.ReLU())
    text = draw(model, torch.ones(1), "markdown")
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    kinds = [t.type for t in tokens]
    assert kinds.count("tr_open") == 3
    assert "html_block" not in kinds
    for token in tokens:
        for child in token.children or ():
            assert child.type in {"text", "softbreak", "text_special"}, child


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_escaping_is_visible_and_loses_nothing_printable(name):
    spelled = escape(name)
    assert "\n" not in spelled
    assert [c for c in name if c.isalnum()] == [
        c for c in spelled if c in name and c.isalnum()
    ] or ("\\" in spelled)


def test_ordinary_names_stay_as_they_are():
    for name in ("layer1.0.conv", "naïve", "层", "a b", "x_y-z"):
        assert escape(name) == name
    assert quote("h.0.attn_dropout [2, 3]") == "h.0.attn_dropout [2, 3]"
