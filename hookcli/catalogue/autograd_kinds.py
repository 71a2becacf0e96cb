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
_NOT_IN_GRAD = f"{NO_GRADIENT}; with run.backward.inputs nothing is added to .grad"

_LOST_VIEW = (
    "on a view that is changed in place afterwards, or whose base is, it never fires; after an "
    "in-place change of any other tensor it sees the gradient of the value before the change"
)

KINDS: tuple[Kind, ...] = (
    Kind(
        name="tensor",
        family="tensor",
        target="tensor",
        fires="when the gradient of a tensor is known: of a parameter, or of a module's input or "
        "output (`fc:output[0]`), or of what an operator gave ({op: aten.add, in: layer1})",
        phases=("backward",),
        registers="Tensor.register_hook(hook)",
        signature="hook(grad) -> grad | None",
        value="the gradient, a tensor; the sum over all that used the tensor",
        returns="replaces the gradient for all that follows: parameters, and earlier layers",
        replaces=True,
        caveats=(
            _LOST_VIEW,
            "its argument may be shared with other tensors: editing it in place changes theirs",
            "the gradient may be None, from a custom Function",
            "an input's gradient is the sum over all consumers; kind node with at: fc:input gives "
            "the module's own share",
            "operators are hooked at their autograd node, after hooks on the tensor itself",
        ),
        example="{kind: tensor, at: fc.weight, do: {clamp: [-1, 1]}}",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_tensor",
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
        fires="when a gradient was added to a parameter's .grad",
        phases=("backward",),
        registers="Tensor.register_post_accumulate_grad_hook(hook)",
        signature="hook(parameter) -> None",
        value="the parameter's .grad",
        returns="nothing may be returned",
        replaces=False,
        caveats=("it does not fire for gradients taken with torch.autograd.grad",),
        example='{kind: post_accumulate_grad, at: "*", do: record}',
        since="2.1",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_post_accumulate_grad",
        at=_AT_PARAMETER,
        in_all=6,
        edits_in_place=True,
        silence=_NOT_IN_GRAD,
    ),
    Kind(
        name="multi_grad",
        family="tensor",
        target="tensor",
        fires="when all of the matched tensors have their gradients (mode: all), or the first one "
        "has (mode: any)",
        phases=("backward",),
        registers="torch.autograd.graph.register_multi_grad_hook(tensors, hook, mode=)",
        signature="hook(grads) -> None; mode any: hook(grad) -> None",
        value="the gradients in the order of the tensors, None for an unused one",
        returns="nothing may be returned",
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
        fires="before an autograd node runs: of the nodes that a module's call made "
        "(children's calls are theirs), or of a name ({node: AddmmBackward0})",
        phases=("backward",),
        registers="torch.autograd.graph.Node.register_prehook(hook)",
        signature="hook(grad_outputs) -> grad_outputs | None",
        value="the gradients of the node's outputs, a tuple",
        returns="replaces grad_outputs",
        replaces=True,
        caveats=(
            "node names differ between versions of torch",
            "tensor hooks and retain_grad come before it",
            "torch.autograd.grad with respect to the node's own output does not run it",
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
        fires="after an autograd node ran; with at: fc:input once for the module's own share of "
        "its input's gradient",
        phases=("backward",),
        registers="torch.autograd.graph.Node.register_hook(hook)",
        signature="hook(grad_inputs, grad_outputs) -> grad_inputs | None",
        value="the gradients of the node's inputs, a tuple; at an input: its gradient",
        returns="replaces grad_inputs; at an input nothing may be returned",
        replaces=True,
        caveats=(
            "node names differ between versions of torch",
            "at an input it does not fire where the module gives that input back as it is, as "
            "Identity does: input and output are one tensor, and its share cannot be told",
        ),
        example="{kind: node, at: fc, do: record}",
        backends=("python", "package", "torchscript", "exported"),
        attach="gradients:attach_node",
        at=AtRule("module", required=True, parts=("input",), node=True, parts_are_fixed=True),
        calls=InCalls.ALWAYS,
        in_all=8,
        in_template=True,
        layer=LayerFigures("gradient", "input"),  # its own share is what the layer did
    ),
    Kind(
        name="accumulate_grad",
        family="autograd node",
        target="parameter",
        fires="after the AccumulateGrad node behind a parameter ran: the place of Horovod's and "
        "DDP's hooks",
        phases=("backward",),
        registers="torch.autograd.graph.get_gradient_edge(p).node.register_hook(hook)",
        signature="hook(grad_inputs, grad_outputs) -> None",
        value="the gradient that was accumulated",
        returns="nothing may be returned",
        replaces=False,
        caveats=("torch forgets the hook when nobody keeps the node: hookcli keeps it",),
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
        returns="nothing may be returned",
        replaces=False,
        caveats=(
            "private in torch; it can be queued during a backward pass only, so hookcli queues it "
            "at the gradient of the loss",
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
        fires="when an operator saves a tensor for backward (pack), and when backward takes it "
        "(unpack)",
        phases=("forward", "backward"),
        registers="torch.autograd.graph.saved_tensors_hooks(pack, unpack)",
        signature="call: {pack: f.py:pack, unpack: f.py:unpack}; pack(tensor) -> object, "
        "unpack(object) -> tensor",
        value="the tensor that is saved; an action changes it once, as it is packed",
        returns="pack's return is kept in its place, unpack's is used in backward",
        replaces=True,
        caveats=(
            "one pair at a time: only the innermost acts",
            "inside a module with at: the pair is in place while that module runs",
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
                "one pair of saved_tensors acts at a time, and this is a second over the same "
                "modules",
                "leave one out, or put both into one pair of functions",
            ),
        ),
    ),
)
