"""What can act when it is opened does not get to, unless it is trusted; what cannot is opened."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import time
import warnings
import zipfile

import pytest
import torch
from torch import nn
from torch._export.serde import schema

from hookcli.engine.attempt import Session
from hookcli.errors import ModelError, RequestError
from hookcli.models.exported import archive
from hookcli.models.exported.screening import trust
from hookcli.models.exported.screening.graph_scan import screened
from hookcli.models.exported.screening.trust import check_exported, safe_to_open
from hookcli.models.sources.parse import check_opening, parse_source
from hookcli.spec.request import Attempt, ModelSpec, Spec
from tests.conftest import HEAD, ROOT, attempt
from tests.models import made
from tests.models.test_screening import LONG_TO_COMPUTE

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


def test_an_expression_that_takes_long_to_compute_is_refused_at_once(pt2):
    original = made.member(pt2, "models/model.json").decode()
    first = re.search(r'"expr_str": "([^"]*)"', original)[0]
    for text in LONG_TO_COMPUTE:
        changed = original.replace(first, f'"expr_str": {json.dumps(text)}')
        assert changed != original
        made.rewritten(pt2, {"models/model.json": changed.encode()})
        start = time.process_time()
        with pytest.raises(RequestError, match="can run code") as caught:
            check_exported(pt2, trusted=False)
        assert time.process_time() - start < 2
        assert len(caught.value.message) < 500


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


def test_a_pt2_that_cannot_be_read_says_why(pt2, tmp_path):
    with pytest.raises(ModelError, match=r"cannot read gone\.pt2: .*No such file"):
        check_exported(tmp_path / "gone.pt2", trusted=False)
    made.rewritten(pt2, {"models/model.json": b"[]"})
    with pytest.raises(ModelError, match=r"models/model\.json is not a JSON object"):
        check_exported(pt2, trusted=False)


def test_a_pt2_that_expands_without_end_is_not_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "large.pt2", "w") as large:
        large.writestr("m/archive_format", b"\3\0")
        info = large.getinfo("m/archive_format")
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, 1 << 33
    with pytest.raises(ModelError, match="expand"):
        check_exported(tmp_path / "large.pt2", trusted=False)


def test_of_a_program_in_another_format_only_the_versions_are_read(pt2):
    told = json.loads(made.member(pt2, "models/model.json"))
    for versions in ({"torch_version": "9.9"}, {}):
        told = {"schema_version": {"major": 99, "minor": 1}, "graph_module": {}, **versions}
        made.rewritten(pt2, {"models/model.json": json.dumps(told).encode()})
        with safe_to_open(pt2, trusted=False) as file, zipfile.ZipFile(file) as opened_:
            seen = json.loads(opened_.read("archive/models/model.json"))
        assert seen == {"schema_version": {"major": 99, "minor": 1}, **versions}


WEIGHTS = "data/weights/model_weights_config.json"


def listed(pt2, path_name, data=None):
    """Name a member for each weight in the list of weights, and add it."""
    told = json.loads(made.member(pt2, WEIGHTS))
    for entry in told["config"].values():
        del entry["use_pickle"]
        entry["path_name"] = path_name
    add = {} if data is None else {f"data/weights/{path_name}": data}
    made.rewritten(pt2, {WEIGHTS: json.dumps(told).encode()}, add)


def test_a_listed_member_is_a_pickle_if_the_list_does_not_say(pt2, tmp_path):
    acting = made.saved({"w": made.Acts(tmp_path / "acted")})
    listed(pt2, "other", acting)
    with pytest.raises(
        RequestError, match=r"code: data/weights/other contains more than tensors \("
    ):
        check_exported(pt2, trusted=False)
    assert not (tmp_path / "acted").exists()


def test_a_pickle_of_tensors_may_be_listed_twice_and_an_empty_member_is_none(pt2):
    listed(pt2, "other", made.saved(torch.ones(3, 4)))
    check_exported(pt2, trusted=False)
    made.rewritten(pt2, {}, {"data/sample_inputs/empty.pt": b""})
    check_exported(pt2, trusted=False)


@pytest.mark.parametrize("path", ["../../x", "/x", "a/b"])
def test_a_list_that_leaves_its_folder_is_refused(path, pt2):
    listed(pt2, path)
    with pytest.raises(RequestError, match="can run code"):
        check_exported(pt2, trusted=False)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Weights only load failed.\nWeightsUnpickler error: \n Unsupported class a.b. Please x",
         "Unsupported class a.b"),
        ("\n \n first line.\nsecond", "first line"), ("", "ValueError"), (" . ", "ValueError"),
    ],
)  # fmt: skip
def test_the_reason_is_torch_s_without_its_advice(message, reason):
    assert trust._first(ValueError(message)) == reason


def test_torch_is_silent_while_it_opens_a_program(capfd):
    before = logging.root.manager.disable
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with archive._silent():
            logging.getLogger("torch.export").critical("not told")
            warnings.warn("not told", stacklevel=1)
            assert logging.root.manager.disable == logging.CRITICAL
    assert told == []
    assert logging.root.manager.disable == before
    assert "not told" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("wrap_with_autocast_1 is missing val", "cannot load a program with an autocast region"),
        ("failed to resolve torch.ops.mine.clip.default to an operator",
         "the model calls the operator mine::clip, which is not registered"),
        ("anything else", "cannot load the exported program (written by torch "),
    ],
)  # fmt: skip
def test_why_torch_refuses_a_program_is_told(error, message, pt2, monkeypatch):
    def fail(file, *, legacy):
        raise RuntimeError(error)

    monkeypatch.setattr(archive, "_deserialized", fail)
    with pytest.raises(ModelError) as caught, pt2.open("rb") as file:
        archive.open_program(file, "m.pt2")
    assert message in caught.value.message
    assert caught.value.place == "m.pt2"


def test_containers_that_are_not_known_are_registered_up_to_a_hundred(pt2, monkeypatch):
    registered = []

    def unknown(file, *, legacy):
        raise RuntimeError(f"Deserializing a.B{len(registered)} in pytree is not registered")

    monkeypatch.setattr(archive, "_register", registered.append)
    monkeypatch.setattr(archive, "_deserialized", unknown)
    with pytest.raises(ModelError, match="too many container types"), pt2.open("rb") as file:
        archive.open_program(file, "m.pt2")
    assert registered == [f"a.B{number}" for number in range(100)]


def test_errors_of_hookcli_pass_and_junk_is_damaged(pt2, monkeypatch):
    with pytest.raises(ModelError, match=r"^cannot load the exported program: BadZipFile"):
        archive.open_program(io.BytesIO(b"junk"), "m.pt2")

    def refuse(file, *, legacy):
        raise RequestError("own", place="", hint="")

    monkeypatch.setattr(archive, "_deserialized", refuse)
    with pytest.raises(RequestError, match=r"^own\b"), pt2.open("rb") as file:
        archive.open_program(file, "m.pt2")


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
