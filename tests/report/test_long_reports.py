"""Long reports are read in pieces, with the same result and the same errors as at once."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import hookcli
from hookcli.report import schema
from hookcli.report.reading import long_reports, validity
from hookcli.report.report import Report


@pytest.fixture(scope="module")
def text():
    return hookcli.trace(nn.Sequential(nn.Linear(3, 2), nn.Tanh()), torch.randn(4, 3)).to_json()


@pytest.fixture
def pieces(monkeypatch):
    """Read every report in pieces of about three rows; return the reports that were read so."""
    read: list[Report | None] = []

    def note(*args, **kwargs):
        read.append(long_reports.read_in_pieces(*args, **kwargs))
        return read[-1]

    monkeypatch.setattr(schema, "LONG", 10)
    monkeypatch.setattr(schema, "read_in_pieces", note)
    monkeypatch.setattr(long_reports, "_PIECE", 800)
    return read


@pytest.mark.parametrize("strict", [True, False])
def test_a_report_in_pieces_is_the_same(text, pieces, strict):
    at_once = schema._adapter().validate_json(text, strict=strict)
    assert len(at_once.events) > 10
    assert schema.from_json(text, strict=strict) == at_once
    assert schema.from_json(text.encode(), strict=strict) == at_once
    assert pieces == [at_once, at_once]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"phase": "forward"', '"phase": "other"', 1),
        lambda text: text.replace('"seq": 5,', '"seq": "five",'),
        lambda text: text.replace('"seq": 5,', '"seq": 5'),
        lambda text: text[: text.index("\n  ]", text.index('"events"'))],
        lambda text: text.replace('"command"', '"commands"', 1),
        lambda text: text.replace('  "events": [\n', '  "events": [\n  ],\n  "more": [\n', 1),
        lambda text: text.replace('    {"seq": 3,', '  ], "checks": [\n    {"seq": 3,'),
        lambda text: text.replace("}\n  ],", "},\n  ],"),
    ],
)
def test_an_error_is_the_one_that_is_found_at_once(text, pieces, change):
    wrong = change(text)
    assert wrong != text
    try:
        expected = schema._read(schema._adapter(), wrong, strict=True)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            schema.from_json(wrong, strict=True)
    else:
        assert schema.from_json(wrong, strict=True) == expected


def test_events_of_another_key_are_not_taken_for_those_of_the_report(text, pieces):
    start = text.index('  "events": [\n')
    end = text.index("\n  ],", start)
    other = f'{text[:start]}  "more": {{\n{text[start:end]}\n  ]}},{text[end + 5 :]}'
    assert schema.from_json(other, strict=True).events == ()
    assert pieces == [None]


@pytest.mark.parametrize("number", ["1" * 30, "1e300", "-2.5E+4000", "12345678901234567890e999"])
@pytest.mark.parametrize("at", [*range(200, 270, 3), 512])
def test_a_large_number_is_found_at_any_place(monkeypatch, number, at):
    monkeypatch.setattr(validity, "_PIECE", 256)
    before, after = b'{"a": "' + b"x" * at + b'", "b": ', b', "c": "' + b"y" * 300 + b'"}'
    assert validity._has_large_numbers(before + number.encode() + after)
    assert not validity._has_large_numbers(before + b"12345.678e-12" + after)
    assert not validity._has_large_numbers(before + b'"07e12345ab"' + after)
