"""What can act when it is opened does not get to, unless it is trusted; what cannot is opened."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch._export.serde import schema

from hookcli.errors import ModelError, RequestError
from hookcli.models.exported.screening.graph_scan import screened
from hookcli.models.exported.screening.trust import check_exported
from hookcli.models.sources.parse import check_opening, parse_source
from hookcli.run.attempt import Session
from hookcli.spec.request import Attempt, ModelSpec, Spec
from tests.conftest import HEAD, ROOT, attempt
from tests.models import made

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x, scale=None):
        return self.fc(x) + self.shift + torch.tensor([1.0, 2.0, 3.0])


@pytest.fixture
def pt2(tmp_path):
    """A `.pt2` as torch writes it today, of a model with symbols in its shapes."""
    batch = torch.export.Dim("batch", min=2, max=16)
    return made.exported(
        tmp_path / "m.pt2", Plain(), torch.ones(3, 4), dynamic_shapes={"x": {0: batch}}
    )


def opened(path, **more):
    model = ModelSpec(str(path), **more)
    return Session(Spec("inspect", model), Attempt("real"), lambda *_: None).run()


# A .pt2


def test_what_torch_writes_can_be_opened(pt2):
    check_exported(pt2, trusted=False)


@pytest.mark.parametrize("where", ["sample_inputs", "weights", "constants", "pickled weight"])
def test_a_pickle_in_a_pt2_that_could_act_is_refused_before_torch_opens_it(where, pt2, tmp_path):
    mark = tmp_path / "acted"
    acting = made.saved({"w": made.Acts(mark)})
    if where == "sample_inputs":
        made.rewritten(pt2, {"data/sample_inputs/model.pt": acting})
    elif where == "pickled weight":
        config = json.loads(made.member(pt2, "data/weights/model_weights_config.json"))
        first = next(iter(config["config"].values()))
        first["use_pickle"] = True
        name = f"data/weights/{first['path_name']}"
        told = json.dumps(config).encode()
        made.rewritten(pt2, {name: acting, "data/weights/model_weights_config.json": told})
    else:
        made.rewritten(pt2, {}, {f"data/{where}/model.pt": acting})
    with pytest.raises(RequestError, match="can run code") as caught:
        check_exported(pt2, trusted=False)
    assert "--trust" in caught.value.hint
    assert not mark.exists()
    with contextlib.suppress(Exception):  # what would have been, whatever comes of it
        torch.export.load(str(pt2))
    assert mark.exists()


def test_the_variables_of_torch_are_as_before(pt2, monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", raising=False)
    check_exported(pt2, trusted=False)
    assert os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == "1"
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_a_trusted_pt2_is_not_looked_into(pt2, tmp_path):
    acting = made.saved(made.Acts(tmp_path / "acted"))
    made.rewritten(pt2, {"data/sample_inputs/model.pt": acting})
    check_exported(pt2, trusted=True)


def test_an_object_that_torch_unpickles_whatever_it_is_is_refused(pt2, tmp_path):
    config = {"config": {"c": {"path_name": "opaque_obj_0", "use_pickle": False}}}
    told = json.dumps(config).encode()
    made.rewritten(
        pt2,
        {"data/constants/model_constants_config.json": told},
        {"data/constants/opaque_obj_0": made.acting_pickle(tmp_path / "acted")},
    )
    with pytest.raises(RequestError, match="opaque_obj_0 is a pickled object"):
        check_exported(pt2, trusted=False)


def test_two_members_of_one_name_are_refused_as_readers_differ(pt2):
    made.rewritten(pt2, {}, {"data/Sample_Inputs/model.pt": b""})
    with pytest.raises(RequestError, match="twice"):
        check_exported(pt2, trusted=False)


def test_a_compiled_library_in_a_pt2_is_refused(pt2):
    made.rewritten(pt2, {}, {"data/aotinductor/model/a.so": b"\x7fELF"})
    with pytest.raises(RequestError, match="compiled library"):
        check_exported(pt2, trusted=False)


ACTING = "exec(chr(1))"


def program(pt2, change):
    told = json.loads(made.member(pt2, "models/model.json"))
    change(told["graph_module"])
    return told


def tree(*children, kind="builtins.tuple", context="null"):
    return {"type": kind, "context": context, "children_spec": list(children)}


def arguments(keys, **inner):
    args = tree(tree(**inner) if inner else tree())
    return json.dumps([1, tree(args, tree(kind="builtins.dict", context=json.dumps(keys)))])


def signature(text):
    return lambda graph: graph["module_call_graph"][0]["signature"].update(in_spec=text)


def target(text):
    return lambda graph: graph["graph"]["nodes"][0].update(target=text)


def symbol(text):
    def change(graph):
        values = graph["graph"]["tensor_values"]
        sizes = next(one["sizes"] for one in values.values() if "as_expr" in one["sizes"][0])
        sizes[0]["as_expr"]["expr_str"] = text

    return change


ENUM = json.dumps({"__enum__": True, "fqn": "antigravity:a", "name": "b"})
FACTORY = {"default_factory_module": "os", "default_factory_name": "abort", "dict_context": []}
DOCTORED = {
    "an expression": (symbol(ACTING), "symbolic expression"),
    "an attribute in an expression": (symbol("Symbol('s0').__class__"), "symbolic expression"),
    "a text in an expression": (symbol("S('1')"), "symbolic expression"),
    "a call by attribute": (target("torch.os.system"), "torch.os.system, which is not an operator"),
    "a library": (target("torch.ops.load_library"), "which is not an operator"),
    "a call of a call": (target("_operator.call"), "which is not an operator"),
    "an enum": (signature(arguments([], context=ENUM)), "imports a module"),
    "a factory": (
        signature(arguments([], kind="collections.defaultdict", context=json.dumps(FACTORY))),
        "imports a module",
    ),
    "a keyword": (signature(arguments(["a=exit()"])), "name of a keyword argument"),
    "a name": (
        lambda graph: graph["graph"]["inputs"][0]["as_tensor"].update(name="a=print(1)"),
        "invalid name in its graph",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DOCTORED)
def test_a_graph_that_could_act_is_refused(what, pt2):
    change, reason = DOCTORED[what]
    made.rewritten(pt2, {"models/model.json": json.dumps(program(pt2, change)).encode()})
    with pytest.raises(RequestError, match="can run code") as caught:
        check_exported(pt2, trusted=False)
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "text",
    ["Symbol('s77', positive=True, integer=True)", "s0 + 1", "2*s0//3", "Max(1, FloorDiv(s0, 2))",
     "floor(s0/2)", "Ne(s0, 1) & (s1 > 2)", "-1.5"],
)  # fmt: skip
def test_arithmetic_on_symbols_is_harmless(text):
    assert screened(schema.SymExpr, {"expr_str": text}) == ({"expr_str": text}, [])


@pytest.mark.parametrize(
    "text",
    ["torch.ops.aten.add.Tensor", "torch.ops.aten.__and__.Tensor", "torch.ops.higher_order.cond",
     "_operator.getitem", "_operator.mul", "math.trunc", "torch.sym_max", "torch._sym_sqrt",
     "torch.ops.mine.clip.default"],
)  # fmt: skip
def test_operators_are_harmless(text):
    assert screened(schema.Node, {"target": text}) == ({"target": text}, [])


def test_a_damaged_pt2_is_no_matter_of_trust(pt2):
    made.rewritten(pt2, {"models/model.json": b"{"})
    with pytest.raises(ModelError, match="cannot read"):
        check_exported(pt2, trusted=False)


# A package, a pickled module, weights


@pytest.mark.parametrize("kind", ["package", "pickled", "legacy"])
def test_what_runs_code_when_opened_needs_trust(kind, tmp_path):
    mark, path = tmp_path / "acted", tmp_path / "m.pt"
    model = nn.Linear(4, 3)
    model.extra = made.Acts(mark)
    if kind == "package":
        made.package(path, {"model/model.pkl": model})
    else:
        torch.save(model, path, _use_new_zipfile_serialization=kind == "pickled")
    named = parse_source(str(path))
    with pytest.raises(RequestError, match="when it is opened") as caught:
        check_opening(named, ModelSpec(str(path)))
    assert caught.value.hint == "pass `--trust` if you trust the origin of the file"
    with pytest.raises(RequestError, match="when it is opened"):
        opened(path)  # and the engine itself holds to it
    assert not mark.exists()
    opened(path, trust=True)
    assert mark.exists()


def test_weights_that_could_act_are_refused_trusted_or_not(tmp_path):
    mark, path = tmp_path / "acted", tmp_path / "w.pt"
    source = tmp_path / "net.py"
    source.write_text(HEAD + "class Net(nn.Linear):\n    def __init__(self):\n"
                      "        super().__init__(4, 3)\n")  # fmt: skip
    torch.save({**nn.Linear(4, 3).state_dict(), "extra": made.Acts(mark)}, path)
    with pytest.raises(RequestError, match="could run code"):
        attempt(source, "2x4", weights=str(path))
    assert not mark.exists()


def test_telling_kinds_apart_needs_no_torch(tmp_path):
    torch.save(nn.Linear(4, 3), tmp_path / "m.pt")
    code = (
        "import sys; from hookcli.models.sources.parse import parse_source; "
        "print(parse_source('m.pt').kind); assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("pickled\n", 0), done.stderr


def test_a_module_in_a_buffer_is_told_like_one_in_a_file():
    from hookcli.models.sources.pickle_scan import read_pickle

    buffer = io.BytesIO()
    torch.save(nn.Linear(4, 3), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    values = [read_pickle(buffer) for _ in range(4)]
    assert values[3].is_module
    assert values[3].name == "torch.nn.modules.linear.Linear"
