"""A step that no format could hold is refused when a report is read."""

from __future__ import annotations

import json

import pytest

from hookcli.report.encode import training_to_json
from hookcli.report.reading.validity import check_valid_training
from hookcli.report.schema import training_from_json
from tests.formats.training_reports import exploding


@pytest.mark.parametrize(("step", "reads"), [(2**53 - 2, True), (2**53, False), (2**63, False)])
def test_a_step_is_an_integer_that_every_format_holds(step, reads):
    document = json.loads(training_to_json(exploding(20)))
    info = document["records"][0]["training"]
    info["total"] = step + 1
    info["steps"][-1]["step"] = step
    text = json.dumps(document)
    if reads:
        check_valid_training(training_from_json(text), text)
        return
    with pytest.raises(
        ValueError, match=rf"^records\.0\.training\..*less than or equal to {2**53 - 1}"
    ):
        training_from_json(text)
