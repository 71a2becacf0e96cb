"""Every public name of the installed torch that registers a hook is a kind, or has a reason here.

So a new version of torch cannot add a hook that the catalogue does not know of.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from hookcli.catalogue.kinds import CATALOGUE

# In a process of its own: it imports more of torch than the tests should see.
WALK = r"""
import importlib, inspect, re, sys, warnings

warnings.simplefilter("ignore")
for name in (
    "autograd.graph", "cuda.graphs", "distributed", "distributed.fsdp", "distributed.optim",
    "distributed.pipelining", "distributed.tensor.parallel", "export", "fx", "nn.parallel",
    "nn.utils", "optim", "package", "profiler", "utils.checkpoint", "utils.data", "utils.hooks",
):
    try:
        importlib.import_module(f"torch.{name}")
    except ImportError:  # of another version, or built without it
        pass
hook = re.compile(r"register_\w*(hook|callback)|register_prehook|add_\w*hook|set_\w*hook"
                  r"|saved_tensors_hooks|queue_callback")
found = set()
for path, module in sorted(sys.modules.items()):
    parts = path.split(".")
    if parts[0] != "torch" or any(part.startswith("_") for part in parts):
        continue
    for name, value in list(vars(module).items()):
        if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith("torch"):
            continue
        if inspect.isclass(value):
            for method in dir(value):
                if hook.search(method) and not method.startswith("_"):
                    owner = next(b for b in value.__mro__ if method in vars(b))
                    found.add(f"{owner.__name__}.{method}")
            if hook.search(name):
                found.add(name)
        elif callable(value) and hook.search(name):
            found.add(name)
print(*sorted(found))
"""

SAME = "the hook of kind {} under another class"
NOT_OF_A_RUN = "it is no hook of a model's run: {}"
OTHERS = {
    "ConcreteModuleTypeBuilder.add_forward_hook": NOT_OF_A_RUN.format("TorchScript compiles it"),
    "ConcreteModuleTypeBuilder.add_forward_pre_hook": NOT_OF_A_RUN.format("TorchScript"),
    "ExecutionTraceObserver.register_callback": NOT_OF_A_RUN.format("it starts a profiler's file"),
    "ExecutionTraceObserver.unregister_callback": NOT_OF_A_RUN.format("it ends that file"),
    "FSDPModule.set_all_reduce_hook": "FSDP2 calls it for a mesh with replicas only",
    "FullyShardedDataParallel.register_comm_hook": "FSDP1 is not a wrapper that hookcli makes",
    "IterDataPipe.set_getstate_hook": NOT_OF_A_RUN.format("data is pickled"),
    "IterDataPipe.set_reduce_ex_hook": NOT_OF_A_RUN.format("data is pickled"),
    "MapDataPipe.set_getstate_hook": NOT_OF_A_RUN.format("data is pickled"),
    "MapDataPipe.set_reduce_ex_hook": NOT_OF_A_RUN.format("data is pickled"),
    "Optimizer.register_load_state_dict_post_hook": "no phase loads the state of an optimizer",
    "Optimizer.register_load_state_dict_pre_hook": "no phase loads the state of an optimizer",
    "Optimizer.register_state_dict_post_hook": "no phase writes the state of an optimizer",
    "Optimizer.register_state_dict_pre_hook": "no phase writes the state of an optimizer",
    "SavedTensor.register_hooks": SAME.format("saved_tensors, for one tensor"),
    "_EngineBase.queue_callback": SAME.format("engine_callback"),
    "_FunctionBase.register_hook": SAME.format("node"),
    "_FunctionBase.register_prehook": SAME.format("node_pre"),
    "disable_saved_tensors_hooks": "it forbids hooks of kind saved_tensors",
}
# Classes whose methods are those of another class, under the name of that.
ALIASES = {"RecursiveScriptModule": "Module", "_RemoteModule": "Module"}
TYPED = re.compile(r"^(BFloat16|Bool|Byte|Char|Double|Float|Half|Int|Long|Short)Tensor\.")


def of_kinds() -> set[str]:
    """The names that the catalogue's kinds are registered with: `Module.register_forward_hook`."""
    names = set()
    for kind in CATALOGUE.values():
        *_, owner, name = ("", *kind.registers.partition("(")[0].split("."))
        names.add(f"{owner}.{name}" if owner[:1].isupper() else name)
    return names


@pytest.fixture(scope="module")
def registering() -> set[str]:
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True, check=True)
    names = {TYPED.sub("Tensor.", name) for name in done.stdout.split()}
    return {
        f"{ALIASES.get(owner, owner)}.{method}" if dot else owner
        for owner, dot, method in (name.partition(".") for name in names)
    }


def test_every_name_that_registers_a_hook_is_a_kind_or_has_a_reason(registering):
    assert registering - of_kinds() - OTHERS.keys() == set()


def test_the_walk_finds_the_kinds_and_a_reason_is_not_for_a_kind(registering):
    assert {
        "Module.register_forward_hook", "Tensor.register_hook", "Node.register_prehook",
        "register_module_forward_hook", "register_multi_grad_hook", "saved_tensors_hooks",
        "Optimizer.register_step_pre_hook", "register_optimizer_step_post_hook",
        "PackageExporter.register_mock_hook", "DistributedDataParallel.register_comm_hook",
    } <= registering & of_kinds()  # fmt: skip
    assert OTHERS.keys().isdisjoint(of_kinds())
