"""The names of the rows that the probe `activations` measures, and how rules read them."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.findings import Measurement
from hookcli.report.report import LayerRow, Report
from hookcli.spec.checks import request_probe

PROBE = "activations"
A_FEW, EVERY = request_probe(PROBE), request_probe(PROBE, exact=True)  # values that are read
SEEN = "activations_read"  # how many of each kind were read
DEAD, SATURATED, ONE_HOT = "dead_units", "saturated_values", "one_hot_rows"
CONSTANT, ZERO, MASKED = "constant_output", "zero_output", "masked_rows"
RANGE, SPREAD = "value_range", "output_spread"
KINDS = (DEAD, SATURATED, ONE_HOT, CONSTANT, MASKED)


def seen(report: Report, kind: str) -> int | None:
    """Return how many activations of a kind were read; None if the probe did not run."""
    for row in report.measurements:
        if row.probe == SEEN:
            return int(row.value[kind])
    return None


def rows_of(report: Report, *kinds: str) -> Iterator[Measurement]:
    """Yield the measurements of these kinds, in the order of the run."""
    return (row for row in report.measurements if row.probe in kinds)


def call_of(report: Report, measurement: Measurement) -> LayerRow | None:
    """Return the row of the call that a measurement is about."""
    order = measurement.value.get("order")
    return next((row for row in report.layers if row.order == order), None)


UNREAD = "this run did not read the activations"


def where(measurement: Measurement) -> str:
    """Return the place of an activation in messages: "'act' (ReLU), after 'fc'"."""
    row = measurement.value
    name = f"'{measurement.target}' ({row['type']})" if measurement.target else "the model"
    call = f", call {measurement.call}" if measurement.call else ""
    after = row.get("after")
    return f"{name}{call}, after '{after}'," if after else f"{name}{call}"


def place_of(report: Report, measurement: Measurement) -> str | None:
    """Return the place of the layer in the user's source."""
    row = call_of(report, measurement)
    return None if row is None else row.place
