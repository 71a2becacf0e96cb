"""Maps of weights: lines, what they make, and how inferred ones are written."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hookcli.comparison.ports.maps.names import likeness, rank_of_part
from hookcli.comparison.ports.maps.weight_map import expand, folded, parse_row
from hookcli.config.weight_map import read_weight_map
from hookcli.engine.diff.adapted_batch import adapted_batch
from hookcli.engine.diff.mapped_weights import load_mapped_weights
from hookcli.errors import ProblemsError, RequestError
from hookcli.models.batch import Batch
from hookcli.spec.request import MadeTensor, WeightPart

OURS = [f"h.{i}.{n}.{leaf}" for i in range(2) for n in "qkv" for leaf in ("weight", "bias")]
THEIRS = [f"b.{i}.qkv.{leaf}" for i in range(2) for leaf in ("weight", "bias")]


def rows(lines):
    return [
        parse_row(name, value if isinstance(value, list) else [value], f"map.yaml: {name}")
        for name, value in lines.items()
    ]


def test_a_line_of_modules_makes_all_their_tensors():
    made = expand(rows({"b.{i}.qkv": ["h.{i}.q", "h.{i}.k", "h.{i}.v"]}), OURS, THEIRS)
    assert list(made) == THEIRS
    assert [part.name for part in made["b.1.qkv.bias"].parts] == [
        "h.1.q.bias", "h.1.k.bias", "h.1.v.bias",
    ]  # fmt: skip


LINES = [
    {"b.{i}.qkv": ["h.{i}.q", "h.{i}.k", "h.{i}.v"]},
    {"b.{i}.qkv.T": ["h.{i}.q", "h.{i}.k", "h.{i}.v"]},
    {"b.0.qkv": "h.1.q.T", "b.1.qkv": "h.0.q[2:4]"},
]


@pytest.mark.parametrize("lines", LINES)
def test_what_is_written_is_read_again(lines):
    made = expand(rows(lines), OURS, THEIRS)
    written = folded(made, [name for name in THEIRS if name.endswith("bias")])
    assert written == lines


@pytest.mark.parametrize(
    ("lines", "said", "hint"),
    [
        ({"b.{i}.qqv": "h.{i}.q"}, "no tensor or module of B is named b.{i}.qqv", "try `b.1.qkv`"),
        ({"b.0.qkv": "h.7.q"}, "A has no tensor named h.7.q.weight", "try `h.1.q.weight`"),
    ],
)
def test_names_that_are_not_there(lines, said, hint):
    with pytest.raises(RequestError) as caught:
        expand(rows(lines), OURS, THEIRS)
    assert caught.value.message == said
    assert caught.value.hint == hint
    assert caught.value.place == f"map.yaml: {next(iter(lines))}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "a map of weights must be a mapping"),
        ("a: 3\n", "a must be a name or a list of names of A"),
        ("a: [b, 3]\n", "a must be a name or a list of names of A"),
        ("", "the file is empty"),
        ("a: {b: c}\n", "a must be a name or a list of names of A"),
        ("a: [\n", ""),
    ],
)
def test_files_that_are_no_map(text, said, tmp_path):
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises((RequestError, ProblemsError)) as caught:
        read_weight_map(str(tmp_path / "map.yaml"))
    assert said in str(caught.value.message)


def test_tensors_are_transposed_joined_split_and_reshaped():
    root = nn.Module()
    for name, shape in (("a", (3, 2)), ("b", (4, 2)), ("c", (1, 2)), ("d", (2, 4)), ("e", (5,))):
        setattr(root, name, nn.Parameter(torch.zeros(shape)))
    theirs = {"x": torch.arange(6.0).view(2, 3), "y": torch.ones(1, 3)}
    part = WeightPart
    made = [
        MadeTensor("a", (part("x", turned=True),)),
        MadeTensor("b", (part("x", turned=True), part("x", turned=True, rows=(1, 2)))),
        MadeTensor("c", (part("x", turned=True, rows=(2, 3)),)),
        MadeTensor("d", (part("x", turned=True), part("x", turned=True, rows=(0, 1))), turned=True),
        MadeTensor("e", (part("y"),)),
    ]
    result = load_mapped_weights(root, theirs, made)
    x = theirs["x"]
    assert torch.equal(root.a, x.T)
    assert torch.equal(root.b, torch.cat([x.T, x.T[1:2]]))
    assert torch.equal(root.c, x.T[2:3])
    assert torch.equal(root.d, torch.cat([x.T, x.T[0:1]]).T)
    assert result["loaded"] == 4
    assert [row["name"] for row in result["misfits"]] == ["e"]


def test_names_of_public_models_are_alike():
    assert likeness("self_attn.q_proj", "attention.query") > likeness("self_attn.q_proj", "wk")
    assert [rank_of_part(name) for name in ("q_proj", "key", "wv", "gate_proj", "up")] == [
        0, 1, 2, 3, 4,
    ]  # fmt: skip


def test_a_batch_is_passed_by_the_other_names():
    class Other(nn.Module):
        def forward(self, tokens, mask=None):
            return tokens

    ids, types = torch.ones(1), torch.zeros(1)
    batch, dropped = adapted_batch(Other(), Batch((), {"input_ids": ids, "token_type_ids": types}))
    assert batch.kwargs == {"tokens": ids}
    assert dropped == ["token_type_ids"]
    assert adapted_batch(Other(), Batch((), {})) is None
