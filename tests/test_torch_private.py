"""`hookcli/torch_private.py` lists every private name of torch that hookcli uses, and no other."""

from __future__ import annotations

import ast
import fnmatch
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.tensor import DTensor
from torch.nn.modules import module as torch_module

from hookcli import torch_private
from hookcli.errors import RequestError
from hookcli.torch_private import ATTRIBUTES, NAMES, OLDEST, as_numbers
from tests.conftest import ROOT
from tests.source_code import tree_of

PACKAGE = ROOT / "hookcli"
TABLE = PACKAGE / "torch_private.py"
TORCH = as_numbers(torch.__version__)

# Private attributes of Python's own objects.
OF_OTHERS = {
    "_exit",
    "_getframe",
    "_fields",
    "_replace",
    "_run_exitfuncs",
    "_current_frames",
    "_run_module_as_main",
    "_Unpickler",  # of Python's pickle
    "_from_config",
    "_target",  # of multiprocessing.Process
}  # Python, transformers


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != TABLE:
            yield path, tree_of(path)


def dotted(node) -> str:
    """`a.b.c` of an expression of names; "" of any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return ""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def imported(node) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [dotted(node)] if isinstance(node, ast.Attribute) else []


def own_names(tree) -> set[str]:
    """The private names that hookcli's classes define: methods, fields and slots."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node.value) in {"self", "cls"}:
            if isinstance(node.ctx, ast.Store):
                names.add(node.attr)
    return names


def attributes_read(tree) -> Iterator[str]:
    """Private attributes of other objects than self, also by getattr and setattr."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node.value) not in {"self", "cls"}:
            yield node.attr
        if isinstance(node, ast.Call) and len(node.args) > 1:
            name = node.args[1]
            called = {"getattr", "hasattr", "setattr"} & {dotted(node.func), dotted(node.args[0])}
            if called and isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield name.value


def test_no_other_module_imports_a_private_name_of_torch():
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in sources()
        for node in ast.walk(tree)
        for name in imported(node)
        if name.split(".")[0] in {"torch", "nn", "dist"} and any(map(is_private, name.split(".")))
    ]
    assert found == []


def test_every_private_attribute_that_is_read_is_in_the_table():
    unknown, used = set(), set()
    for path, tree in sources():
        names = {name for name in attributes_read(tree) if is_private(name)}
        constants = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
        used |= names | {f"{text}*" for text in constants if isinstance(text, str)}  # a prefix
        used |= {p for p in ATTRIBUTES if fnmatch.filter(names, p)}
        named = {name for p in ATTRIBUTES for name in fnmatch.filter(names, p)}
        missing = names - named - OF_OTHERS - own_names(tree)
        unknown |= {f"{path.relative_to(ROOT)}: {name}" for name in missing}
    assert unknown == set()
    assert ATTRIBUTES.keys() - used == set()  # nothing in the table is unused


def test_every_name_of_the_table_is_imported_somewhere():
    used = {
        alias.name
        for _, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "hookcli.torch_private"
        for alias in node.names
    }
    assert NAMES.keys() - used == set()


def test_type_checkers_know_the_same_names():
    for node in tree_of(TABLE).body:
        if isinstance(node, ast.If) and dotted(node.test) == "TYPE_CHECKING":
            names = set()
            for statement in node.body:
                if isinstance(statement, ast.ImportFrom):
                    names |= {a.asname for a in statement.names if a.asname}
                elif isinstance(statement, ast.Assign):
                    names |= {dotted(target) for target in statement.targets}
                elif isinstance(statement, ast.AnnAssign):
                    names.add(dotted(statement.target))
    assert names == NAMES.keys()


@pytest.mark.parametrize("name", NAMES)
def test_this_torch_has_a_name_if_the_table_says_so(name):
    if TORCH >= as_numbers(NAMES[name].since):
        assert getattr(torch_private, name) is pkgutil.resolve_name(NAMES[name].place)
    else:
        assert getattr(torch_private, name) is None


def test_an_unknown_name_is_an_error_of_python():
    with pytest.raises(ImportError, match="no_such_name"):
        exec("from hookcli.torch_private import no_such_name")


class _Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(self.fc(x))


def owners() -> dict[str, object]:
    """An object of each kind that the table names."""
    loss = torch.ones(2, requires_grad=True).exp()
    script = torch.jit.script(nn.Linear(2, 2))
    unflattened = torch.export.unflatten(
        torch.export.export(nn.Sequential(nn.Linear(2, 2)), (torch.ones(2),), strict=False)
    )
    return {
        "torch.nn.Module": nn.Linear(2, 2),
        "torch.nn.modules.module": torch_module,
        "torch.nn.Module.state_dict()": nn.Linear(2, 2).state_dict(),
        "torch.autograd.graph.Node": loss.grad_fn,
        "torch.Tensor": torch.ones(2),
        "torch.nn.Parameter(FakeTensor)": nn.Parameter(FakeTensorMode().from_tensor(torch.ones(2))),
        "torch.distributed.tensor.DTensor": DTensor,
        "torch.utils.data.DataLoader": torch.utils.data.DataLoader(torch.ones(2)),
        "torch.autograd.Function": type(_Doubled.apply(torch.ones(1, requires_grad=True)).grad_fn),
        "torch.UntypedStorage": torch.ones(2).untyped_storage(),
        "torch.sparse_coo_tensor": torch.ones(2).to_sparse(),
        "torch.nested.nested_tensor(layout=torch.jagged)": torch.nested.nested_tensor(
            [torch.ones(2), torch.ones(3)], layout=torch.jagged
        ),
        "torch.jit.ScriptModule": script,
        "torch.jit.ScriptModule._c": script._c,
        "torch.jit.ScriptModule._modules": script._modules,
        "torch._ops.OpOverload": torch.ops.aten.add.Tensor,
        "torch.ops.aten": SimpleNamespace(
            _softmax=torch.ops.aten._softmax.default,
            _log_softmax=torch.ops.aten._log_softmax.default,
        ),
        "torch.nn.parallel.replicate()": nn.Linear(2, 2)._replicate_for_data_parallel(),
        "torch.amp.GradScaler": torch.amp.GradScaler("cpu"),
        "torch.distributed.fsdp": SimpleNamespace(**dict.fromkeys(_names_in_fsdp())),
        "torch.export.unflatten.InterpreterModule": unflattened.get_submodule("0"),
        "torch.export.unflatten.InterpreterModuleDispatcher": _dispatcher(),
    }


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


def _names_in_fsdp() -> set[str]:
    """The private attributes that FSDP1 writes: it needs a process group to make one."""
    folder = Path(torch.__file__).parent / "distributed" / "fsdp"
    return {
        name
        for path in folder.glob("*.py")
        for name in re.findall(r"[.\"](_\w+)", path.read_text())
    }


def _dispatcher() -> object:
    layer = _Twice()
    program = torch.export.export(
        layer, (torch.ones(1, 2),), preserve_module_call_signature=("fc",)
    )
    return torch.export.unflatten(program).fc


@pytest.mark.filterwarnings("ignore")
def test_this_torch_has_the_attributes_of_the_table():
    objects = owners()
    here = {name: p for name, p in ATTRIBUTES.items() if TORCH >= as_numbers(p.since)}
    missing = [
        f"{private.place}.{name}"
        for name, private in here.items()
        if not fnmatch.filter(dir(objects[private.place]), name)
    ]
    assert missing == []


@pytest.mark.parametrize("version", ["2.5.1", "2.5.0a0+git1234", "1.13.1+cu117"])
def test_an_older_torch_is_refused_in_three_lines(tmp_path, version):
    """A torch that is a stub: nothing of it may be used before it is refused."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(f"__version__ = {version!r}\n")
    (tmp_path / "net.py").write_text("raise AssertionError('the user's code ran')\n")
    refusal = f"hookcli needs torch {OLDEST} or newer, this is {version}"
    path = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = run_real("inspect", "net.py", cwd=tmp_path, env=path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-3:] == [
        f"error: {refusal}",
        f"  --> {sys.executable}",
        f"hint: run `{sys.executable} -m pip install 'torch>={OLDEST}'`, or pass `--python PATH`",
    ]
    code = "import hookcli\ntry: hookcli.{}\nexcept Exception as error: print(error.message)"
    for call in ("inspect(0, 0)", "attach(0)", "check(0)", "diff(0, 0, 0)"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(call)], env=path, capture_output=True, text=True
        )
        assert done.stdout == f"{refusal}\n", done.stderr


def run_real(*arguments, cwd, env):
    return subprocess.run(
        [sys.executable, "-m", "hookcli", *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
    )


def test_a_python_without_torch_is_refused_in_three_lines(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(RequestError, match="module not found: torch") as caught:
        torch_private.check_torch()
    assert caught.value.place == sys.executable


def test_a_name_that_a_newer_torch_has_no_longer_is_said(monkeypatch):
    monkeypatch.setitem(NAMES, "gone", torch_private.Private("torch._C:_gone", "a test"))
    with pytest.raises(RequestError, match=r"has no torch\._C\._gone"):
        torch_private.gone
