"""`libraries`: compiled operators as hook functions, and the ways in which loading one fails."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from hookcli.errors import RequestError
from hookcli.models.python.libraries import load_libraries
from tests.conftest import run_cli

SOURCE = """
#include <cstdio>
#include <ATen/core/Tensor.h>
#include <torch/library.h>

at::Tensor clip(const at::Tensor& grad) { return grad.clamp(-0.5, 0.5); }

void seen(const at::Tensor& value) {
  std::printf("seen %ld values\\n", static_cast<long>(value.numel()));
  std::fflush(stdout);
}

#ifdef MORE
at::Tensor twice(const at::Tensor& x) { return x.mul(2); }

TORCH_LIBRARY_FRAGMENT(hookcli_test, m) { m.def("twice(Tensor x) -> Tensor", &twice); }
#else
TORCH_LIBRARY(hookcli_test, m) {
  m.def("clip(Tensor grad) -> Tensor", &clip);
  m.def("seen(Tensor value) -> ()", &seen);
}
#endif
"""
MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    example_inputs = (torch.tensor([[3.0, 4.0]]),)

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3, bias=False)
        nn.init.ones_(self.fc.weight)

    def forward(self, x):
        return self.fc(x), x.sum()
"""


def compiled(folder, name, *flags):
    """A shared library of operators, made as a user makes one."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++ here to compile an operator with")
    home = Path(torch.__path__[0])
    source, library = folder / f"{name}.cpp", folder / f"lib{name}.so"
    source.write_text(SOURCE)
    include = home / "include"
    done = subprocess.run(
        [
            compiler, "-shared", "-fPIC", "-std=c++20", "-O0", *flags, source, "-o", library,
            f"-I{include}", f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
            f"-L{home / 'lib'}", "-ltorch_cpu", "-lc10",
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with libmine.so, libsame.so of the same namespace, and libmore.so, a fragment."""
    folder = tmp_path_factory.mktemp("libraries")
    libraries = compiled_once(tmp_path_factory)
    for name, source in (("mine", "mine"), ("same", "mine"), ("more", "more")):
        shutil.copy(libraries / f"lib{source}.so", folder / f"lib{name}.so")
    (folder / "model.py").write_text(MODEL)
    return folder


def compiled_once(tmp_path_factory):
    """The folder of the libraries, which the test processes of one session share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            folder.mkdir(exist_ok=True)
            compiled(folder, "mine")
            compiled(folder, "more", "-DMORE")
            (folder / "complete").touch()
    return folder


def traced(folder, libraries, hooks):
    (folder / "hooks.yaml").write_text(
        f"model: model.py\nlibraries: {libraries}\nrun: {{loss: 'output:[0]'}}\nhooks:\n{hooks}"
    )
    return run_cli("trace", "-c", "hooks.yaml", "-f", "json", cwd=folder)


@pytest.mark.slow  # compiles
def test_a_compiled_operator_clips_a_gradient(built):
    hook = "  - {kind: tensor, at: fc.weight, do: [{call: torch.ops.hookcli_test.clip}, stats]}\n"
    (event,) = traced(built, "[libmine.so]", hook).report["events"]
    stats = event["values"][0]["stats"]
    assert (stats["min"], stats["max"]) == (0.5, 0.5)  # the gradient was 3 and 4 in each row
    assert event["changed"] == pytest.approx((3 * (2.5**2 + 3.5**2)) ** 0.5)


@pytest.mark.slow
def test_a_compiled_operator_sees_every_tensor_that_a_module_gives(built):
    hook = "  - {kind: forward, at: '', do: {call: torch.ops.hookcli_test.seen}}\n"
    result = traced(built, "[libmine.so]", hook)
    assert "seen 3 values\nseen 1 values\n" in result.err
    assert [event["changed"] for event in result.report["events"]] == [0.0]


@pytest.mark.slow
def test_a_compiled_operator_changes_the_gradients_of_a_node(built):
    do = "[{call: torch.ops.hookcli_test.clip}, stats]"
    hook = f"  - {{kind: node, at: {{node: MmBackward0}}, do: {do}}}\n"
    (event,) = traced(built, "[libmine.so]", hook).report["events"]
    assert [leaf["stats"]["max"] for leaf in event["values"]] == [0.5]


@pytest.mark.slow
def test_two_libraries_of_one_namespace_are_refused_with_the_way_out(built):
    hook = "  - {kind: forward, at: fc}\n"
    result = traced(built, "[libmine.so, libsame.so]", hook)
    message, place, hint = result.error()
    assert result.status == 2
    assert "libsame.so defines the operator namespace hookcli_test" in message
    assert "torch would end the process" in message
    assert place == "libraries"
    assert hint == "write `TORCH_LIBRARY_FRAGMENT(hookcli_test, m)` in all but one of them"


@pytest.mark.slow
def test_a_fragment_stands_beside_its_library_and_either_may_be_named_twice(built):
    hook = "  - {kind: forward, at: fc, do: [{call: torch.ops.hookcli_test.twice}, stats]}\n"
    result = traced(built, "[libmine.so, libmore.so, ./libmine.so, libmore.so]", hook)
    (event,) = result.report["events"]
    assert event["values"][0]["stats"]["max"] == 14


@pytest.mark.slow
def test_an_operator_that_the_library_lacks_is_refused(built):
    hook = "  - {kind: forward, at: fc, do: {call: torch.ops.hookcli_test.nothing}}\n"
    message, place, _ = traced(built, "[libmine.so]", hook).error()
    assert message == "unknown operator 'hookcli_test::nothing'"
    assert "hooks.yaml:5: hooks[0]" in place


def test_a_library_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RequestError, match=r"file not found: .*libnone\.so") as found:
        load_libraries((str(tmp_path / "libnone.so"),), "hooks.yaml:2: libraries[0]")
    assert found.value.place == "hooks.yaml:2: libraries[0]"
    with pytest.raises(RequestError, match="is a directory"):
        load_libraries((str(tmp_path),))


@pytest.mark.parametrize("content", [b"", b"no library\n", b"\x7fELF" + bytes(60)])
def test_what_is_no_library_is_refused_with_the_loaders_reason(tmp_path, content):
    path = tmp_path / "libno.so"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=r"cannot load .*libno\.so: .+") as found:
        load_libraries((str(path),))
    assert "Could not load this library" not in found.value.message
    assert str(path.resolve()) not in torch.ops.loaded_libraries


def test_no_libraries_are_no_trouble():
    load_libraries(())
