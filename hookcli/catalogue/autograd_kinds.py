"""The kinds that fire in autograd: on tensors, on nodes, and on the engine."""

from __future__ import annotations

from hookcli.catalogue.kind import (
    NO_GRADIENT,
    AtRule,
    Conflict,
    InCalls,
    Kind,
    LayerFigures,
    Returned,
    Stage,
)

_AT_PARAMETER = AtRule("parameter", required=True)
_PARTS = ("input", "output")
_NOT_IN_GRAD = f"{NO_GRADIENT}, or run.backward.inputs is set, which adds nothing to .grad"

_LOST_VIEW = (
    "it never fires on a view if the view or its base is changed in place afterwards; after an "
    "in-place change of any other tensor it gets the gradient of the value before the change"
)

KINDS: tuple[Kind, ...] = (
    Kind(
        name="tensor",
        family="tensor",
        target="tensor",
        fires="when the gradient of a tensor is known. The tensor is a parameter, a module's input "
        "or output (`fc:output[0]`), or the result of an operator ({op: aten.add, in: layer1})",
        phases=("backward",),
        registers="Tensor.register_hook(hook)",
        signature="hook(grad) -> grad | None",
        value="the gradient, a tensor: the sum over all uses of the tensor",
        returns="replaces the gradient for the rest of backward: parameters and earlier layers",
        replaces=True,
        caveats=(
            _LOST_VIEW,
            "other tensors may share this gradient: an in-place change also changes theirs",
            "the gradient can be None if a custom Function returns None",
            "the gradient of an input is the sum over all its consumers; for one module's "
            "contribution use kind node with at: fc:input",
            "for an operator, the hook is attached to the autograd node, and fires after hooks on "
            "the tensor itself",
        ),
        example="{kind: tensor, at: fc.weight, do: {clamp: [-1, 1]}}",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_tensor",
        registry="_backward_hooks",
        at=AtRule("parameter", required=True, parts=_PARTS, op=True, everywhere="*:output"),
        calls=InCalls.AT_VALUES,
        in_all=4,
        in_template=True,
        layer=LayerFigures("gradient", "output"),
        returned=Returned.LIKE,
    ),
    Kind(
        name="post_accumulate_grad",
        family="tensor",
        target="parameter",
        fires="after a gradient is added to a parameter's .grad",
        phases=("backward",),
        registers="Tensor.register_post_accumulate_grad_hook(hook)",
        signature="hook(parameter) -> None",
        value="the parameter's .grad",
        returns="must be None",
        replaces=False,
        caveats=("it does not fire for gradients computed by torch.autograd.grad",),
        example='{kind: post_accumulate_grad, at: "*", do: record}',
        since="2.1",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_post_accumulate_grad",
        registry="_post_accumulate_grad_hooks",
        at=_AT_PARAMETER,
        in_all=6,
        edits_in_place=True,
        silence=_NOT_IN_GRAD,
    ),
    Kind(
        name="multi_grad",
        family="tensor",
        target="tensor",
        fires="when the gradients of several tensors are known. With mode: any it fires when the "
        "first of them is known",
        phases=("backward",),
        registers="torch.autograd.graph.register_multi_grad_hook(tensors, hook, mode=)",
        signature="hook(grads) -> None; mode any: hook(grad) -> None",
        value="the gradients in the order of the tensors; None for a tensor that was not used",
        returns="must be None",
        replaces=False,
        options=("mode",),
        caveats=(_LOST_VIEW,),
        example='{kind: multi_grad, at: "fc.*", options: {mode: all}, do: record}',
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_multi_grad",
        at=AtRule("parameter", required=True, parts=_PARTS),
        in_all=5,
        in_template=True,
    ),
    Kind(
        name="node_pre",
        family="autograd node",
        target="node",
        fires="before an autograd node runs. The nodes are those that a module's call created, "
        "without those of its children's calls, or those with a name ({node: AddmmBackward0})",
        phases=("backward",),
        registers="torch.autograd.graph.Node.register_prehook(hook)",
        signature="hook(grad_outputs) -> grad_outputs | None",
        value="the gradients of the node's outputs as a tuple",
        returns="replaces grad_outputs",
        replaces=True,
        caveats=(
            "node names differ between versions of torch",
            "tensor hooks and retain_grad run before it",
            "torch.autograd.grad with respect to the node's own output does not fire it",
        ),
        example="{kind: node_pre, at: fc, do: record}",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_node_pre",
        at=AtRule("module", required=True, node=True),
        calls=InCalls.ALWAYS,
        in_all=7,
    ),
    Kind(
        name="node",
        family="autograd node",
        target="node",
        fires="after an autograd node runs. With at: fc:input it fires once, with the module's own "
        "contribution to the gradient of its input",
        phases=("backward",),
        registers="torch.autograd.graph.Node.register_hook(hook)",
        signature="hook(grad_inputs, grad_outputs) -> grad_inputs | None",
        value="the gradients of the node's inputs as a tuple; with at: fc:input, that gradient",
        returns="replaces grad_inputs; with at: fc:input it must be None",
        replaces=True,
        caveats=(
            "node names differ between versions of torch",
            "with at: fc:input it does not fire if the module returns that input unchanged, as "
            "Identity does: input and output are the same tensor, so the module's contribution "
            "cannot be determined",
        ),
        example="{kind: node, at: fc, do: record}",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_node",
        at=AtRule("module", required=True, parts=("input",), node=True, parts_are_fixed=True),
        calls=InCalls.ALWAYS,
        in_all=8,
        in_template=True,
        layer=LayerFigures("gradient", "input"),  # the contribution of this layer alone
    ),
    Kind(
        name="accumulate_grad",
        family="autograd node",
        target="parameter",
        fires="after the AccumulateGrad node of a parameter runs. Horovod and DDP attach their "
        "hooks to this node",
        phases=("backward",),
        registers="torch.autograd.graph.get_gradient_edge(p).node.register_hook(hook)",
        signature="hook(grad_inputs, grad_outputs) -> None",
        value="the gradient that was accumulated",
        returns="must be None",
        replaces=False,
        caveats=("torch drops the hook if nothing references the node: hookcli keeps a reference",),
        example='{kind: accumulate_grad, at: "*.weight", do: record}',
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_accumulate_grad",
        at=_AT_PARAMETER,
        in_all=9,
        silence=_NOT_IN_GRAD,
    ),
    Kind(
        name="engine_callback",
        family="autograd engine",
        target="run",
        fires="when a backward pass ends",
        phases=("backward",),
        registers="Variable._execution_engine.queue_callback(hook)",
        signature="hook() -> None",
        value="nothing",
        returns="must be None",
        replaces=False,
        caveats=(
            "the function is private in torch, and can be called only during a backward pass: "
            "hookcli calls it when the gradient of the loss is known",
            "it does not run after an error in backward",
        ),
        backends=("python", "package", "torchscript", "exported"),
        example="{kind: engine_callback, do: record}",
        attach="engine:Queue",
        stage=Stage.BACKWARD,
        in_all=10,
        in_template=True,
    ),
    Kind(
        name="saved_tensors",
        family="autograd engine",
        target="run",
        fires="when a tensor is saved for backward and read again. pack runs when an operator "
        "saves it, unpack when backward reads it",
        phases=("forward", "backward"),
        registers="torch.autograd.graph.saved_tensors_hooks(pack, unpack)",
        signature="call: {pack: f.py:pack, unpack: f.py:unpack}; pack(tensor) -> object, "
        "unpack(object) -> tensor",
        value="the saved tensor; an action changes it once, when it is packed",
        returns="the result of pack is stored instead of the tensor; the result of unpack is used "
        "in backward",
        replaces=True,
        caveats=(
            "only the innermost pair is active",
            "with at, the pair is active while that module runs",
        ),
        backends=("python", "package", "torchscript", "exported"),
        example="{kind: saved_tensors, at: layer1, do: record}",
        attach="engine:attach_saved_tensors",
        at=AtRule("module"),
        calls=InCalls.ALWAYS,
        returned=Returned.ANYTHING,
        pair=True,
        conflicts=(
            Conflict(
                "saved_tensors",
                "only one pair of saved_tensors hooks can be active for the same modules",
                "remove one, or combine both in one pair of functions",
            ),
        ),
    ),
)
