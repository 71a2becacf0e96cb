"""Rows of probes: what they name exists, and what rules require and reports contain has a row."""

from __future__ import annotations

import pytest

from hookcli.catalogue.probes import PROBES, Way
from hookcli.engine.probes.probes import function_of
from hookcli.report.reading.validity import type_of
from hookcli.rules.catalogue import CATALOGUE, probes_of
from hookcli.spec.checks import CheckSpec

NAMED = {Way.OBSERVES, Way.READS, Way.RERUNS}


@pytest.mark.parametrize("row", PROBES.values(), ids=PROBES)
def test_what_a_row_names_exists(row):
    assert bool(row.function) == (row.way in NAMED)
    if row.function:
        assert callable(function_of(row))
    for name in row.results:
        assert type_of(name, "a", {}) is not None


def test_each_probe_that_a_rule_requires_has_a_row_and_each_row_a_user():
    required = {
        request.name
        for rule in CATALOGUE.values()
        for request in probes_of((CheckSpec(rule.name),))
    }
    assert required <= PROBES.keys()
    # Rules require the first two only with options, a flag the third, and a snapshot the last.
    assert PROBES.keys() - required == {"flops", "repeat_train", "per_sample", "grown"}
