"""The kinds that fire around a module's forward and backward, for one module or for all."""

from __future__ import annotations

from hookcli.catalogue.kind import AtRule, Conflict, InCalls, Kind, Lack, LayerFigures, Moment

_AT = AtRule("module", required=True)
_LACK = Lack(
    "it does not support PyTorch's backward hooks",
    "use `{kind: tensor, at: MODULE:output}` or `{kind: node, at: MODULE:input}`",
)
_FLAT = "torch fires it only if the output is a tensor or a flat tuple of tensors"


def _excludes(kind: str, full: str) -> tuple[Conflict, ...]:
    """Return the conflict of a legacy with a full backward hook; `full` is the one to keep."""
    message = "torch does not allow legacy and full backward hooks together"
    return (Conflict(kind, message, f"use {full} only"),)


_IN_PLACE = (
    "an in-place operation on the module's input or output raises an error, because the hook "
    "makes them views of a custom Function. To observe gradients, use kind tensor, which changes "
    "nothing"
)
_NO_TENSOR = (
    "it never fires if the output is a dict, a list or a dataclass: torch supports a tensor or a "
    "flat tuple only"
)
_KEYWORDS = "tensors that are passed by keyword are not in grad_input"
_BYPASS = "it does not fire if module.forward() is called directly"

_FORWARD_PRE = Kind(
    name="forward_pre",
    family="module",
    target="module",
    fires="before a module's forward. Parents fire before their children",
    phases=("forward",),
    registers="Module.register_forward_pre_hook(hook, prepend=, with_kwargs=)",
    signature="hook(module, args) -> args | None; with_kwargs: hook(module, args, kwargs) -> "
    "(args, kwargs) | None",
    value="the positional arguments as a tuple; with_kwargs: (args, kwargs)",
    returns="replaces the arguments; a value that is not a tuple becomes the only argument",
    replaces=True,
    options=("prepend", "with_kwargs"),
    caveats=(_BYPASS,),
    backends=("python", "package", "torchscript", "exported"),
    example="{kind: forward_pre, at: fc, do: {scale: 0.5}}",
    attach="module:attach_forward_pre",
    registry="_forward_pre_hooks",
    at=_AT,
    calls=InCalls.ALWAYS,
    in_all=2,
    moment=Moment.BEFORE_FORWARD,
    layer=LayerFigures("value", "input"),
    lack=_LACK,
)
_FORWARD = Kind(
    name="forward",
    family="module",
    target="module",
    fires="after a module's forward. Children fire before their parents",
    phases=("forward",),
    registers="Module.register_forward_hook(hook, prepend=, with_kwargs=, always_call=)",
    signature="hook(module, args, output) -> output | None; with_kwargs: hook(module, args, "
    "kwargs, output) -> output | None",
    value="the output, of any structure",
    returns="replaces the output",
    replaces=True,
    options=("prepend", "with_kwargs", "always_call"),
    caveats=(
        _BYPASS,
        "any value except None replaces the output: a hook that returns, for example, the handle "
        "of register_hook breaks the model",
        "with always_call it also fires after an Exception, with output None, but not after "
        "KeyboardInterrupt",
    ),
    backends=("python", "package", "torchscript", "exported"),
    example='{kind: forward, at: "layer*.conv?", do: stats}',
    attach="module:attach_forward",
    registry="_forward_hooks",
    at=_AT,
    calls=InCalls.ALWAYS,
    in_all=3,
    moment=Moment.AFTER_FORWARD,
    layer=LayerFigures("value", "output"),
    lack=_LACK,
)
_FULL_BACKWARD_PRE = Kind(
    name="full_backward_pre",
    family="module",
    target="module",
    fires="before a module's backward. The gradients of its outputs are known then. Parents fire "
    "before their children",
    phases=("backward",),
    registers="Module.register_full_backward_pre_hook(hook, prepend=)",
    signature="hook(module, grad_output) -> grad_output | None",
    value="the gradients of the outputs as a tuple",
    returns="replaces grad_output",
    replaces=True,
    options=("prepend",),
    caveats=(_IN_PLACE, _NO_TENSOR),
    backends=("python", "package", "exported"),
    example="{kind: full_backward_pre, at: fc, do: record}",
    attach="module:attach_backward",
    registry="_backward_pre_hooks",
    at=_AT,
    calls=InCalls.ALWAYS,
    may_break=True,
    wraps_values=True,
    lack=_LACK,
    silence=_FLAT,
)
_FULL_BACKWARD = Kind(
    name="full_backward",
    family="module",
    target="module",
    fires="after a module's backward. The gradients of its inputs are known then and, if an input "
    "requires grad, those of its parameters too. Children fire before their parents",
    phases=("backward",),
    registers="Module.register_full_backward_hook(hook, prepend=)",
    signature="hook(module, grad_input, grad_output) -> grad_input | None",
    value="the gradients of the positional inputs as a tuple: this module's contribution only",
    returns="replaces grad_input",
    replaces=True,
    options=("prepend",),
    caveats=(
        _IN_PLACE,
        _NO_TENSOR,
        _KEYWORDS,
        "if no input requires grad, it fires when the gradients of the outputs are known, and "
        "torch warns",
        "if it is removed between forward and backward, it still fires",
    ),
    backends=("python", "package", "exported"),
    example="{kind: full_backward, at: fc, do: zero}",
    attach="module:attach_backward",
    registry="_backward_hooks",
    full=True,
    at=_AT,
    calls=InCalls.ALWAYS,
    may_break=True,
    in_template=True,
    wraps_values=True,
    conflicts=_excludes("backward", "full_backward"),
    lack=_LACK,
    silence=_FLAT,
)
_BACKWARD = Kind(
    name="backward",
    family="module",
    target="module",
    fires="after a module's last autograd node (legacy). This is the node of the module's output; "
    "use full_backward instead",
    phases=("backward",),
    registers="Module.register_backward_hook(hook)",
    signature="hook(module, grad_input, grad_output) -> grad_input | None",
    value="the gradients of that node's inputs, which are often not the module's inputs",
    returns="replaces that node's grad_input",
    replaces=True,
    caveats=(
        "it gets the wrong gradients if the forward creates several nodes: those of inner tensors "
        "for a Sequential, and none of the input for a Linear with three-dimensional input",
        "it cannot be attached to a module that has a full backward hook",
        "an output that is not a tensor raises an error or makes torch hang: hookcli refuses to "
        "attach it to such a module",
    ),
    backends=("python", "package", "exported"),
    example="{kind: backward, at: fc, do: record}",
    attach="module:attach_legacy_backward",
    registry="_backward_hooks",
    full=False,
    at=_AT,
    calls=InCalls.ALWAYS,
    may_break=True,
    conflicts=_excludes("full_backward", "full_backward"),
    lack=_LACK,
    silence=_FLAT,
)

_PER_MODULE = (_FORWARD_PRE, _FORWARD, _FULL_BACKWARD_PRE, _FULL_BACKWARD, _BACKWARD)
_GLOBAL_SIGNATURES = {
    "forward_pre": "register_module_forward_pre_hook(hook)",
    "forward": "register_module_forward_hook(hook, with_kwargs=, always_call=)",
    "full_backward_pre": "register_module_full_backward_pre_hook(hook)",
    "full_backward": "register_module_full_backward_hook(hook)",
    "backward": "register_module_backward_hook(hook)",
}


def _global(kind: Kind) -> Kind:
    """Return the kind that fires for all modules, made of the one that fires for a module."""
    when, _, more = kind.fires.partition(". ")
    options = {"forward": ("with_kwargs", "always_call")}.get(kind.name, ())
    return Kind(
        name=f"global_{kind.name}",
        family="global module",
        target="every module",
        fires=f"{when}, for every module. Global hooks fire before the module's own. {more}",
        phases=kind.phases,
        registers=f"torch.nn.modules.module.{_GLOBAL_SIGNATURES[kind.name]}",
        signature=kind.signature if options else kind.signature.split("; with_kwargs")[0],
        value=kind.value.split("; with_kwargs")[0],
        returns=kind.returns,
        replaces=kind.replaces,
        options=options,
        caveats=(
            *kind.caveats,
            "torch fires it for every module in the process; hookcli ignores modules that are not "
            "in the model",
        ),
        backends=kind.backends,
        example=f"{{kind: global_{kind.name}, do: record}}",
        attach=kind.attach.replace(":attach_", ":attach_global_"),
        registry=f"_global{kind.registry}",
        full=kind.full,
        at=AtRule(by_name=kind.name),
        calls=kind.calls,
        in_all={"forward_pre": 0, "forward": 1}.get(kind.name),
        process_wide=True,
        moment=kind.moment,
        wraps_values=kind.wraps_values,
        may_break=kind.may_break,
        conflicts=tuple(
            _excludes(f"global_{other.kind}", "global_full_backward")[0] for other in kind.conflicts
        ),
        lack=kind.lack,
        silence=kind.silence,
    )


KINDS: tuple[Kind, ...] = (*_PER_MODULE, *(_global(kind) for kind in _PER_MODULE))
