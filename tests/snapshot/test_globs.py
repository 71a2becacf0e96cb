"""Globs match just the names that they were made for, whatever these are."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given, strategies as st

from hookcli.rules.order_patterns import expand_order
from hookcli.snapshot.globs import NameSet, cover, exactly, folded, ranges
from hookcli.snapshot.order import written

ODD = ["a", "a.b", "h[0]", "h*", "h?", "[!a]", "a{0..3}", "é", "\n", "h.0", "h.1", "x.[", "]", "-"]
parts = st.sampled_from(
    ["h", "conv", "0", "1", "2", "9", "10", "11", "12", "a*", "[b]", "{c}", "?"]
)
names = st.lists(parts, min_size=1, max_size=4).map(".".join)


@pytest.mark.parametrize("name", ODD)
def test_a_name_s_own_glob_matches_it_alone(name):
    assert [other for other in ODD if fnmatch.fnmatchcase(other, exactly(name))] == [name]


def test_half_a_character_is_any_one():
    assert exactly("a\ud800b") == "a?b"


@given(st.sets(st.integers(0, 1300), min_size=1))
def test_ranges_match_their_numbers_and_no_others(numbers):
    globs = list(ranges(sorted(numbers)))
    for number in range(1400):
        count = sum(fnmatch.fnmatchcase(str(number), glob) for glob in globs)
        assert count == (number in numbers)


def test_ranges_are_as_a_reader_would_write_them():
    assert list(ranges([*range(126)])) == ["[0-9]", "[1-9][0-9]", "1[0-1][0-9]", "12[0-5]"]
    assert list(ranges([3, 5, 6, 7, 12])) == ["3", "[5-7]", "12"]


@given(st.dictionaries(names, st.integers(0, 2)), st.sets(names))
def test_folded_globs_match_names_of_their_value_alone(values, others):
    everything = {*values, *others}
    folds = folded(values, NameSet(everything))
    for name in everything:
        found = {value for glob, value in folds if fnmatch.fnmatchcase(name, glob)}
        assert found == ({values[name]} if name in values else set())


def test_blocks_fold_into_one_line_each():
    values = {f"h.{i}.{part}": part for i in range(12) for part in ("attn", "mlp")}
    blocks = {f"h.{i}": 0 for i in range(12)}
    everything = NameSet([*values, *blocks])
    assert folded(values, everything) == [("h.*.attn", "attn"), ("h.*.mlp", "mlp")]
    assert folded(blocks, everything) == [("h.[0-9]", 0), ("h.1[0-1]", 0)]


def test_a_block_that_differs_stands_by_itself():
    values = {f"l.{i}.conv": int(i == 0) for i in range(4)}
    assert folded(values, NameSet(values)) == [("l.0.conv", 1), ("l.[1-3].conv", 0)]


@given(st.sets(names), st.sets(names))
def test_a_cover_matches_what_is_meant_and_nothing_else(meant, others):
    everything = meant | others
    globs = cover(sorted(meant), sorted(everything))
    for name in everything:
        assert any(fnmatch.fnmatchcase(name, glob) for glob in globs) == (name in meant)


def test_covers_are_as_a_reader_would_write_them():
    lora = [f"h.{i}.{part}.{ab}" for i in range(9) for part in "qkv" for ab in ("A", "B", "base")]
    learn = [name for name in lora if not name.endswith("base")]
    assert sorted(cover(learn, lora)) == ["*.A", "*.B"]
    model = [f"{part}.{i}.{kind}" for part in ("enc", "dec") for i in range(3) for kind in "wb"]
    assert cover([name for name in model if name.startswith("enc")], model) == ["enc.*"]
    assert cover(model, model) == ["*"]
    assert cover([], model) == []


@given(st.lists(names, max_size=40))
def test_a_written_order_spells_the_same_names(order):
    spelled_out = expand_order(written(order))
    assert len(spelled_out) == len(order)
    assert all(map(fnmatch.fnmatchcase, order, spelled_out))


def test_orders_are_short():
    assert written(["wte", *(f"h.{i}" for i in range(12)), "ln"]) == ["wte", "h.{0..11}", "ln"]
    assert written(["cell", "norm"] * 500) == [{"of": ["cell", "norm"], "times": 500}]
    assert written(["a", "a", "b"]) == ["a", "a", "b"]


def test_an_order_of_too_many_names_is_an_error():
    with pytest.raises(ValueError, match="more than 1,000,000 names"):
        expand_order([{"of": ["a{0..999999}"], "times": 1_000_000}])
