"""Unusual YAML at every key of the schema is read, or refused in three lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hookcli
from tests.config.values_everywhere import TOKENS, WHOLE, document, fault, places

PLACES = list(dict.fromkeys(places()))
PARTS = 8


def test_the_places_are_those_of_the_schema():
    texts = {before.replace(" ", "") for before, _ in PLACES}
    assert {"{run:{seed:", "{hooks:[{kind:", "{checks:[{rule:", "{suppress:[{reason:"} <= texts
    assert len(PLACES) > 200


@pytest.mark.parametrize("part", range(PARTS))
def test_an_unusual_value_is_read_or_refused(part, tmp_path):
    """Each place gets two of the values, and each value is at several places."""
    for index in range(part, len(PLACES), PARTS):
        for step in (0, 37):
            token = TOKENS[(index * 5 + step) % len(TOKENS)]
            assert fault(tmp_path / "c.yaml", document(PLACES[index], token)) is None


@pytest.mark.parametrize(
    "name", ["n" * 9000, "~no-such-user/x", "hf:~no-such-user", "./" + "n" * 300]
)
def test_a_name_that_no_file_can_have_is_read_or_refused(name, tmp_path):
    for place in PLACES:
        assert fault(tmp_path / "c.yaml", document(place, f"'{name}'")) is None, place


def test_no_home_of_a_user_is_looked_up_by_what_raises_if_there_is_none():
    package = Path(hookcli.__file__).parent
    raising = re.compile(r"(?<!os\.path)\.expanduser\(|Path\.home\(")
    assert [p for p in package.rglob("*.py") if raising.search(p.read_text("utf-8"))] == []


@pytest.mark.parametrize("data", WHOLE, ids=lambda data: repr(data[:20]))
def test_an_unusual_file_is_read_or_refused(data, tmp_path):
    assert fault(tmp_path / "c.yaml", data) is None
