"""The package phase: what becomes of each module, in which order, by which pattern."""

from __future__ import annotations

import sys

import pytest
import torch
import torch.package

from hookcli.errors import ModelError
from hookcli.spec.hooks import PackagePattern
from tests.hooks.running import FunctionRef, carry_out, hook
from tests.models import made

KINDS = ("package_intern", "package_extern", "package_mock")


@pytest.fixture
def net(tmp_path):
    found = made.modules(tmp_path)
    yield found
    made.forget()


def patterns(**given):
    return tuple(
        PackagePattern(action, one, f"hooks.yaml:3: run.package.{action}[{i}]")
        for action, many in given.items()
        for i, one in enumerate(many)
    )


def packaged(model, *given, hooks=None):
    hooks = hooks or [hook(kind, index=i) for i, kind in enumerate(KINDS)]
    return carry_out(model, torch.ones(2, 4), hooks, package=given)


def rows(recording):
    return [(e.kind.removeprefix("package_"), e.target, e.node) for e in recording.events]


def by_torch(model, tmp_path, *given):
    """The same by plain torch.package: what its own hooks say, in their order."""
    told = []
    with torch.package.PackageExporter(str(tmp_path / "by_torch.pt")) as exporter:
        for what in ("intern", "extern", "mock"):
            register = getattr(exporter, f"register_{what}_hook")
            register(lambda _, name, what=what: told.append((what, name)))
        for one in given:
            getattr(exporter, one.action)(one.pattern)
        exporter.save_pickle("model", "model.pkl", model)
    return told


INTERN_ALL = patterns(mock=["packed_helper"], intern=["packed_net"], extern=["**"])


@pytest.mark.filterwarnings("ignore:TypedStorage:UserWarning")
def test_each_module_is_told_in_torch_s_order_with_the_pattern_that_decided(net, tmp_path):
    model = net.Net()
    found = packaged(model, *INTERN_ALL)
    assert [row[:2] for row in rows(found)] == by_torch(model, tmp_path, *INTERN_ALL)
    decided = {target: node for _, target, node in rows(found)}
    assert decided["packed_net"] == "packed_net"
    assert decided["packed_helper"] == "packed_helper"
    assert decided["<model.model.pkl>"] is None
    assert decided["torch"] is None
    assert found.findings == []


def test_the_user_s_own_modules_are_stored_and_installed_ones_left_out(net):
    found = {target: kind for kind, target, _ in rows(packaged(net.Net()))}
    assert found["packed_net"] == found["packed_helper"] == "intern"
    assert found["torch.nn"] == "extern"


def test_the_first_pattern_that_matches_decides(net):
    given = patterns(extern=["packed_*"], mock=["packed_helper"])
    found = packaged(net.Net(), *given)
    assert ("extern", "packed_net", "packed_*") in rows(found)
    (finding,) = found.findings
    assert (finding.target, finding.severity) == ("packed_helper", "warning")
    assert finding.message == "run.package.mock matches no module that the model needs"
    assert finding.place == "hooks.yaml:3: run.package.mock[0]"


def test_what_cannot_be_stored_is_a_finding_and_the_others_still_show(net, tmp_path):
    (tmp_path / "packed_helper.py").write_text("import numpy._core._multiarray_umath\n")
    found = packaged(net.Net(), *patterns(intern=["numpy._core._multiarray_umath"]))
    (finding,) = found.findings
    assert finding.target == "numpy._core._multiarray_umath"
    assert "C extension" in finding.message
    assert finding.message.endswith("<model.model.pkl> → packed_net → packed_helper")
    assert finding.place == "hooks.yaml:3: run.package.intern[0]"
    told = rows(found)
    assert ("intern", "packed_net", "packed_net") in told
    assert finding.target not in {target for _, target, _ in told}


def test_a_mocked_module_that_the_model_is_made_of_is_a_finding(net):
    found = packaged(net.Net(), *patterns(mock=["packed_net"]))
    (finding,) = found.findings
    assert finding.target == "packed_net"
    assert "still being used" in finding.message


def test_a_model_that_cannot_be_pickled_says_what_is_in_the_way(net):
    model = net.Net()
    model.extra = lambda x: x
    found = packaged(model)
    assert isinstance(found.error, ModelError)
    assert found.failure.phase == "package"
    assert found.failure.message.startswith("the model cannot be pickled: Can't pickle <function")
    assert " at 0x" not in found.failure.message


def test_functions_get_torch_s_own_exporter_and_name(net, tmp_path):
    (tmp_path / "told.py").write_text(
        "def told(exporter, name):\n"
        "    with open(__file__ + '.txt', 'a') as file:\n"
        "        print(type(exporter).__name__, name, file=file)\n"
    )
    action = ("call", FunctionRef(f"{tmp_path}/told.py:told"))
    packaged(net.Net(), hooks=[hook("package_intern", None, action)])
    sys.modules.pop("told")
    assert (tmp_path / "told.py.txt").read_text().splitlines() == [
        "PackageExporter <model.model.pkl>",
        "PackageExporter packed_net",
        "PackageExporter packed_helper",
    ]


def test_a_model_from_an_archive_is_packaged_again_under_its_own_names(net, tmp_path):
    path = made.package(tmp_path / "m.pt", {"model/model.pkl": net.Net()})
    made.forget()
    model = torch.package.PackageImporter(str(path)).load_pickle("model", "model.pkl")
    found = packaged(model)
    assert found.error is None
    told = {target: kind for kind, target, _ in rows(found)}
    assert told["packed_net"] == told["packed_helper"] == "intern"
    assert not any("torch_package" in target for target in told)
