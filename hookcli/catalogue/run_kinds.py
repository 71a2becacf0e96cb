"""The kinds outside autograd: optimizer, state dicts, registration, operators, packaging."""

from __future__ import annotations

from hookcli.catalogue.kind import (
    PYTHON_SOURCE,
    AtRule,
    Conflict,
    InCalls,
    Kind,
    Lack,
    Returned,
    Stage,
)

_AT_MODULE = AtRule("module", required=True)
_NO_STATE = Lack("PyTorch does not support hooks on its state dict", PYTHON_SOURCE)
_BUILT = Lack("its modules are already built", PYTHON_SOURCE)
_STATE = ("it also fires for every child module, in torch's order: see docs/hooks/index.md",)


def _optimizer(when: str, place: str) -> tuple[Kind, Kind]:
    signature = "hook(optimizer, args, kwargs) -> " + (
        "(args, kwargs) | None" if when == "pre" else "None"
    )
    returns = "replaces the arguments of step()" if when == "pre" else "must be None"
    returned = Returned.ARGUMENTS if when == "pre" else Returned.VALUE
    own = Kind(
        name=f"optimizer_step_{when}",
        family="optimizer",
        target="optimizer",
        fires=f"{place} optimizer.step()",
        phases=("optimizer",),
        registers=f"Optimizer.register_step_{when}_hook(hook)",
        signature=signature,
        value="the gradients of the parameters by name" if when == "pre" else "the parameters",
        returns=returns,
        replaces=False,
        backends=("python", "package", "torchscript", "exported"),
        example=f"{{kind: optimizer_step_{when}, do: record}}",
        caveats=("the run uses run.optimizer, or SGD with lr 0.01 if it is not set",),
        attach=f"optimizer:attach_step_{when}",
        registry=f"_optimizer_step_{when}_hooks",
        stage=Stage.OPTIMIZER,
        in_template=when == "pre",
        returned=returned,
        edits_in_place=True,
    )
    every = Kind(
        name=f"global_optimizer_step_{when}",
        family="optimizer",
        target="optimizer",
        fires=f"{place} step() of any optimizer. It fires "
        f"{'before' if when == 'pre' else 'after'} the optimizer's own hooks",
        phases=("optimizer",),
        registers=f"torch.optim.optimizer.register_optimizer_step_{when}_hook(hook)",
        signature=signature,
        value=own.value,
        returns=returns,
        replaces=False,
        backends=("python", "package", "torchscript", "exported"),
        example=f"{{kind: global_optimizer_step_{when}, do: record}}",
        attach=own.attach,
        registry=f"_global_optimizer_{when}_hooks",
        stage=own.stage,
        process_wide=True,
        returned=returned,
        edits_in_place=True,
    )
    return own, every


_OPTIMIZER = (*_optimizer("pre", "before"), *_optimizer("post", "after"))

KINDS: tuple[Kind, ...] = (
    _OPTIMIZER[0], _OPTIMIZER[2], _OPTIMIZER[1], _OPTIMIZER[3],
    Kind(
        name="state_dict_pre",
        family="state",
        target="module",
        fires="before a module writes its part of state_dict(). Parents fire before their children",
        phases=("state_dict",),
        registers="Module.register_state_dict_pre_hook(hook)",
        signature="hook(module, prefix, keep_vars) -> None",
        value="nothing",
        returns="must be None",
        replaces=False,
        caveats=_STATE,
        backends=("python", "package", "exported"),
        example='{kind: state_dict_pre, at: "", do: record}',
        attach="state:attach_state",
        registry="_state_dict_pre_hooks",
        at=_AT_MODULE,
        lack=_NO_STATE,
    ),
    Kind(
        name="state_dict_post",
        family="state",
        target="module",
        fires="after a module writes its part of state_dict(). Children fire before their parents",
        phases=("state_dict",),
        registers="Module.register_state_dict_post_hook(hook)",
        signature="hook(module, state_dict, prefix, local_metadata) -> None",
        value="the module's own entries of the dictionary",
        returns="replaces entries: the values of an action are written to the dictionary; a "
        "function changes the dictionary in place and returns None",
        replaces=True,
        caveats=_STATE,
        backends=("python", "package", "exported"),
        example='{kind: state_dict_post, at: fc, do: record}',
        attach="state:attach_state",
        registry="_state_dict_hooks",
        at=_AT_MODULE,
        in_template=True,
        returned=Returned.ENTRIES,
        lack=_NO_STATE,
    ),
    Kind(
        name="load_state_dict_pre",
        family="state",
        target="module",
        fires="before a module loads its part of a state dict. Parents fire before their children",
        phases=("state_dict",),
        registers="Module.register_load_state_dict_pre_hook(hook)",
        signature="hook(module, state_dict, prefix, local_metadata, strict, missing_keys, "
        "unexpected_keys, error_msgs) -> None",
        value="the module's own entries of the dictionary",
        returns="replaces entries: the values of an action are loaded; the caller's dictionary "
        "does not change",
        replaces=True,
        caveats=(*_STATE, "the argument strict is always True, even with strict=False"),
        backends=("python", "package", "exported"),
        example="{kind: load_state_dict_pre, at: fc, do: record}",
        attach="state:attach_state",
        registry="_load_state_dict_pre_hooks",
        at=_AT_MODULE,
        returned=Returned.ENTRIES,
        lack=_NO_STATE,
    ),
    Kind(
        name="load_state_dict_post",
        family="state",
        target="module",
        fires="after a module loads its part of a state dict. Children fire before their parents",
        phases=("state_dict",),
        registers="Module.register_load_state_dict_post_hook(hook)",
        signature="hook(module, incompatible_keys) -> None",
        value="nothing",
        returns="must be None; a hook can clear incompatible_keys.missing_keys so that strict "
        "loading succeeds",
        replaces=False,
        caveats=(*_STATE, "a child gets all keys that are missing so far"),
        backends=("python", "package", "exported"),
        example="{kind: load_state_dict_post, at: fc, do: record}",
        attach="state:attach_state",
        registry="_load_state_dict_post_hooks",
        at=_AT_MODULE,
        lack=_NO_STATE,
    ),
    *(
        Kind(
            name=f"{what}_registration",
            family="registration",
            target="run",
            fires=f"when a {what} is registered. This happens while the model is built, also by "
            "assignment to an attribute",
            phases=("build",),
            registers=f"torch.nn.modules.module.register_module_{what}_registration_hook(hook)",
            signature=f"hook(module, name, {what if what != 'module' else 'submodule'}) -> "
            "replacement | None",
            value=f"the {what}",
            returns=f"replaces the {what}",
            replaces=True,
            caveats=(
                "the name is the one inside the owner: the module tree does not exist yet",
            ),
            example=f"{{kind: {what}_registration, do: record}}",
            attach="registration:attach_registration",
            registry=f"_global_{what}_registration_hooks",
            stage=Stage.BUILD,
            in_template=what == "module",
            returned=Returned.TENSOR,
            edits_in_place=True,
            lack=_BUILT,
        )
        for what in ("parameter", "buffer", "module")
    ),
    Kind(
        name="op",
        family="operators",
        target="run",
        fires="for every operator that runs, below autograd. Operators of backward are included",
        phases=("forward", "loss", "backward", "optimizer"),
        registers="torch.utils._python_dispatch.TorchDispatchMode",
        signature="hook(op, args, kwargs, output) -> output | None",
        value="the operator's output",
        returns="replaces the output",
        replaces=True,
        caveats=(
            "operators are those of aten after decomposition: a Linear runs t and addmm",
            "with at, it fires for operators that a module's calls run in forward; "
            "{op: aten.addmm} selects one operator",
        ),
        example='{kind: op, at: {op: aten.addmm}, do: record}',
        backends=("python", "package", "torchscript", "exported"),
        attach="operators:attach_operators",
        at=AtRule("module", op=True),
        calls=InCalls.ALWAYS,
        in_all=11,
        in_template=True,
        needs=("forward",),  # it fires in whatever runs
        returned=Returned.TENSOR,
    ),
    Kind(
        name="ddp_comm",
        family="distributed",
        is_rare=True,
        target="run",
        fires="when a bucket of gradients is ready to be averaged. DistributedDataParallel "
        "collects gradients in buckets",
        phases=("backward",),
        registers="DistributedDataParallel.register_comm_hook(state, hook)",
        signature="hook(state, bucket) -> Future[Tensor]",
        value="the gradients of the bucket, as one flat tensor",
        returns="a Future of the tensor to use instead",
        keeps_state=True,
        replaces=True,
        needs_values=True,
        caveats=(
            "a model can have only one",
            "the second parameter of the function must be named bucket",
            "a hook that returns None would crash the process, so hookcli checks the return value",
            "the model must be wrapped in DistributedDataParallel: hookcli wraps it, with one "
            "process if run.distributed does not ask for more",
        ),
        example="{kind: ddp_comm, do: [{comm: fp16_compress}, record]}",
        attach="comm:Averaging",
        registry="_comm_hooks",
        stage=Stage.DISTRIBUTED,
        returned=Returned.TENSOR,
        average="allreduce",
        conflicts=(
            Conflict(
                "ddp_comm",
                "a model can have only one communication hook",
                "remove one",
            ),
        ),
        lack=Lack("DistributedDataParallel supports Python modules only", PYTHON_SOURCE),
    ),
    *(
        Kind(
            name=f"package_{what}",
            family="packaging",
            is_rare=True,
            target="package",
            fires=f"when torch.package {does}. This happens while the archive is closed",
            phases=("package",),
            registers=f"torch.package.PackageExporter.register_{what}_hook(hook)",
            signature="hook(exporter, module_name) -> None",
            value="nothing",
            returns="must be None",
            replaces=False,
            caveats=(
                "it fires once per Python module, in the order of dependencies",
                "the setting run.package selects what is done with a module; of all others, "
                "hookcli stores those that are loaded and not installed, and omits the rest",
                "the event's node is the pattern that matched; null if torch decided by itself",
                "a module that cannot be packaged is a finding; it is omitted so that other such "
                "modules are found too",
            ),
            backends=("python", "package"),
            example=f"{{kind: package_{what}, do: record}}",
            example_run="{package: {mock: [numpy]}}" if what == "mock" else "",
            attach="packaging:export",
            stage=Stage.PACKAGE,
            lack=Lack("torch.package supports Python modules only", PYTHON_SOURCE),
        )
        for what, does in (
            ("extern", "leaves a module out"),
            ("intern", "stores the source of a module"),
            ("mock", "replaces a module with a mock"),
        )
    ),
)  # fmt: skip
