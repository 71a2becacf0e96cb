"""Names of two sides that go together."""

from __future__ import annotations

import pytest

from hookcli.comparison.align import align

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
