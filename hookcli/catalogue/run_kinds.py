"""The kinds that fire beside autograd: optimizer, state, registration, operators, packaging."""

from __future__ import annotations

from hookcli.catalogue.kind import AtRule, Conflict, InCalls, Kind, Lack, Returned, Stage

_AT_MODULE = AtRule("module", required=True)
_NO_STATE = Lack(
    "PyTorch takes none for its state dict", "leave the hook out, or name the Python source"
)
_BUILT = Lack("its modules are built already", "leave the hook out, or name the Python source")
_STATE = ("every child's fires too, and in torch's order: see docs/hooks/reference.md",)


def _optimizer(when: str, place: str) -> tuple[Kind, Kind]:
    signature = "hook(optimizer, args, kwargs) -> " + (
        "(args, kwargs) | None" if when == "pre" else "None"
    )
    returns = "replaces step's arguments" if when == "pre" else "nothing may be returned"
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
        caveats=("the run steps with run.optimizer; without one with SGD, lr 0.01",),
        attach=f"optimizer:attach_step_{when}",
        stage=Stage.OPTIMIZER,
        in_template=when == "pre",
        returned=returned,
        edits_in_place=True,
    )
    every = Kind(
        name=f"global_optimizer_step_{when}",
        family="optimizer",
        target="optimizer",
        fires=f"{place} step() of every optimizer, {'before' if when == 'pre' else 'after'} the "
        "optimizer's own hooks",
        phases=("optimizer",),
        registers=f"torch.optim.optimizer.register_optimizer_step_{when}_hook(hook)",
        signature=signature,
        value=own.value,
        returns=returns,
        replaces=False,
        backends=("python", "package", "torchscript", "exported"),
        example=f"{{kind: global_optimizer_step_{when}, do: record}}",
        attach=own.attach,
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
        fires="before a module writes its part of state_dict(), the parent's before the child's",
        phases=("state_dict",),
        registers="Module.register_state_dict_pre_hook(hook)",
        signature="hook(module, prefix, keep_vars) -> None",
        value="nothing",
        returns="nothing may be returned",
        replaces=False,
        caveats=_STATE,
        backends=("python", "package", "exported"),
        example='{kind: state_dict_pre, at: "", do: record}',
        attach="state:attach_state",
        at=_AT_MODULE,
        lack=_NO_STATE,
    ),
    Kind(
        name="state_dict_post",
        family="state",
        target="module",
        fires="after a module wrote its part of state_dict(), the child's before the parent's",
        phases=("state_dict",),
        registers="Module.register_state_dict_post_hook(hook)",
        signature="hook(module, state_dict, prefix, local_metadata) -> None",
        value="the module's own entries of the dictionary",
        returns="replaces entries: an action's values are written into the dictionary; a "
        "function changes the dictionary in place and returns None",
        replaces=True,
        caveats=_STATE,
        backends=("python", "package", "exported"),
        example='{kind: state_dict_post, at: fc, do: record}',
        attach="state:attach_state",
        at=_AT_MODULE,
        in_template=True,
        returned=Returned.ENTRIES,
        lack=_NO_STATE,
    ),
    Kind(
        name="load_state_dict_pre",
        family="state",
        target="module",
        fires="before a module reads its part in load_state_dict(), the parent's first",
        phases=("state_dict",),
        registers="Module.register_load_state_dict_pre_hook(hook)",
        signature="hook(module, state_dict, prefix, local_metadata, strict, missing_keys, "
        "unexpected_keys, error_msgs) -> None",
        value="the module's own entries of the dictionary",
        returns="replaces entries: an action's values are loaded; the caller's dictionary stays",
        replaces=True,
        caveats=(*_STATE, "strict is always True here, also for strict=False"),
        backends=("python", "package", "exported"),
        example="{kind: load_state_dict_pre, at: fc, do: record}",
        attach="state:attach_state",
        at=_AT_MODULE,
        returned=Returned.ENTRIES,
        lack=_NO_STATE,
    ),
    Kind(
        name="load_state_dict_post",
        family="state",
        target="module",
        fires="after a module read its part in load_state_dict(), the child's first",
        phases=("state_dict",),
        registers="Module.register_load_state_dict_post_hook(hook)",
        signature="hook(module, incompatible_keys) -> None",
        value="nothing",
        returns="nothing may be returned; clearing incompatible_keys.missing_keys lets strict pass",
        replaces=False,
        caveats=(*_STATE, "a child sees all missing keys so far"),
        backends=("python", "package", "exported"),
        example="{kind: load_state_dict_post, at: fc, do: record}",
        attach="state:attach_state",
        at=_AT_MODULE,
        lack=_NO_STATE,
    ),
    *(
        Kind(
            name=f"{what}_registration",
            family="registration",
            target="run",
            fires=f"when a {what} is registered, by assignment too, while the model is built",
            phases=("build",),
            registers=f"torch.nn.modules.module.register_module_{what}_registration_hook(hook)",
            signature=f"hook(module, name, {what if what != 'module' else 'submodule'}) -> "
            "replacement | None",
            value=f"the {what}",
            returns=f"replaces the {what}",
            replaces=True,
            caveats=("names are those inside the owner: the tree does not stand yet",),
            example=f"{{kind: {what}_registration, do: record}}",
            attach="registration:attach_registration",
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
        fires="for every operator that runs, below autograd: in backward too",
        phases=("forward", "loss", "backward", "optimizer"),
        registers="torch.utils._python_dispatch.TorchDispatchMode",
        signature="hook(op, args, kwargs, output) -> output | None",
        value="the operator's output",
        returns="replaces the output",
        replaces=True,
        caveats=(
            "operators are aten's, after decomposition: a Linear is t and addmm",
            "with at: those that a module's calls run in forward; {op: aten.addmm} names one",
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
        target="run",
        fires="when DistributedDataParallel has a bucket of gradients ready to be averaged",
        phases=("backward",),
        registers="DistributedDataParallel.register_comm_hook(state, hook)",
        signature="hook(state, bucket) -> Future[Tensor]",
        value="the bucket's flat gradients",
        returns="a Future of the tensor to use in their place",
        keeps_state=True,
        replaces=True,
        needs_values=True,
        caveats=(
            "one only; its second parameter must be called bucket; a hook that returns None would "
            "kill the process, so hookcli checks the return",
            "needs the model wrapped in DistributedDataParallel: hookcli does it, with one process "
            "where no more are asked for",
        ),
        example="{kind: ddp_comm, do: [{comm: fp16_compress}, record]}",
        attach="comm:Averaging",
        stage=Stage.DISTRIBUTED,
        returned=Returned.TENSOR,
        average="allreduce",
        conflicts=(
            Conflict(
                "ddp_comm",
                "a model has one communication hook, and this is a second",
                "leave one out",
            ),
        ),
        lack=Lack("DistributedDataParallel wraps Python modules", "name the Python source"),
    ),
    *(
        Kind(
            name=f"package_{what}",
            family="packaging",
            target="package",
            fires=f"when torch.package {does} a module, as the archive is closed",
            phases=("package",),
            registers=f"torch.package.PackageExporter.register_{what}_hook(hook)",
            signature="hook(exporter, module_name) -> None",
            value="nothing",
            returns="nothing may be returned",
            replaces=False,
            caveats=(
                "once per Python module, in the order of dependencies",
                "run.package says what becomes of which modules; of all others hookcli stores "
                "those that are loaded and not installed, and leaves out the rest",
                "the event's node is the pattern that decided; null where torch does by itself",
                "a module that cannot be packaged is a finding, and left out so that others show",
            ),
            backends=("python", "package"),
            example=f"{{kind: package_{what}, do: record}}",
            attach="packaging:export",
            stage=Stage.PACKAGE,
            lack=Lack("torch.package takes Python modules", "name the Python source"),
        )
        for what, does in (("extern", "leaves out"), ("intern", "stores"), ("mock", "mocks"))
    ),
)  # fmt: skip
