"""`at`: the short form, and what selectors match."""

from __future__ import annotations

import pytest

from hookcli.spec.hooks import Match, Selector
from hookcli.spec.selectors import (
    advice,
    depth_of,
    match_of,
    module_matches,
    name_matches,
    near,
    path_matches,
    plain,
    selector_of,
    values,
)

NAMES = [
    "", "conv1", "layer1", "layer1.0", "layer1.0.conv1", "layer1.0.conv10", "layer2.0.conv1",
    "layer5.0.conv1", "fc", "Encoder.fc",
]  # fmt: skip


def hit(selector, type="Conv2d", leaf=True):
    if isinstance(selector, str):
        selector = selector_of(selector)
    elif isinstance(selector, Match):
        selector = Selector((selector,), "")
    return [n for n in NAMES if module_matches(selector, n, (), type, depth_of(n), leaf)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fc", Match(pattern="fc")),
        ("", Match(pattern="")),
        ("fc:input", Match(pattern="fc", part="input")),
        ("fc:output[0]", Match(pattern="fc", part="output", path="[0]")),
        (":input[0]", Match(pattern="", part="input", path="[0]")),
        (
            "encoder:output.hidden[2]",
            Match(pattern="encoder", part="output", path=".hidden[2]"),
        ),
        ('*:output["a b"].c', Match(pattern="*", part="output", path='["a b"].c')),
        ("layer[1-4].*:input", Match(pattern="layer[1-4].*", part="input")),
        ("conv[", Match(pattern="conv[")),
    ],
)
def test_the_short_form(text, expected):
    assert match_of(text) == expected
    assert selector_of(text) == Selector((expected,), text)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "fc:outptu",
            "the text after the colon must be input or output, got 'outptu'",
            "`fc:output`",
        ),
        ("fc:out", "must be input or output, got 'out'", "try `fc:output`"),
        ("fc:weight", "must be input or output, got 'weight'", "{name: …}"),
        ("fc:output[", "'[' is not a path within the output", "output[0]"),
        ("fc:output[-1]", "'[-1]' is not a path within the output", "output[0]"),
        ("fc:output.", "'.' is not a path", "output.logits"),
        ("fc:output[0", "'[0' is not a path", "output[0]"),
        ("fc:", "must be input or output, got ''", "PATTERN:input"),
    ],
)
def test_what_follows_a_colon_is_input_or_output_with_a_path(text, message, hint):
    with pytest.raises(ValueError) as caught:
        match_of(text)
    assert message in caught.value.args[0]
    assert hint in caught.value.args[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", NAMES),
        ("", [""]),
        ("fc", ["fc"]),
        ("*fc", ["fc", "Encoder.fc"]),
        ("encoder.fc", []),
        ("layer1.*", ["layer1.0", "layer1.0.conv1", "layer1.0.conv10"]),
        ("layer[1-4].*.conv?", ["layer1.0.conv1", "layer2.0.conv1"]),
        ("layer[!1].0.conv1", ["layer2.0.conv1", "layer5.0.conv1"]),
        ("fc:input", ["fc"]),
    ],
)
def test_a_glob_is_case_sensitive_and_its_star_crosses_dots(text, expected):
    assert hit(text) == expected


def test_a_mapping_s_conditions_must_all_hold():
    assert hit(Match(regex=r"layer\d\.0\.conv1")) == [
        "layer1.0.conv1", "layer2.0.conv1", "layer5.0.conv1",
    ]  # fmt: skip
    assert hit(Match(regex="conv")) == []  # a full match
    assert hit(Match(name="layer1.*")) == []
    assert hit(Match(depth=0)) == [""]
    assert hit(Match(depth=1)) == ["conv1", "layer1", "fc"]
    assert hit(Match(depth=1, regex=".*c.*")) == ["conv1", "fc"]
    assert hit(Match(type="Linear")) == []
    assert hit(Match(type="Conv2d")) == NAMES
    assert hit(Match(leaf=False)) == []
    assert hit(Match(negated=selector_of("*layer*"), depth=1)) == ["conv1", "fc"]


def test_in_a_list_any_may_hold():
    assert hit(Selector((Match(pattern="fc"), Match(depth=0)), "")) == ["", "fc"]


def test_an_operator_stands_inside_the_modules_that_match():
    assert hit(Match(op="aten.add")) == NAMES
    assert hit(Match(op="aten.add", inside=selector_of("layer1"))) == ["layer1"]
    assert hit(Match(node="AddmmBackward0", inside=selector_of("fc"))) == ["fc"]


def test_every_name_of_a_shared_module_counts():
    assert module_matches(selector_of("tied"), "first", ("tied",), "Linear", 1, True)
    both = Selector((Match(pattern="t*", regex=".*d"),), "")
    assert module_matches(both, "tx", ("tied",), "Linear", 1, True)
    assert not module_matches(both, "tx", ("ad",), "Linear", 1, True)


def test_parameters_go_by_name():
    assert name_matches(selector_of("fc.*"), "fc.weight")
    assert not name_matches(selector_of("fc"), "fc.weight")
    assert name_matches(selector_of("tied"), "fc.weight", ("tied",))
    assert not name_matches(selector_of("*:output"), "fc.weight")
    assert not name_matches(Selector((Match(op="aten.add"),), ""), "fc.weight")
    no_bias = Selector((Match(negated=selector_of("*.bias")),), "")
    assert name_matches(no_bias, "fc.weight")
    assert not name_matches(no_bias, "fc.bias")


def test_parameters_and_values_of_one_list_are_told_apart():
    both = Selector((Match(pattern="fc.weight"), Match(pattern="fc", part="output")), "")
    assert plain(both).any == (Match(pattern="fc.weight"),)
    assert values(both).any == (Match(pattern="fc", part="output"),)


@pytest.mark.parametrize(
    ("path", "leaf", "expected"),
    [
        ("", "", True),
        ("", "[0].x", True),
        ("[1]", "[1]", True),
        ("[1]", "[1].x", True),
        ("[1]", "[10]", False),
        (".hid", ".hidden", False),
        (".hidden", ".hidden[2]", True),
        ("[0]", "", False),
    ],
)
def test_a_path_means_what_is_at_or_below_it(path, leaf, expected):
    assert path_matches(Match(part="output", path=path), leaf) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fc", "fc"),
        ("conv11", "conv1"),
        ("model.layer1.0", "layer1.0"),
        ("encoder.fc", "Encoder.fc"),
        ("layer1.0.conv1x", "layer1.0.conv1"),
        ("Conv*", "conv1"),
        ("zzz", None),
    ],
)
def test_near_names_are_found(text, expected):
    found = near(selector_of(text), NAMES)
    assert found[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("stem", ["stam", "features.block.stem"], ["features.block.stem", "stam"]),
        ("*.stem", ["features.block.Stem", "head"], ["features.block.Stem"]),
        ("a.fc", ["b.fc", "fc"], ["fc", "b.fc"]),  # too much in front of it
        ("zzzzzzzzzz.lineaar", ["a.b.linear", "a.relu"], ["a.b.linear"]),  # by its last word
        ("conv*", ["Conv1", "Conv2", "Conv3", "Conv4"], ["Conv1", "Conv2", "Conv3"]),
        ("Fc", ["", "fc", "fc"], ["fc"]),
    ],
)
def test_at_most_three_names_are_near_the_closest_first(text, names, expected):
    assert near(selector_of(text), names) == expected


def test_names_are_near_to_any_condition_also_of_the_modules_of_an_operator():
    inside = Match(op="aten.add", inside=Selector((Match(name="Fc"),), "Fc"))
    several = Selector((inside, Match(regex="conv11"), Match(pattern="Layer1")), "")
    assert near(several, ["conv1", "layer1", "fc"]) == ["fc", "conv1", "layer1"]


def test_an_open_bracket_is_explained_where_nothing_matches():
    assert "close the '['" in advice(selector_of("zzz["), NAMES)
    both = Selector((Match(pattern="zzz"), Match(pattern="yyy[")), "")
    assert "close the '['" in advice(both, ["fc"])
    assert advice(selector_of("Fc"), NAMES) == "try `fc`"
    assert "run `hookcli inspect`" in advice(selector_of("zzz"), NAMES)
