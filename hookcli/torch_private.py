"""Every private name of torch that hookcli uses, with the reason and the versions that have it.

Import a name from this module: `from hookcli.torch_private import FakeTensor`. It is fetched from
torch at that moment, so that this module imports no part of torch that nobody asked for. A name
that an older torch lacks is None there. No other module may import a private name of torch
(`tests/test_torch_private.py`).
"""

from __future__ import annotations

import pkgutil
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from hookcli.catalogue.kinds import CATALOGUE
from hookcli.errors import RequestError
from hookcli.sentences import needs_torch, no_module

OLDEST = "2.6"  # the versions that hookcli was tried with
NEWEST = "2.15"


class Private(NamedTuple):
    """A private name: where it is, as "module:object", why hookcli needs it, and since when.

    `since` is the first version that has it, of those that hookcli supports. `lost` is what
    hookcli cannot do in an older one; "" if it has another way there.
    """

    place: str
    why: str
    since: str = OLDEST
    lost: str = ""


_C = "torch._C:"
_FAKE = "torch._subclasses.fake_tensor:"

NAMES: dict[str, Private] = {
    # autograd's engine
    "current_graph_task_id": Private(
        _C + "_current_graph_task_id", "tells whether backward runs, and one pass from another"
    ),
    "current_autograd_node": Private(
        _C + "_current_autograd_node", "the node that runs, whose hook fires"
    ),
    "will_engine_execute_node": Private(
        _C + "_will_engine_execute_node", "whether a backward pass will reach a node"
    ),
    "next_sequence_nr": Private(
        "torch._C._autograd:_get_sequence_nr", "the nodes that a call creates have the next numbers"
    ),
    "free_weak_ref": Private(
        "torch:UntypedStorage._free_weak_ref",
        "frees a weak reference to a storage, for half the time that torch's class for it takes",
    ),
    "top_saved_tensors_hooks": Private(
        "torch._C._autograd:_top_saved_tensors_default_hooks",
        "names the checkpoint that runs; without it, the Python stack is searched",
        since="2.7",
    ),
    "log_api_usage_once": Private(
        _C + "_log_api_usage_once", "torch.compile calls it first, with its name"
    ),
    "execution_engine": Private(
        "torch.autograd:Variable._execution_engine", "queues callbacks at the end of backward"
    ),
    # torch.compile
    "skip_code": Private(
        "torch._dynamo.eval_frame:skip_code", "a hook that runs outside of compiled code stays so"
    ),
    "current_translator": Private(
        "torch._dynamo.symbolic_convert:InstructionTranslator.current_tx",
        "what Dynamo traces now: the body of an operator may not write",
    ),
    "compile_callbacks": Private(
        "torch._dynamo.callback:callback_handler", "tells that a compilation begins"
    ),
    "CompileContext": Private(
        "torch._guards:CompileContext", "the number of the compilation that runs"
    ),
    "set_creation_meta": Private(
        "torch._C._autograd:_set_creation_meta",
        "lets a script write in place to what an observer of gradients returned",
    ),
    "CreationMeta": Private("torch._C._autograd:CreationMeta", "its argument"),
    # dispatch
    "disable_current_modes": Private(
        "torch.utils._python_dispatch:_disable_current_modes",
        "no mode of the user's sees the operators of an observer",
    ),
    "count_dispatch_modes": Private(
        _C + "_len_torch_dispatch_stack", "leaving the modes takes 30 µs, and mostly there are none"
    ),
    "TorchDispatchMode": Private(
        "torch.utils._python_dispatch:TorchDispatchMode", "sees every operator, below autograd"
    ),
    "is_traceable_wrapper_subclass": Private(
        "torch.utils._python_dispatch:is_traceable_wrapper_subclass",
        "a tensor subclass whose memory is that of the tensors that it wraps",
    ),
    "DispatchKey": Private(_C + "DispatchKey", "the layers that statistics bypass"),
    "DispatchKeySet": Private(_C + "DispatchKeySet", "the layers that statistics bypass"),
    "ExcludeDispatchKeyGuard": Private(
        _C + "_ExcludeDispatchKeyGuard", "bypasses these layers, for half the time of no_grad"
    ),
    "DisableTorchFunction": Private(
        _C + "DisableTorchFunction", "statistics of a tensor subclass call none of its code"
    ),
    "DisableTorchFunctionSubclass": Private(
        _C + "DisableTorchFunctionSubclass", "compares tensors without the code of subclasses"
    ),
    "get_tracing_state": Private(
        _C + "_get_tracing_state", "a trace would record an observer's operators as the model's"
    ),
    "is_functorch_wrapped_tensor": Private(
        "torch._C._functorch:is_functorch_wrapped_tensor",
        "a tensor inside torch.func.vmap or grad has no values to read",
    ),
    "peek_interpreter_stack": Private(
        "torch._C._functorch:peek_interpreter_stack", "whether a call runs inside a transform"
    ),
    "WorkersIterator": Private(
        "torch.utils.data.dataloader:_MultiProcessingDataLoaderIter",
        "a DataLoader with worker processes, which must end after the first batch",
    ),
    "shut_down_workers": Private(
        "torch.utils.data.dataloader:_MultiProcessingDataLoaderIter._shutdown_workers",
        "ends them also if the loader keeps its iterator",
    ),
    "foreach_norm": Private(
        "torch:_foreach_norm", "the norms of all gradients in one call, as in clip_grad_norm_"
    ),
    "unsafe_view": Private(
        "torch:ops.aten._unsafe_view", "shares memory, and is no view for autograd and AOTAutograd"
    ),
    "foreach_zero_": Private("torch:_foreach_zero_", "clears figures of all layers in one call"),
    "foreach_sub_": Private("torch:_foreach_sub_", "the changes of all parameters in one call"),
    "mkldnn": Private("torch:_mkldnn", "the layout that torch names in no other place"),
    "OpOverload": Private("torch._ops:OpOverload", "tells operators from Python functions"),
    "HigherOrderOperator": Private(
        "torch._ops:HigherOrderOperator", "operators that call functions, as torch.cond"
    ),
    "Future": Private(_C + "Future", "torch.distributed returns it, not torch.futures.Future"),
    # fake tensors
    "FakeTensor": Private(_FAKE + "FakeTensor", "tells fake tensors from real ones"),
    "FakeTensorMode": Private(_FAKE + "FakeTensorMode", "runs a model without its values"),
    "DataDependentOutputException": Private(
        _FAKE + "DataDependentOutputException", "the model reads a value, such as item()"
    ),
    "DynamicOutputShapeException": Private(
        _FAKE + "DynamicOutputShapeException", "a shape depends on values, as of nonzero()"
    ),
    "UnsupportedFakeTensorException": Private(
        _FAKE + "UnsupportedFakeTensorException", "a tensor that has no fake counterpart"
    ),
    "UnsupportedOperatorException": Private(
        _FAKE + "UnsupportedOperatorException", "an operator that does not support fake tensors"
    ),
    # modules
    "ConvNd": Private("torch.nn.modules.conv:_ConvNd", "all convolutions, lazy ones included"),
    "NormBase": Private("torch.nn.modules.batchnorm:_NormBase", "all batch and instance norms"),
    "BatchNormBase": Private("torch.nn.modules.batchnorm:_BatchNorm", "all batch norms"),
    "LossBase": Private("torch.nn.modules.loss:_Loss", "all loss functions that are modules"),
    "DropoutBase": Private("torch.nn.modules.dropout:_DropoutNd", "all dropout layers"),
    "WrappedHook": Private(
        "torch.nn.modules.module:_WrappedHook", "the function inside a hook that torch wrapped"
    ),
    "OptimizedModule": Private("torch._dynamo:OptimizedModule", "the result of torch.compile"),
    "dynamo_utils": Private(
        "torch._dynamo.utils:", "graph breaks, recompilations and their guards, as torch lists them"
    ),
    "inductor_config": Private(
        "torch._inductor.config:", "lets compiled code draw the random numbers of eager code"
    ),
    # TorchScript
    "TupleType": Private(_C + "TupleType", "the type of the values that a tap of a graph reports"),
    "IntType": Private(_C + "IntType", "the type of the numbers of calls in a graph"),
    "jit_pass_lint": Private(_C + "_jit_pass_lint", "checks a graph after taps were put into it"),
    "PyTorchFileReader": Private(
        _C + "PyTorchFileReader", "says that a file is of a newer torch, before it is loaded"
    ),
    # exported programs
    "pytree": Private("torch.utils._pytree:", "the containers of a program's inputs and outputs"),
    "set_grad_enabled": Private(
        _C + "_set_grad_enabled", "marks where gradients are turned on and off"
    ),
    "enter_autocast": Private("torch.amp:_enter_autocast", "marks where autocast begins"),
    "exit_autocast": Private("torch.amp:_exit_autocast", "marks where autocast ends"),
    "export_schema": Private(
        "torch._export.serde.schema:", "the format of a .pt2 file, which nothing else describes"
    ),
    "load_pt2": Private(
        "torch.export.pt2_archive._package:load_pt2",
        "torch.export.load hides why it fails; an older torch cannot rebuild all layers either",
        since="2.8",
        lost="a .pt2 file",
    ),
    # other
    "get_default_store": Private(
        "torch.distributed.distributed_c10d:_get_default_store",
        "carries the reports of ranks that torchrun started",
    ),
    "demangle": Private("torch.package._mangling:demangle", "the name of a module in an archive"),
    "is_mangled": Private("torch.package._mangling:is_mangled", "whether an archive has a module"),
    "package_imported_modules": Private(
        "torch.package.package_importer:_package_imported_modules", "the archive of a module"
    ),
}  # fmt: skip

# Attributes of torch's objects. They are read where they are needed, as a function around each
# would cost time in every call of a layer.
_MODULE = "torch.nn.Module"
_FSDP = "torch.distributed.fsdp"
_SCRIPT = "torch.jit.ScriptModule"
_C_MODULE = "torch.jit.ScriptModule._c"
_JAGGED = "torch.nested.nested_tensor(layout=torch.jagged)"

ATTRIBUTES: dict[str, Private] = {
    "_is_view": Private("torch.Tensor", "writes in place to a view reach what it is a view of"),
    "_parameters": Private(_MODULE, "parameters() omits the second name of a shared one"),
    "_buffers": Private(_MODULE, "buffers() omits the second name of a shared one"),
    "_modules": Private(_MODULE, "modules() omits the second name of a shared one"),
    "_non_persistent_buffers_set": Private(_MODULE, "buffers that are not in the state dict"),
    "_compiled_call_impl": Private(_MODULE, "undoes module.compile(), for which torch has nothing"),
    "_forward_pre_hooks_with_kwargs": Private(
        _MODULE, "the hooks that get keyword arguments, of those that are added during a call"
    ),
    "_forward_cls": Private(
        "torch.autograd.Function", "the Function of a node, whose class torch makes anew"
    ),
    "_call_impl": Private(_MODULE, "its frames are in tracebacks, with other lines under hooks"),
    "_scale": Private("torch.amp.GradScaler", "as a tensor: get_scale() waits for the GPU"),
    "_is_replica": Private(
        "torch.nn.parallel.replicate()", "a copy that DataParallel made for one forward"
    ),
    "_is_flat_param": Private(_FSDP, "FSDP1's parameter of several modules"),
    "_fsdp_flattened": Private(_FSDP, "FSDP1's parameter of several modules"),
    "_handle": Private(_FSDP, "the flat parameter of a module, and how it is split"),
    "_device_mesh": Private(_FSDP, "the mesh in which it is split"),
    "_inter_node_pg": Private(_FSDP, "the ranks that have copies of it, with HYBRID_SHARD"),
    "_params": Private(_FSDP, "the parameters of a flat one, with use_orig_params=True"),
    "_shapes": Private(_FSDP, "their whole shapes"),
    "_shard_param_infos": Private(_FSDP, "the elements of each that this rank has"),
    "_fqns": Private(_FSDP, "the names of the parameters that a flat one consists of"),
    "_sharded_size": Private(_FSDP, "the size of the slice of a flat parameter"),
    "_softmax": Private("torch.ops.aten", "the operator of torch.softmax"),
    "_log_softmax": Private("torch.ops.aten", "the operator of torch.log_softmax"),
    "_forward_pre_hooks": Private(_MODULE, "the hooks that change a batch before the model"),
    "_is_full_backward_hook": Private(_MODULE, "is restored: torch does not when hooks go"),
    "_global_is_full_backward_hook": Private(
        "torch.nn.modules.module", "is restored: torch does not when hooks go"
    ),
    "_global_*": Private("torch.nn.modules.module", "the hooks of all modules are restored"),
    "_global_forward_hooks_with_kwargs": Private(
        "torch.nn.modules.module", "an entry that torch forgets when a global hook is removed"
    ),
    "_sequence_nr": Private("torch.autograd.graph.Node", "orders nodes as they were created"),
    "_input_metadata": Private("torch.autograd.graph.Node", "the shape of what a node computed"),
    "_raw_saved_*": Private("torch.autograd.graph.Node", "the bytes that backward will read"),
    "_saved_*": Private("torch.autograd.graph.Node", "the settings of an activation function"),
    "_backward_hooks": Private("torch.Tensor", "the hooks on a tensor when a model is loaded"),
    "_post_accumulate_grad_hooks": Private(
        "torch.Tensor", "the hooks on a parameter when a model is loaded"
    ),
    "_iterator": Private(
        "torch.utils.data.DataLoader", "a copy of a loader must not use the loader's own workers"
    ),
    "_base": Private("torch.Tensor", "an index through a view is checked in the tensor itself"),
    "_version": Private("torch.Tensor", "counts writes, to notice them without a comparison"),
    "_indices": Private("torch.sparse_coo_tensor", "indices() requires a coalesced tensor"),
    "_values": Private("torch.sparse_coo_tensor", "values() requires a coalesced tensor"),
    "_is_zerotensor": Private("torch.Tensor", "a tensor of zeros without memory"),
    "_local_tensor": Private("torch.distributed.tensor.DTensor", "parameters that are sharded"),
    "_offsets": Private(_JAGGED, "where dispatch is bypassed, methods do not work"),
    "_lengths": Private(_JAGGED, "where dispatch is bypassed, methods do not work"),
    "_ragged_idx": Private(_JAGGED, "where dispatch is bypassed, methods do not work"),
    "_cdata": Private("torch.UntypedStorage", "identifies the memory that tensors share"),
    "_weak_ref": Private(
        "torch.UntypedStorage",
        "keeps the address of a storage from being used again",
    ),
    "_fix_weakref": Private("torch.Tensor", "a tensor that a weak reference kept is used again"),
    "_is_param": Private("torch.nn.Parameter(FakeTensor)", "makes a fake tensor a parameter"),
    "_metadata": Private("torch.nn.Module.state_dict()", "a copied state dict keeps its versions"),
    "_c": Private(_SCRIPT, "the module that TorchScript runs; the graph of a method"),
    "_get_method": Private(_C_MODULE, "the graph of a method"),
    "_has_method": Private(_C_MODULE, "whether a module has a forward"),
    "_get_forward_pre_hooks": Private(_C_MODULE, "the scripted hooks that run before its forward"),
    "_get_forward_hooks": Private(_C_MODULE, "the scripted hooks that run after its forward"),
    "_forward_hooks": Private(_SCRIPT, "the scripted hooks of the root, which Python calls"),
    "_method_names": Private(_C_MODULE, "the methods that an archive has"),
    "_type": Private(_C_MODULE, "the name and the attributes of a scripted class"),
    "_python_modules": Private(
        "torch.jit.ScriptModule._modules", "modules that Python has already wrapped"
    ),
    "_schema": Private("torch._ops.OpOverload", "the names of an operator's arguments"),
    "_ty": Private("torch.export.unflatten.InterpreterModule", "the class of a layer", since="2.8"),
    "_call_modules": Private(
        "torch.export.unflatten.InterpreterModuleDispatcher", "the graphs of a layer's calls"
    ),
}

# What depends on more than one name: its figures are not right with an older torch.
MEMORY = "the memory of layers"
FEATURES = {MEMORY: "2.10"}

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch._C import (
        DisableTorchFunction as DisableTorchFunction,
        DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
        DispatchKey as DispatchKey,
        DispatchKeySet as DispatchKeySet,
        Future as Future,
        IntType as IntType,
        TupleType as TupleType,
        _ExcludeDispatchKeyGuard,
    )
    from torch._dynamo import OptimizedModule as OptimizedModule
    from torch._export.serde import schema
    from torch._ops import HigherOrderOperator as HigherOrderOperator, OpOverload as OpOverload
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException as DataDependentOutputException,
        DynamicOutputShapeException as DynamicOutputShapeException,
        FakeTensor as FakeTensor,
        FakeTensorMode as FakeTensorMode,
        UnsupportedFakeTensorException as UnsupportedFakeTensorException,
        UnsupportedOperatorException as UnsupportedOperatorException,
    )
    from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
    from torch.nn.modules.conv import _ConvNd
    from torch.nn.modules.dropout import _DropoutNd
    from torch.nn.modules.loss import _Loss
    from torch.utils import _pytree
    from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode

    ExcludeDispatchKeyGuard = _ExcludeDispatchKeyGuard
    NormBase = _NormBase
    BatchNormBase = _BatchNorm
    DropoutBase = _DropoutNd
    LossBase = _Loss
    ConvNd = _ConvNd
    pytree = _pytree
    export_schema = schema
    current_graph_task_id: Callable[[], int]  # -1 outside of backward
    current_autograd_node: Callable[[], Any]
    will_engine_execute_node: Callable[[Any], bool]
    next_sequence_nr: Callable[[], int]
    top_saved_tensors_hooks: Callable[[bool], tuple[Any, Any] | None] | None
    execution_engine: Any
    foreach_norm: Callable[..., Any]
    foreach_sub_: Callable[..., Any]
    foreach_zero_: Callable[..., Any]
    unsafe_view: Callable[..., Any]
    free_weak_ref: Callable[[int], None]
    disable_current_modes: Callable[[], Any]
    count_dispatch_modes: Callable[[], int]
    get_tracing_state: Callable[[], Any]
    is_traceable_wrapper_subclass: Callable[[Any], bool]
    WrappedHook: Any
    WorkersIterator: type
    shut_down_workers: Callable[[Any], None]
    is_functorch_wrapped_tensor: Callable[[Any], bool]
    log_api_usage_once: Callable[[str], None]
    skip_code: Callable[[Any], None]
    current_translator: Callable[[], Any]
    CompileContext: Any
    compile_callbacks: Any
    set_creation_meta: Callable[[Any, Any], None]
    CreationMeta: Any
    peek_interpreter_stack: Callable[[], Any]
    mkldnn: Any
    jit_pass_lint: Callable[[Any], None]
    dynamo_utils: Any
    inductor_config: Any
    PyTorchFileReader: Callable[[str], Any]
    set_grad_enabled: Any
    enter_autocast: Any
    exit_autocast: Any
    load_pt2: Callable[[Any], Any] | None
    get_default_store: Callable[[], Any]
    demangle: Callable[[str], str]
    is_mangled: Callable[[str], bool]
    package_imported_modules: Any
else:

    def __getattr__(name: str) -> Any:
        if name not in NAMES:
            raise AttributeError(f"module {__name__} has no attribute {name!r}")
        value = globals()[name] = _fetched(NAMES[name])
        return value


def check_torch() -> None:
    """Check that this process can use its torch; the first thing to do in a process that runs.

    Raises
    ------
    RequestError : there is no torch, or it is older than `OLDEST`.

    """
    try:
        found = _version()
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise RequestError(
            no_module("torch"),
            place=sys.executable,
            hint=f"install torch {OLDEST} or newer for this Python",
        ) from None
    if as_numbers(found) < as_numbers(OLDEST):
        raise RequestError(
            needs_torch("hookcli", OLDEST, found),
            place=sys.executable,
            hint=f"install torch {OLDEST} or newer for this Python",
        )


def check_feature(name: str, place: str) -> None:
    """Check that this torch has one of `FEATURES`, before anything of the user's runs.

    Raises
    ------
    RequestError : it is older.

    """
    since, found = FEATURES[name], _version()
    if as_numbers(found) < as_numbers(since):
        raise RequestError(
            needs_torch(name, since, found),
            place=place,
            hint=f"remove `{place}`, or install a newer torch",
        )


def unavailable(version: str) -> dict[str, str]:
    """Return what hookcli cannot do with this version of torch: the version since which it can."""
    features = {f"kind {kind.name}": kind.since for kind in CATALOGUE.values()}
    features |= {private.lost: private.since for private in NAMES.values() if private.lost}
    features |= FEATURES
    here = as_numbers(version)
    return {what: since for what, since in features.items() if here < as_numbers(since)}


def as_numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version: (2, 13) of "2.13.0+cpu"."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _version() -> str:
    import torch

    return str(torch.__version__)


def _fetched(private: Private) -> Any:
    """Return what a name means in this torch; None if this torch is too old to have it."""
    try:
        return pkgutil.resolve_name(private.place)
    except (AttributeError, ImportError):
        if as_numbers(_version()) < as_numbers(private.since):
            return None
        raise RequestError(
            f"torch {_version()} has no {private.place.replace(':', '.').rstrip('.')}",
            place=sys.executable,
            hint=f"install a torch from {OLDEST} to {NEWEST}, which hookcli was tried with",
        ) from None


def set_api_usage(function: Any) -> None:
    """Replace the function to which PyTorch tells the names of APIs that are used."""
    import torch

    torch._C._log_api_usage_once = function
