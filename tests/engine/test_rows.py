"""Rows by hand: paths into nested values, places in the source, names, notes."""

from __future__ import annotations

import collections
import dataclasses
import types

import pytest
import torch
from torch import nn

import hookcli
from tests.conftest import HEAD, attempt

T = torch.ones(2, 3)
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Data:
    a: object
    b: object = None


class Plain:
    def __init__(self, **named):
        self.__dict__.update(named)


class Slotted:
    __slots__ = ("unset", "value")

    def __init__(self, value):
        self.value = value


class Loop:
    def __init__(self):
        self.me = self
        self.t = T


class Returns(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = [value]

    def forward(self, *args, **kwargs):
        return self.value[0]


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (T, [""]),
        (None, []),
        (3, []),
        ("text", []),
        ((), []),
        ((T, None, T), ["[0]", "[2]"]),
        ([T, (T, [T])], ["[0]", "[1][0]", "[1][1][0]"]),
        ({"a": T, "b c": T, 3: T, ("x", 1): T},
         [".a", '["b c"]', "[3]", "[('x', 1)]"]),
        (Point(T, (T,)), [".x", ".y[0]"]),
        (Data(T, {"k": T}), [".a", ".b.k"]),
        (collections.OrderedDict(z=T, a=T), [".z", ".a"]),
        (collections.UserDict({"k": T}), [".k"]),
        (types.MappingProxyType({"k": T}), [".k"]),
        (collections.deque([T]), ["[0]"]),
        (T.to_sparse(), [""]),
        (torch.Size([2]), []),
        (torch.float32, []),
        (nn.Linear(1, 1), []),
        (lambda: T, []),
        ((t for t in [T]), []),
    ],
)  # fmt: skip
def test_paths_of_outputs(value, paths):
    row = hookcli.inspect(Returns(value), ()).layers[0]
    assert [leaf.path for leaf in row.outputs] == paths
    assert all(leaf.via is None for leaf in row.outputs)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (Plain(a=T, b=[T], c=3), [".a", ".b[0]"]),
        (Slotted(T), [".value"]),
        (Loop(), [".t"]),
        (Plain(inner=Plain(t=T)), [".inner.t"]),
        ({"cache": Plain(t=T)}, [".cache.t"]),
        (torch.distributions.Normal(T, T), [".loc", ".scale"]),
    ],
)
def test_tensors_on_objects_are_found_and_marked(value, paths):
    row = hookcli.inspect(Returns(value), ()).layers[0]
    assert [leaf.path for leaf in row.outputs if leaf.path in paths] == paths
    assert {leaf.via for leaf in row.outputs} == {"attribute"}


def test_paths_of_inputs_count_positions_and_name_keywords():
    class Inner(nn.Module):
        def forward(self, a, b=None, **more):
            return a

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x, [x, {"k": x}], mask=x, more=(None, x))

    row = hookcli.inspect(Outer(), T).layers[1]
    assert [leaf.path for leaf in row.inputs] == ["[0]", "[1][0]", "[1][1].k", ".mask", ".more[1]"]


def test_keyword_inputs_of_an_unregistered_module_are_seen():
    helper = [nn.Bilinear(3, 3, 2)]

    class Uses(nn.Module):
        def forward(self, x):
            return helper[0](input1=x, input2=x)

    report = hookcli.inspect(Uses(), T)
    row = report.layers[1]
    assert (row.name, row.registered, row.type) == (None, False, "Bilinear")
    assert [leaf.path for leaf in row.inputs] == [".input1", ".input2"]
    assert row.own_parameters == row.parameters == 2 * 3 * 3 + 2
    assert report.totals.parameters == 0


def test_shapes_are_those_at_the_time_of_the_call():
    """A module that resizes its input in place was called with what it was."""

    class Squeezes(nn.Module):
        def forward(self, x):
            return x.squeeze_(0).t_()

    row = hookcli.inspect(Squeezes(), torch.ones(1, 2, 3)).layers[0]
    assert row.inputs[0].shape == (1, 2, 3)
    assert row.outputs[0].shape == (3, 2)


def test_the_structure_of_the_batch_is_kept():
    report = hookcli.inspect(Returns(T), (T, [None, {"a": T}], Point(T, 3), Data(1), "é"))
    tensor = {"shape": (2, 3), "dtype": "float32"}
    assert report.inputs.args == (
        tensor,
        {"list": ({"value": "None"}, {"dict": {"a": tensor}})},
        {"object": {"x": tensor, "y": {"value": "3"}}, "type": "Point"},
        {"object": {"a": {"value": "1"}, "b": {"value": "None"}}, "type": "Data"},
        {"value": "'é'"},
    )


def test_no_address_is_shown():
    report = hookcli.inspect(Returns(T), (object(), lambda: 0))
    assert "0x" not in str(report.inputs)


SOURCE = (
    HEAD
    + """
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.act = nn.ReLU()

    def forward(self, x):
        x = x * self.weight
        return self.act(
            x
        )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block(3)
        self.stack = nn.Sequential(
            nn.Linear(3, 3),
            nn.ReLU(),
            nn.Linear(3, 2),
        )
        self.spare = nn.Sequential(
            nn.Conv2d(1, 1, 1),
            nn.BatchNorm2d(1),
            nn.Dropout(),
        )
        self.parts = nn.ModuleList([Block(3)])

    def forward(self, x):
        x = self.block(x)
        for part in self.parts:
            x = part(x)
        return self.stack(x)
"""
)


@pytest.mark.parametrize("tensors", ["real", "fake"])
def test_places_are_the_user_s_lines(tmp_path, monkeypatch, tensors):
    (tmp_path / "net.py").write_text(SOURCE)
    lines = SOURCE.splitlines()

    def line(text, nth=0):
        return [i for i, one in enumerate(lines, 1) if text in one][nth]

    report = attempt(tmp_path / "net.py", "2x3", tensors=tensors)
    places = {row.name: row.place.rpartition(":") for row in report.layers}
    assert {path.rpartition("/")[2] for path, _, _ in places.values()} == {"net.py"}
    at = {name: int(place[2]) for name, place in places.items()}
    assert at[""] == line("class Net")
    assert at["block"] == line("x = self.block(x)")
    assert at["block.act"] == line("return self.act(")
    assert at["parts.0"] == line("x = part(x)")
    assert at["stack"] == at["stack.0"] == at["stack.2"] == line("return self.stack(x)")
    made = {row.name: int(row.place.rpartition(":")[2]) for row in report.uncalled}
    assert made == {
        "spare": line("self.spare = nn.Sequential("),
        "spare.0": line("nn.Conv2d(1, 1, 1)"),
        "spare.1": line("nn.BatchNorm2d(1)"),
        "spare.2": line("self.spare = nn.Sequential("),  # it holds nothing: seen when taken in
    }
    assert int(report.model.place.rpartition(":")[2]) == line("class Net")


def test_names_of_a_module_with_several_homes():
    shared = nn.Linear(3, 3)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = shared, nn.Sequential(shared)

        def forward(self, x):
            return self.b(self.a(x))

    report = hookcli.inspect(Net(), T)
    row = report.layers[1]
    assert (row.name, row.aliases, row.shared_with) == ("a", ("b.0",), ())
    assert [(r.name, r.call) for r in report.layers] == [("", 0), ("a", 0), ("b", 0), ("a", 1)]
    assert report.totals.parameters == 12
    assert report.totals.layers == 3
    assert report.totals.calls == 4
    assert report.parameters[0].shared_with == ("b.0.weight",)


def test_a_generator_is_not_consumed_and_is_noted():
    class Yields(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x):
            yield self.fc(x)

    report = hookcli.inspect(Yields(), T)
    assert report.layers[0].notes == ("returned a generator, which was not run",)
    assert [row.name for row in report.uncalled] == ["fc"]


def test_a_call_that_fails_is_named_with_its_inputs():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.ok, self.bad = nn.Linear(3, 4), nn.Linear(5, 2)

        def forward(self, x):
            return self.bad(self.ok(x))

    report = hookcli.inspect(Net(), T)
    assert report.status == "partial"
    error = report.error
    assert (error.phase, error.layer, error.call, error.type) == (
        "forward",
        "bad",
        0,
        "RuntimeError",
    )
    assert error.inputs[0].shape == (2, 4)
    assert "mat1 and mat2" in error.message
    assert error.place.endswith(".py:" + error.place.rpartition(":")[2])
    assert [row.name for row in report.layers] == ["", "ok", "bad"]
    assert report.layers[1].outputs[0].shape == (2, 4)
    assert report.layers[2].notes == ("raised RuntimeError",)
    assert report.uncalled == ()  # what was not reached is not what is never called


def test_an_error_that_is_caught_is_no_failure():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.ok = nn.Linear(5, 2), nn.Linear(3, 4)

        def forward(self, x):
            try:
                return self.bad(x)
            except RuntimeError:
                return self.ok(x)

    report = hookcli.inspect(Net(), T)
    assert report.status == "complete"
    assert [(row.name, row.parent, row.notes) for row in report.layers] == [
        ("", None, ()),
        ("bad", 0, ("raised RuntimeError",)),
        ("ok", 0, ()),
    ]


def test_leaving_the_fused_path_is_noted():
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    fused = hookcli.inspect(layer, torch.ones(1, 3, 4), grad=False).layers[0]
    assert fused.notes == ("observing its children disabled PyTorch's fused path",)
    assert hookcli.inspect(layer, torch.ones(1, 3, 4)).layers[0].notes == ()
    assert (
        hookcli.inspect(layer, torch.ones(1, 3, 4), grad=False, mode="train").layers[0].notes == ()
    )


def test_the_report_prints_as_the_table():
    text = str(hookcli.inspect(nn.Linear(3, 2), T))
    assert "Linear" in text
    assert "Total params" in text


def test_the_api_refuses_what_does_not_bind():
    from hookcli.errors import RequestError

    with pytest.raises(RequestError, match="does not accept this batch"):
        hookcli.inspect(nn.Linear(3, 2), (T, T, T))
    with pytest.raises(RequestError, match="none was given"):
        hookcli.inspect(nn.Linear(3, 2))


def test_the_api_takes_declared_batches():
    class Net(nn.Linear):
        @property
        def example_inputs(self):
            return torch.ones(5, 3)

    report = hookcli.inspect(Net(3, 2))
    assert report.inputs.origin == "declared"
    assert report.layers[0].outputs[0].shape == (5, 2)


class _Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x)


class _Cyclic(nn.Module):
    """A part has the model as a submodule, as `self.parent = parent` makes it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.head = _Part(), _Part(), nn.Linear(4, 3)
        self.a.parent = self
        self.b.sister = self.a

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.b(self.a(x)))


def test_the_parameters_below_modules_that_contain_each_other_are_counted_once():
    report = hookcli.inspect(_Cyclic(), torch.ones(2, 4), mode="as-is")
    assert report.error is None
    everything = 2 * 20 + 15  # two parts of 4 x 4 + 4, and a head of 4 x 3 + 3
    assert {row.name: row.parameters for row in report.layers} == {
        "": everything, "a": everything, "a.fc": 20, "b": everything, "b.fc": 20, "head": 15,
    }  # fmt: skip
