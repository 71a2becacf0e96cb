"""A saved report may hold anything: it is refused with a path, or every format draws it."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hookcli.comparison.compare import compare
from hookcli.errors import HookcliError, RequestError
from hookcli.formats.registry import FORMATS, formats_of
from hookcli.formats.view import View
from hookcli.report.distributed import (
    BucketRow,
    DifferenceRow,
    Distributed,
    RankRow,
    UnitRow,
    UnreachedRow,
)
from hookcli.report.encode import to_json
from hookcli.report.events import ChangeRow
from hookcli.report.files import read_report
from hookcli.report.findings import Measurement
from hookcli.report.memory import CallMemory, Memory, TrainingMemory
from hookcli.report.report import Inputs
from hookcli.report.values import Leaf
from hookcli.rules.catalogue import with_safe_set
from hookcli.rules.judge import judge_report
from hookcli.rules.same_as import judge as same_as
from tests.formats.checks import BROKEN, CHECK
from tests.formats.fabricate import GRADS, LAYERS, TRACE, event, layer, report, stats
from tests.formats.test_perfetto import TIMED

SKETCH = {"digest": "a", "norm": 1.0, "nonfinite": 0, "projections": [0.5, 1.5]}
CALL = {"order": 1, "inputs": [SKETCH], "outputs": [SKETCH]}
BAD = {"at": "output", "nans": 1, "infs": 0, "minus_infs": 0, "numel": 4, "order": 1, "step": 0,
       "path": "", "type": "Linear"}  # fmt: skip
MEASURED = (
    Measurement("sketch", "fc", 0, CALL, None),
    Measurement("sketch_parameter", "fc.weight", None, SKETCH, None),
    Measurement("values_read", "", None, 3, "tensors"),
    Measurement("non_finite", "fc", 0, BAD, None),
    Measurement("non_finite", "fc", 0, {**BAD, "at": "gradient", "taken_by": [2]}, None),
    Measurement("passes", "run", None,
                {"mode": "eval", "forwards": 1, "backwards": 0, "rules": ["finite"]}, None),
    Measurement("samples", "", None,
                {"dim": 0, "samples": 2, "relative": 0.5, "output": "", "sample": 0,
                 "dtype": "float32"}, None),
    Measurement("repeat_eval", "", None, {"compared": 1, "differ": [""], "largest": "inf"}, None),
    Measurement("step", "fc.weight", None, True, None),
    Measurement("saved_for_backward", "", None, 64, "bytes"),
    Measurement("weights", "", None,
                {"loaded": 1, "differed": [], "only_a": [], "only_b": ["x"],
                 "misfits": [{"name": "w", "a_shape": [1], "b_shape": [None]}]}, None),
)  # fmt: skip
SEEN = Leaf("", (2, 4), "float32", stats=stats(1.0), grad=stats("nan", nans=1, finite={"norm": 1}))
RANKS = Distributed(
    "gloo", "ddp", 2, None, {"rank": 4}, 1,
    (BucketRow(0, 0, 0, True, 8, "float32", ("w",), (1.0, "nan"), 1.0, None, 0.5, 8, 8),),
    (UnitRow("fc", ("w",), 8, 4),), (UnreachedRow("b", (0,)),),
    (RankRow(1, "partial", (0.5,), (DifferenceRow("calls", "", 1, 2),), "gone"),),
)  # fmt: skip
TREE = {"tuple": ({"dict": {"a": {"shape": (1, None), "dtype": "x"}}}, {"value": "3"})}
FULL = report(
    "inspect",
    layers=(*LAYERS, layer(3, "head", "Linear", 0, outputs=(SEEN,), call=1, stats=stats(2.0))),
    parameters=GRADS.parameters,
    measurements=MEASURED,
    distributed=RANKS,
)
STEP = TrainingMemory("batch=3", "Adam", 3, "float32", None, 1, 2, 3, 4, 5, 6, 7, 8, 9, "why")
REMEMBERED = replace(
    report("inspect", layers=(layer(0, "", "Net", None, memory=CallMemory(1, 2, None)),)),
    memory=Memory(1, 2, None, (STEP, replace(STEP, what_if=None))),
)
CLIPPED = replace(
    TRACE,
    events=(
        event(0, "backward", "tensor", "fc.weight", changed=0.5, changes=(
            ChangeRow("", stats(1.5), stats("nan", nans=1, finite={"norm": 1.0})),
            ChangeRow("[0]", stats(1.0), None, ((2, 4), None), ("float32", None)),
        )),
    ),
)  # fmt: skip
REPORTS = (
    TRACE,
    CLIPPED,
    GRADS,
    CHECK,
    BROKEN,
    TIMED,
    REMEMBERED,
    replace(FULL, inputs=Inputs("given", (TREE,), {})),
)
DOCUMENTS = [json.loads(to_json(one)) for one in REPORTS]

HUGE = 10**400  # no float holds it
PLAIN = st.sampled_from(
    [None, True, False, 0, 1, -1, 2**53, 2**64, -(10**25), 10**31, HUGE, 0.5, 1e308, -1e308,
     float("nan"), float("inf"), "", "nan", "-inf", "Infinity", "9" * 40, "a.b", "\0\x1b[31m",
     "\ufffe\u202e", "]]>", "{}%s", "fail", "gradient", "net.py:999999999", [], {}, [[]], [None],
     {"norm": []}, {"norm": "x"}, {"norm": HUGE}, {"": ""}, {"value": "x"}, {"tuple": [{}]}]
)  # fmt: skip
HOSTILE = PLAIN | st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2)
)


def positions(value, path=()):
    """The path of every value in a document, with the first rows of each list alone."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value[:4]) if isinstance(value, list) else items
    for key, inner in items:
        yield from positions(inner, (*path, key))


PLACES = [sorted(positions(document), key=str) for document in DOCUMENTS]


@st.composite
def doctored(draw):
    """One or two values of a report, each replaced, removed, repeated, or taken from elsewhere."""
    index = draw(st.integers(0, len(DOCUMENTS) - 1))
    document = copy.deepcopy(DOCUMENTS[index])
    for _ in range(draw(st.integers(1, 2))):
        *above, last = draw(st.sampled_from(PLACES[index]))
        other = draw(st.sampled_from(PLACES[index]))
        try:
            holder = at(document, above)
            found = at(document, other)
            change = draw(st.sampled_from(["replace", "replace", "move", "remove", "repeat"]))
            if change == "remove":
                del holder[last]
            elif change == "repeat" and isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            else:
                moved = copy.deepcopy(found) if change == "move" else draw(HOSTILE)
                holder[last] = moved
        except (KeyError, IndexError, TypeError):
            continue
    return index, json.dumps(document).encode("utf-8", "surrogatepass")


def at(document, path):
    for key in path:
        document = document[key]
    return document


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("reports") / "r.json"


def read(file, data):
    """The report, or None of one that is refused in three lines."""
    file.write_bytes(data)
    try:
        return read_report(str(file))
    except RequestError as error:
        assert error.place == str(file)
        assert error.hint
        return None


def strict(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


_WELL_FORMED = {"json": strict, "sarif": strict, "perfetto": strict, "junit": ET.fromstring}


NARROW = View(width=20, unicode=False, color=True, root="/r", start="/r", fail_on="never")


def draw_all(found):
    for name, row in FORMATS.items():
        if row.writes_folder:
            assert all(row.files(found, View()).values())
            continue
        try:
            text = row.render(found, NARROW if name == "tree" else View())
        except RequestError:  # timings alone: only one format reads them
            assert name == "perfetto"
            continue
        text.encode()
        _WELL_FORMED.get(name, str)(text)


QUIET = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


@settings(QUIET, max_examples=100)
@given(doctored())
def test_a_doctored_report_is_refused_or_drawn(file, case):
    index, data = case
    found = read(file, data)
    if found is None:
        return
    draw_all(found)
    assert read(file, to_json(found).encode()) is not None
    draw_all(judge_report(found, with_safe_set((), together=True)))
    for a, b in ((found, REPORTS[index]), (REPORTS[index], found), (found, found)):
        list(same_as(a, {"saved": b, "at": "*", "rtol": 1e-3, "report": "r.json"}))
        for form in formats_of("diff").values():
            form.render(compare(a, b), View()).encode()


@pytest.mark.parametrize("side", ["before", "after"])
def test_the_path_of_wrong_statistics_of_a_change_is_named(file, side):
    document = json.loads(to_json(CLIPPED))
    document["events"][0]["changes"][0][side] = {"norm": "large"}
    file.write_text(json.dumps(document))
    with pytest.raises(HookcliError, match=rf"events\.0\.changes\.0\.{side}\.norm"):
        read_report(str(file))


@settings(QUIET, max_examples=25)
@given(st.binary(max_size=60), st.integers(0, len(DOCUMENTS) - 1), st.randoms())
def test_bytes_that_are_no_report_are_refused(file, noise, index, random):
    whole = to_json(REPORTS[index]).encode()
    start = random.randrange(len(whole))
    for data in (noise, whole[:start], whole[:start] + noise + whole[start + 3 :]):
        found = read(file, data)
        if found is not None:
            draw_all(found)


@pytest.mark.parametrize("data", [
    b"", b" ", b"{", b"null", b"[]", b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0", b"[" * 10_000,
    b'{"a":' * 10_000, b"1" * 5_000, b'"\\ud800"', b"NaN", b"1e999",
])  # fmt: skip
def test_text_that_is_no_report_is_refused(file, data):
    assert read(file, data) is None


def test_every_report_of_these_reads_as_it_was_written(file):
    for one in REPORTS:
        assert to_json(read(file, to_json(one).encode())) == to_json(one)


@pytest.mark.parametrize(("path", "value", "said"), [
    (("layers", 3, "stats", "norm"), [1], "layers.3.stats.norm"),
    (("layers", 3, "outputs", 0, "stats"), {"nans": "x"}, "layers.3.outputs.0.stats.nans"),
    (("measurements", 0, "value", "inputs"), {}, "measurements.0.value.inputs"),
    (("measurements", 9, "value"), "many", "measurements.9.value"),
    (("totals", "flops"), HUGE, "totals.flops"),
    (("environment", "seconds"), float("inf"), "environment.seconds"),
    (("checks",), [3], "checks.0"),
    (("layers", 1, "parent"), 1, "layers: the parent 1"),
    (("layers", 2, "order"), 1, "layers: order 1 must be greater than 1"),
])  # fmt: skip
def test_the_path_of_what_is_wrong_is_named(file, path, value, said):
    document = copy.deepcopy(DOCUMENTS[-1])
    *above, last = path
    at(document, above)[last] = value
    file.write_text(json.dumps(document))
    with pytest.raises(HookcliError) as caught:
        read_report(str(file))
    assert f"is not a hookcli report: {said}" in caught.value.message
