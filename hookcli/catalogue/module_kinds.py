"""The kinds that fire around a module's forward and backward, per module and global."""

from __future__ import annotations

from hookcli.catalogue.kind import AtRule, Conflict, InCalls, Kind, Lack, LayerFigures, Moment

_AT = AtRule("module", required=True)
_LACK = Lack(
    "its code has no place for PyTorch's backward hooks",
    "use kind tensor, at: MODULE:output, or kind node, at: MODULE:input",
)
_FLAT = "torch's backward hooks see only a tensor, or a flat tuple of them, as output"


def _not_beside(kind: str, full: str) -> tuple[Conflict, ...]:
    """That legacy and full backward hooks exclude each other."""
    legacy = "torch takes no legacy backward hook where there is a full one"
    return (Conflict(kind, legacy, f"take {full} alone"),)


_IN_PLACE = (
    "an in-place operation on the module's output, or on its input, raises: the hook makes them "
    "views of a custom function. To observe gradients use kind tensor, which changes nothing"
)
_NO_TENSOR = (
    "it never fires for outputs in a dict, a list or a dataclass: torch looks at a tensor or a "
    "flat tuple only"
)
_KEYWORDS = "tensors passed by keyword are not in grad_input"
_BYPASS = "a direct call of module.forward() bypasses it"

_FORWARD_PRE = Kind(
    name="forward_pre",
    family="module",
    target="module",
    fires="before the forward of a module, the parent's before the child's",
    phases=("forward",),
    registers="Module.register_forward_pre_hook(hook, prepend=, with_kwargs=)",
    signature="hook(module, args) -> args | None; with_kwargs: hook(module, args, kwargs) -> "
    "(args, kwargs) | None",
    value="the positional arguments, a tuple; with_kwargs: (args, kwargs)",
    returns="replaces the arguments; what is no tuple becomes the only one",
    replaces=True,
    options=("prepend", "with_kwargs"),
    caveats=(_BYPASS,),
    backends=("python", "package", "torchscript", "exported"),
    example="{kind: forward_pre, at: fc, do: {scale: 0.5}}",
    attach="module:attach_forward_pre",
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
    fires="after the forward of a module, the child's before the parent's",
    phases=("forward",),
    registers="Module.register_forward_hook(hook, prepend=, with_kwargs=, always_call=)",
    signature="hook(module, args, output) -> output | None; with_kwargs: hook(module, args, "
    "kwargs, output) -> output | None",
    value="the output, whatever its structure",
    returns="replaces the output",
    replaces=True,
    options=("prepend", "with_kwargs", "always_call"),
    caveats=(
        _BYPASS,
        "any value that is not None replaces the output: a hook that returns what print or "
        "register_hook returns breaks the model",
        "always_call runs it also after an Exception, with output None; not after "
        "KeyboardInterrupt",
    ),
    backends=("python", "package", "torchscript", "exported"),
    example='{kind: forward, at: "layer*.conv?", do: stats}',
    attach="module:attach_forward",
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
    fires="when the gradient of a module's output is known, before its backward",
    phases=("backward",),
    registers="Module.register_full_backward_pre_hook(hook, prepend=)",
    signature="hook(module, grad_output) -> grad_output | None",
    value="the gradients of the output, a tuple",
    returns="replaces grad_output",
    replaces=True,
    options=("prepend",),
    caveats=(_IN_PLACE, _NO_TENSOR),
    backends=("python", "package", "exported"),
    example="{kind: full_backward_pre, at: fc, do: record}",
    attach="module:attach_backward",
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
    fires="when the gradients of a module's inputs are known, the child's before the parent's; "
    "after those of its parameters where an input requires grad",
    phases=("backward",),
    registers="Module.register_full_backward_hook(hook, prepend=)",
    signature="hook(module, grad_input, grad_output) -> grad_input | None",
    value="the gradients of the positional inputs, a tuple: the module's own share of them",
    returns="replaces grad_input",
    replaces=True,
    options=("prepend",),
    caveats=(
        _IN_PLACE,
        _NO_TENSOR,
        _KEYWORDS,
        "where no input requires grad it fires at the output, and torch warns",
        "removed between forward and backward it fires all the same",
    ),
    backends=("python", "package", "exported"),
    example="{kind: full_backward, at: fc, do: zero}",
    attach="module:attach_backward",
    at=_AT,
    calls=InCalls.ALWAYS,
    may_break=True,
    in_template=True,
    wraps_values=True,
    conflicts=_not_beside("backward", "full_backward"),
    lack=_LACK,
    silence=_FLAT,
)
_BACKWARD = Kind(
    name="backward",
    family="module",
    target="module",
    fires="at the last autograd node of a module's forward: legacy",
    phases=("backward",),
    registers="Module.register_backward_hook(hook)",
    signature="hook(module, grad_input, grad_output) -> grad_input | None",
    value="the gradients of that node's inputs: often not the module's",
    returns="replaces that node's grad_input",
    replaces=True,
    caveats=(
        "legacy, and wrong where the forward has several nodes: for a Sequential it shows inner "
        "tensors, for a Linear on three dimensions not the input at all. Use full_backward",
        "it cannot stand on a module that has a full backward hook",
        "an output that is no tensor raises, or never returns: hookcli refuses to attach it there",
    ),
    backends=("python", "package", "exported"),
    example="{kind: backward, at: fc, do: record}",
    attach="module:attach_legacy_backward",
    at=_AT,
    calls=InCalls.ALWAYS,
    may_break=True,
    conflicts=_not_beside("full_backward", "full_backward"),
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
    options = {"forward": ("with_kwargs", "always_call")}.get(kind.name, ())
    return Kind(
        name=f"global_{kind.name}",
        family="global module",
        target="every module",
        fires=f"for every module that runs: {kind.fires}; before the modules' own hooks",
        phases=kind.phases,
        registers=f"torch.nn.modules.module.{_GLOBAL_SIGNATURES[kind.name]}",
        signature=kind.signature if options else kind.signature.split("; with_kwargs")[0],
        value=kind.value.split("; with_kwargs")[0],
        returns=kind.returns,
        replaces=kind.replaces,
        options=options,
        caveats=(
            *kind.caveats,
            "it fires for every module of the process; hookcli lets it act on those of the model",
        ),
        backends=kind.backends,
        example=f"{{kind: global_{kind.name}, do: record}}",
        attach=kind.attach.replace(":attach_", ":attach_global_"),
        at=AtRule(by_name=kind.name),
        calls=kind.calls,
        in_all={"forward_pre": 0, "forward": 1}.get(kind.name),
        process_wide=True,
        moment=kind.moment,
        wraps_values=kind.wraps_values,
        may_break=kind.may_break,
        conflicts=tuple(
            _not_beside(f"global_{other.kind}", "global_full_backward")[0]
            for other in kind.conflicts
        ),
        lack=kind.lack,
        silence=kind.silence,
    )


KINDS: tuple[Kind, ...] = (*_PER_MODULE, *(_global(kind) for kind in _PER_MODULE))
