"""The targets of a selector in a model: modules, parameters, values; and hints without any."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from torch import nn

from hookcli.errors import RequestError
from hookcli.hooks.resolve import Known, missed, resolve
from hookcli.models import module_tree
from hookcli.models.model import TensorInfo
from hookcli.spec.hooks import HookSpec, Match, Selector
from hookcli.spec.selectors import match_of


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.act = nn.ReLU()


class Net(nn.Module):
    """fc of both blocks is the same module: its second name is b.fc."""

    def __init__(self):
        super().__init__()
        self.a, self.b = Block(), Block()
        self.b.fc = self.a.fc


def known_of(net):
    parameters = tuple(
        TensorInfo(names[0], tuple(names[1:]), type(owner).__name__, tensor)
        for tensor, names, owner in module_tree.tensors(net, "_parameters")
    )
    return Known.of(SimpleNamespace(root=net, parameters=lambda: parameters))


NET = Net()
KNOWN = known_of(NET)


def spec(*conditions, kind="forward", index=0, place="hooks.yaml:3: hooks[0]"):
    matches = tuple(match_of(one) if isinstance(one, str) else one for one in conditions)
    texts = tuple(one if isinstance(one, str) else "{…}" for one in conditions)
    return HookSpec(index, kind, Selector(matches, ", ".join(texts), texts), place=place)


def error(*conditions, known=KNOWN, **more):
    with pytest.raises(RequestError) as caught:
        resolve(spec(*conditions, **more), known)
    return caught.value


def names(targets):
    return [name for name, *_ in targets.modules]


def test_without_at_a_hook_is_on_every_module_once():
    targets = resolve(HookSpec(0, "forward"), KNOWN)
    assert targets.modules == [
        ("", NET), ("a", NET.a), ("a.fc", NET.a.fc), ("a.act", NET.a.act), ("b", NET.b),
        ("b.act", NET.b.act),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["a.*"], ["a.fc", "a.act"]),
        (["b.fc"], ["a.fc"]),  # another name of the same module
        (["b.*", "a.*"], ["a.fc", "b.act", "a.act"]),  # in the order of the list, each once
        ([Match(type="Block")], ["a", "b"]),
        ([Match(depth=2)], ["a.fc", "a.act", "b.act"]),
        ([Match(leaf=True)], ["a.fc", "a.act", "b.act"]),
        ([Match(leaf=False)], ["", "a", "b"]),
    ],
)
def test_modules(conditions, expected):
    assert names(resolve(spec(*conditions), KNOWN)) == expected


def test_a_kind_of_parameters_selects_parameters_each_once():
    targets = resolve(spec("b.fc.weight", "a.*", kind="tensor"), KNOWN)
    assert [info.name for info in targets.parameters] == ["a.fc.weight", "a.fc.bias"]
    assert not targets.modules
    assert not targets.values


def test_values_and_operators_are_those_of_the_modules_that_match():
    def values(match, kind="tensor"):
        targets = resolve(spec(match, kind=kind), KNOWN)
        assert not targets.modules
        assert not targets.parameters
        return [(name, module) for name, module, kept in targets.values if kept == match]

    assert values(Match(pattern="*.act", part="output")) == [
        ("a.act", NET.a.act), ("b.act", NET.b.act),
    ]  # fmt: skip
    inside = Selector((Match(pattern="a"),), "a")
    assert values(Match(op="aten.add", inside=inside)) == [("a", NET.a)]
    assert values(Match(op="aten.add")) == [("", NET)]  # once in the root, wherever it runs
    assert values(Match(node="AddmmBackward0", inside=inside), "node") == [("a", NET.a)]
    assert values(Match(node="AddmmBackward0"), "node") == [("", NET)]


@pytest.mark.parametrize("kind", ["forward", "tensor"])
def test_a_star_may_match_nothing_but_no_other_pattern(kind):
    nothing = Known([], ())
    assert not resolve(spec("*", kind=kind), nothing).modules
    assert not resolve(spec("*", "*", kind=kind), nothing).modules
    for conditions in (["a*"], ["*", "a*"], [Match(pattern="*", part="output")]):
        assert "matches" in error(*conditions, known=nothing, kind=kind).message


def test_a_pattern_of_a_compiled_model_matches_the_model_itself():
    def found(*conditions):
        return names(resolve(spec(*conditions), KNOWN))

    assert found("_orig_mod.a.fc") == ["a.fc"]
    assert found("a._orig_mod.act") == ["a.act"]
    for field, pattern in (("name", "a.act"), ("regex", r"a\.(act|x)")):
        text = "_orig_mod" + (r"\." if field == "regex" else ".") + pattern
        at = Selector((Match(**{field: text}),), f"{{{field}: {text}}}")
        assert names(resolve(HookSpec(0, "forward", at), KNOWN)) == ["a.act"]
    wrapped = Selector((match_of("_orig_mod.a*"),), "_orig_mod.a*")
    negated = Selector((Match(depth=1, negated=wrapped),), "{depth: 1, not: _orig_mod.a*}")
    assert names(resolve(HookSpec(0, "forward", negated), KNOWN)) == ["b"]
    inside = Selector((Match(op="aten.add", inside=wrapped),), "{op: aten.add, in: _orig_mod.a*}")
    targets = resolve(HookSpec(0, "tensor", inside), KNOWN)
    assert [name for name, *_ in targets.values] == ["a", "a.fc", "a.act"]


def test_a_module_that_has_the_name_of_a_wrapper_is_found_by_it():
    net = nn.Module()
    net._orig_mod = Block()
    assert names(resolve(spec("_orig_mod.fc"), known_of(net))) == ["_orig_mod.fc"]


@pytest.mark.parametrize(
    ("conditions", "kind", "message", "hint"),
    [
        (["b.relu"], "forward", "module", "run `hookcli inspect`"),
        (["a.fcc"], "forward", "module", "try `a.fc`"),
        (["a.fc.weigth"], "tensor", "parameter", "try `a.fc.weight`"),
        (["a.fc"], "tensor", "parameter", "use `a.fc.*` for the parameters of module a.fc"),
        ([Match(name="a.fc")], "tensor", "parameter", "use `a.fc.*`"),
        (["a.fc.bias"], "forward", "module", "use kind tensor or post_accumulate_grad"),
        (["a.fc.bias:output"], "tensor", "module", "use kind tensor or post_accumulate_grad"),
        ([Match(type="Bloc")], "forward", "module", "try `Block`"),
        ([Match(type="Zzzz")], "forward", "module", "choose from Block, Linear, Net, ReLU"),
        (["a.fc.weigth:output", "b.fcc.weight"], "tensor", "parameter", "try `a.fc.weight`"),
        ([Match(op="aten.add", inside=Selector((match_of("c"),), "c"))], "tensor", "module", ""),
    ],
)  # fmt: skip
def test_nothing_matches(conditions, kind, message, hint):
    found = error(*conditions, kind=kind)
    text = ", ".join("{…}" if isinstance(one, Match) else one for one in conditions)
    assert f"{message} " in found.message
    assert text in found.message
    assert found.place == f"hooks.yaml:3: hooks[0].at  |  at: {text}"
    assert found.hint.startswith(hint)


def test_a_hook_without_a_place_is_shown_by_its_selector():
    assert error("zzz", place="").place == "at: zzz"


def test_the_types_of_a_hint_are_the_first_eight():
    net = nn.Sequential(
        nn.Linear(1, 1), nn.ReLU(), nn.Tanh(), nn.GELU(), nn.SiLU(), nn.Dropout(), nn.Flatten(),
        nn.Identity(), nn.Softmax(dim=1),
    )  # fmt: skip
    hint = error(Match(type="Zzzz"), known=known_of(net)).hint
    assert hint == "choose from Dropout, Flatten, GELU, Identity, Linear, ReLU, Sequential, SiLU"


def findings(*specs):
    return [*missed([(one, resolve(one, KNOWN)) for one in specs], KNOWN)]


def test_an_item_of_a_list_that_matches_nothing_is_a_warning():
    (found,) = findings(spec("a", "b.fcc"))
    assert (found.rule, found.target, found.severity) == ("hook_misuse", "b.fcc", "warning")
    message = "nothing matches 'b.fcc' in the list of at: try `b.fc`, `a.fc` or `b.act`"
    assert found.message == message
    assert found.place == "hooks.yaml:3: hooks[0]"
    assert not findings(spec("a", "b.fc"))


def test_an_item_may_match_for_another_kind_of_the_hook():
    several = spec("a.fc", "a.fc.weight")
    other = replace(several, kind="tensor")
    assert [found.target for found in findings(several)] == ["a.fc.weight"]
    assert [found.target for found in findings(other)] == ["a.fc"]
    assert not findings(several, other)
    apart = findings(several, replace(other, index=1))
    assert [found.target for found in apart] == ["a.fc.weight", "a.fc"]


def test_every_item_that_matches_nothing_has_a_warning_in_their_order():
    found = findings(spec("zz", "a", "yy", "a.fcc"))
    assert [one.target for one in found] == ["zz", "yy", "a.fcc"]


def test_a_star_in_a_list_and_hooks_without_a_list_have_no_warning():
    no_parameters = Known(KNOWN.modules, ())
    several = spec("*", "zz", "a:output", kind="tensor", index=1)
    specs = HookSpec(0, "forward"), several
    found = missed([(one, resolve(one, no_parameters)) for one in specs], no_parameters)
    assert [one.target for one in found] == ["zz"]
    only = resolve(spec("a"), KNOWN)
    only.missed.add(0)
    assert not [*missed([(spec("a"), only)], KNOWN)]
