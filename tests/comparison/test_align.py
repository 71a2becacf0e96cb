"""Names of two sides that go together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookcli.comparison.align import align
from hookcli.comparison.state import casts_of
from tests.formats.fabricate import GRADS, parameter

NAMES = ["fc", "fc.weight", "fc.bias", "body.0", "body.0.weight"]


def below(prefix):
    return [f"{prefix}.{name}" for name in NAMES]


def test_equal_names_need_no_prefix():
    found = align(NAMES, NAMES)
    assert (found.prefix_a, found.prefix_b) == ("", "")
    assert found.pairs(NAMES, NAMES) == {name: name for name in NAMES}


@pytest.mark.parametrize("prefix", ["model", "_orig_mod", "outer.net", "a.b.c"])
def test_a_prefix_on_either_side_is_found(prefix):
    right = align(NAMES, ["head", *below(prefix)])
    assert (right.prefix_a, right.prefix_b) == ("", prefix)
    assert right.pairs(["", *NAMES], [prefix, *below(prefix)])[""] == prefix
    left = align(below(prefix), NAMES)
    assert (left.prefix_a, left.prefix_b) == (prefix, "")
    assert left.pairs(below(prefix), NAMES) == dict(zip(below(prefix), NAMES))


def test_a_prefix_is_taken_only_where_more_names_go_together():
    theirs = [*NAMES, "model.fc"]
    assert align(NAMES, theirs).prefix_b == ""


def test_what_is_outside_the_prefix_pairs_by_its_own_name():
    ours, theirs = [*NAMES, "head", "extra"], [*below("model"), "head", "more"]
    found = align(ours, theirs).pairs(ours, theirs)
    assert found["head"] == "head"
    assert found["fc"] == "model.fc"
    assert "extra" not in found
    assert "more" not in found.values()


def test_no_name_of_b_s_is_given_twice():
    ours, theirs = ["fc", "model.fc", "x", "y"], ["model.fc", "model.x", "model.y"]
    found = align(ours, theirs).pairs(ours, theirs)
    assert sorted(found.values()) == sorted(set(found.values()))


@pytest.mark.parametrize(
    ("ours", "theirs", "prefixes"),
    [
        (["fc"], ["fc", "model.fc"], ("", "")),  # as many without a prefix
        (["fc"], ["a.fc", "b.c.fc"], ("", "a")),  # the shortest
        (["b.fc", "a.fc"], ["fc"], ("a", "")),
        ([f"{name}.fc" for name in "tsrqponmlkjihgfedcba"], ["fc"], ("a", "")),
        (["fc", "x.fc"], ["x.fc", "x.x.fc"], ("", "x")),  # of B, if one of A pairs as many
        (["a.b.c.d.e"], ["e"], ("a.b.c.d", "")),
        (["a.b.c.d.e.f"], ["f"], ("", "")),  # more than four names
        ([""], ["model"], ("", "")),
    ],
)
def test_the_prefix_that_pairs_the_most_names_is_taken(ours, theirs, prefixes):
    found = align(ours, theirs)
    assert (found.prefix_a, found.prefix_b) == prefixes


def test_of_two_names_without_the_prefix_the_first_is_paired():
    found = align(["fc"], ["a.fc", "a.fc.x"])
    assert found.canonical_b("a") == ""
    assert found.canonical_b("ab") is None
    assert found.canonical_b("a.fc") == found.canonical_a("fc") == "fc"
    assert found.pairs(["fc", "a.fc"], ["a.fc", "b"]) == {"fc": "a.fc"}
    assert found.pairs(["a.fc", "b"], ["b", "a.fc"]) == {"a.fc": "a.fc", "b": "b"}


@pytest.mark.parametrize(
    ("theirs", "casts"),
    [
        (("float32", "float32"), {}),
        (("float16", "float16"), {"float32": "float16"}),
        (("float16", "float32"), {}),
    ],
)
def test_a_model_was_cast_if_all_parameters_of_a_dtype_were(theirs, casts):
    def net(*dtypes):
        rows = [
            replace(parameter(f"fc{i}.weight", (2,)), dtype=one) for i, one in enumerate(dtypes)
        ]
        return replace(GRADS, parameters=tuple(rows))

    ours, other = net("float32", "float32"), net(*theirs)
    names = [row.name for row in ours.parameters]
    assert casts_of(ours, other, align(names, names)) == casts
