"""A report with extreme values is refused, or every format shows it; the schemas say which."""

from __future__ import annotations

import functools
import json
import math

import pytest

from hookcli.reference.schemas import SCHEMAS
from hookcli.report.values import LARGEST_INDEX, LARGEST_SIZE, known_size
from tests.report import extremes
from tests.report.extremes import NUMBERS, STRINGS, alike, changes_to, failures, mixed, read
from tests.report.schema_documents import documents, numeric_nodes


@functools.cache
def samples():
    return extremes.samples()


@functools.cache
def filled_documents():
    return list(documents())


# Other checks also decide about these: the order of calls and steps, and the ends of edges.
ORDERED = {"order", "parent", "source", "target", "total", "step"}


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "config"])
def test_each_number_of_a_schema_has_a_range_that_every_format_holds(name):
    for node in numeric_nodes(SCHEMAS[name]()):
        low, high = node["minimum"], node["maximum"]
        assert low < high
        if node["type"] == "integer":
            assert -(2**63) <= low
            assert high in {LARGEST_INDEX, LARGEST_SIZE, 2**31 - 1, 2**32 - 1, 2**64 - 1}
        else:
            assert math.isfinite(low)
            assert math.isfinite(high)


def test_the_documents_have_each_number_of_the_schemas():
    filled = {id(schema): set() for _, _, _, schema in filled_documents()}
    for _, _, filler, schema in filled_documents():
        filled[id(schema)] |= filler.numbers
    for _, _, _, schema in filled_documents():
        missing = [n for n in numeric_nodes(schema) if id(n) not in filled[id(schema)]]
        assert [node.get("title") for node in missing] in ([], ["Count", "Dropped"])  # of a stream


def test_the_documents_are_read_and_shown():
    for sample in samples():
        report = read(sample.name, json.dumps(sample.document))
        assert report is not None, sample.name
        assert list(extremes.faults(report)) == []


def test_a_number_is_read_if_and_only_if_it_is_in_its_range():
    sample = samples()[-1]  # of a training: it has a record with every field of a report
    for place in alike([place for place in sample.numbers if place.node is not None]):
        low, high = place.node["minimum"], place.node["maximum"]
        inside, outside = [low, high], [low - 1, high + 1]
        if place.node["type"] == "number":
            outside = [] if high > 1e300 else [low - 1e-9, math.nextafter(high, math.inf)]
        for value in inside:
            changed = sample.text([(place, json.dumps(value))])
            assert read(sample.name, changed) is not None or ORDERED & set(place.path[-1:]), (
                place.path
            )
        for value in outside:
            changed = sample.text([(place, json.dumps(value))])
            assert read(sample.name, changed) is None, (place.path, value)


# Others are refused nearly everywhere, which takes many documents to find.
TOKENS = [token for token in (*NUMBERS, *STRINGS) if token not in {"[]", "{}", "null", "true"}]


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:24])
def test_an_extreme_at_all_places_at_once_is_shown_or_refused(token):
    index = [*NUMBERS, *STRINGS].index(token)
    sample = samples()[index % len(samples())]
    token = token if len(token) < 10_000 else token[:2000] + '"'
    changes = changes_to(token, sample.numbers if index < len(NUMBERS) else sample.strings)
    assert failures(sample, changes) == []


@pytest.mark.parametrize("seed", range(2))
def test_a_mixture_of_extremes_is_shown_or_refused(seed):
    sample = samples()[-1 - seed]
    assert failures(sample, mixed(sample, seed)) == []


def test_what_fails_is_found_among_many_changes(monkeypatch):
    sample = samples()[0]
    monkeypatch.setattr(extremes, "faults", lambda report: iter("x" * (report.run.seed == 7)))
    changes = [(place, "7") for place in sample.numbers if place.allows("7")]
    kept = [change for change in changes if change[0].path[-1] not in ORDERED]
    (failure,) = failures(sample, kept)
    assert "['run.seed = 7']" in failure


def test_operations_that_no_report_can_hold_are_not_known():
    assert known_size(10**30) == 10**30
    assert known_size(10**30 + 1) is None
