"""The results of several ranks in the data of a page."""

from __future__ import annotations

import dataclasses

from hookcli.formats.html.data.record import ranks
from hookcli.formats.html.data.references import References
from hookcli.report.distributed import (
    BucketRow,
    DifferenceRow,
    Distributed,
    RankRow,
    UnitRow,
    UnreachedRow,
)
from tests.formats.fabricate import LAYERS, parameter, report

NAMES = ("fc.weight", "fc.bias")
BUCKET = BucketRow(
    2, 0, 1, True, 72, "float32", NAMES, (1.23456789, "nan"), 1.0, None, 0.5, 36, 72
)  # fmt: skip
RUN = Distributed(
    "gloo", "ddp", 2, "fp16_compress", {}, 1,
    buckets=(BUCKET,),
    units=(UnitRow("", ("fc.bias", "gone"), 8, 4),),
    unreached=(UnreachedRow("fc.bias", (0, 1)),),
    ranks=(
        RankRow(1, "complete", (0.5, "inf"), (
            DifferenceRow("gradient", "fc.weight", 2.0, 1.0),
            DifferenceRow("uncalled", "fc", True, False),
        )),
        RankRow(2, "dead", (), (), "killed\x1b[31m"),
    ),
)  # fmt: skip


def data(distributed=RUN):
    made = report("grads", layers=LAYERS, parameters=tuple(parameter(name, (4,)) for name in NAMES))
    made = dataclasses.replace(made, distributed=distributed)
    return ranks(made, References(made))


def test_a_run_of_one_rank_has_no_ranks():
    assert data(None) is None


def test_a_bucket_has_the_rows_of_its_parameters_and_rounded_norms():
    made = data()
    (bucket,) = made["buckets"]
    assert [made["names"][at] for at in bucket["parameters"]] == list(NAMES)
    assert [made["rows"][at] for at in bucket["parameters"]] == [0, 1]
    assert bucket["before"] == [1.23457, "nan"]
    assert (bucket["after"], bucket["exact"], bucket["error"]) == (1.0, None, 0.5)
    assert (bucket["wire"], bucket["plain"], bucket["bytes"]) == (36, 72, 72)


def test_a_unit_names_its_module_and_a_parameter_without_a_row_has_no_link():
    made = data()
    (unit,) = made["units"]
    assert (unit["module"], unit["layer"]) == ("the model", 0)
    assert [made["rows"][at] for at in unit["parameters"]] == [1, -1]
    assert made["names"][made["unreached"][0][0]] == "fc.bias"
    assert made["unreached"][0][1] == [0, 1]


def test_the_differences_of_a_rank_are_sentences_with_links():
    first, dead = data()["ranks"]
    fc = next(i for i, row in enumerate(LAYERS) if row.name == "fc")
    assert first["differs"] == [
        ["the gradient of fc.weight has norm 2, but 1 on rank 0", fc, 0],
        ["fc did not run, but ran on rank 0", fc, -1],
    ]
    assert first["losses"] == [0.5, "inf"]
    assert (dead["status"], dead["error"]) == ("dead", "killed\\x1b[31m")


def test_what_is_alarming_is_told_first():
    made = data()
    assert made["facts"][0] == (
        "Ranks", "2 ranks, DistributedDataParallel over gloo, hook fp16_compress"
    )  # fmt: skip
    assert made["alarms"][0] == ("no gradient", "on any rank: fc.bias")
