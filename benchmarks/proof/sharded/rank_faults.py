"""`torchrun … rank_faults.py [NAMES]`: a rank goes its own way, beside healthy trainings.

Each is a function of the rank; all run one after another in the same processes.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

STEPS = 12


@dataclass
class Case:
    """A training; a healthy one has no sign, which is a pattern of the finding."""

    run: Callable[[int], None]
    step: int | None = None
    rank: int = 1
    sign: str = ""


CASES: dict[str, Case] = {}


def fault(step: int | None = None, sign: str = ""):
    """Add a training whose rank 1 parts at a step."""

    def add(function):
        CASES[function.__name__] = Case(function, step, sign=sign)
        return function

    return add


healthy = fault()


def net(seed: int = 0) -> nn.Module:
    """Return a net with the same weights on all ranks."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(6, 8), nn.LayerNorm(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2)
    )


def loop(
    rank, model, optimizer, *, before=None, synced=None, after=None, step=None, same=False, y=False
):
    """Train; the functions get the number of the step."""
    torch.manual_seed(10 + (0 if same else rank))
    for i in range(STEPS):
        if before is not None:
            before(i)
        x = torch.randn(4, 6)
        optimizer.zero_grad()
        (model(x) - (x if y else 0)).square().mean().backward()
        if synced is not None:
            synced(i)
        if step is None:
            optimizer.step()
        else:
            step(i)
        if after is not None:
            after(i)


def ddp(model):
    """Wrap it."""
    return DistributedDataParallel(model)


def sgd(model, **more):
    """Return an optimizer."""
    return torch.optim.SGD(model.parameters(), **{"lr": 0.1, "momentum": 0.9, **more})


def average(model):
    """Average the gradients by hand."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


@fault(5, "0.weight")
def weights_added(rank):
    model = net()

    def before(i):
        if i == 5 and rank == 1:
            with torch.no_grad():
                model[0].weight.add_(1e-3)

    wrapped = ddp(model)
    loop(rank, wrapped, sgd(wrapped), before=before)


@fault(6, "before step 6, first 4.bias")
def one_element(rank):
    model = net()

    def after(i):
        if i == 5 and rank == 1:
            with torch.no_grad():
                model[4].bias[1] *= 1.001

    wrapped = ddp(model)
    loop(rank, wrapped, sgd(wrapped), after=after)


@fault(3, "learning rate")
def rate_from_3(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)

    def before(i):
        if i == 3 and rank == 1:
            optimizer.param_groups[0]["lr"] = 0.11

    loop(rank, wrapped, optimizer, before=before)


@fault(0, "learning rate")
def rate_from_start(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped, lr=0.1 * (1 + rank)))


@fault(4, "learning rate")
def schedule_on_one_rank(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4)
    loop(rank, wrapped, optimizer, after=lambda i: rank == 0 and schedule.step())


@fault(5, "skipped a step")
def skipped_step(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)
    loop(rank, wrapped, optimizer, step=lambda i: (i == 5 and rank == 1) or optimizer.step())


@fault(7, "makes no step")
def skipped_by_loss(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)
    loop(rank, wrapped, optimizer, step=lambda i: (i >= 7 and rank == 1) or optimizer.step())


@fault(9, "0 forwards")
def step_twice(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)

    def step(i):
        optimizer.step()
        if i == 8 and rank == 1:
            optimizer.step()

    loop(rank, wrapped, optimizer, step=step)


@fault(5, "gradients")
def no_sync_at_5(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)
    torch.manual_seed(10 + rank)
    for i in range(STEPS):
        optimizer.zero_grad()
        with wrapped.no_sync() if i == 5 else contextlib.nullcontext():
            wrapped(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()


@fault(0, "nothing averages")
def never_averaged(rank):
    model = net()
    loop(rank, model, sgd(model))


@fault(5, "gradients")
def average_dropped_at_5(rank):
    model = net()
    loop(rank, model, sgd(model), synced=lambda i: i == 5 or average(model))


@fault(6, "gradients")
def divided_twice_on_one_rank(rank):
    model = net()

    def synced(i):
        average(model)
        if i == 6 and rank == 1:
            for parameter in model.parameters():
                parameter.grad /= 2

    loop(rank, model, sgd(model), synced=synced)


@fault(0, "parameters")
def other_weights(rank):
    model = net(rank)
    loop(rank, model, sgd(model), synced=lambda i: average(model))


@fault(4, "eval mode")
def eval_from_4(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped), before=lambda i: i == 4 and rank == 1 and wrapped.eval())


@fault(7, "eval mode")
def eval_at_7(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped), before=lambda i: wrapped.train(not (i == 7 and rank == 1)))


@fault(0, "parameters")
def other_decay(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped, weight_decay=0.1 * rank))


@fault(1, "parameters")
def other_momentum(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped, momentum=0.9 - 0.1 * rank))


@fault(0, "gradients|parameters")
def clipped_on_one_rank(rank):
    wrapped = ddp(net())
    loop(
        rank,
        wrapped,
        sgd(wrapped),
        synced=lambda i: rank == 1 and nn.utils.clip_grad_norm_(wrapped.parameters(), 0.05),
    )


@fault(5, "parameters")
def reloaded_on_rank_0(rank):
    model = net()
    saved = {name: value.clone() for name, value in model.state_dict().items()}
    wrapped = ddp(model)
    loop(
        rank,
        wrapped,
        sgd(wrapped),
        before=lambda i: i == 5 and rank == 0 and model.load_state_dict(saved),
    )


@fault(8, "parameters")
def noise_without_seed(rank):
    model = net()

    def before(i):
        if i == 8:
            with torch.no_grad():
                model[4].weight.add_(0.01 * torch.randn_like(model[4].weight))

    wrapped = ddp(model)
    loop(rank, wrapped, sgd(wrapped), before=before)


@fault(None, "4.bias")
def layer_not_in_optimizer(rank):
    wrapped = ddp(net())
    parameters = list(wrapped.parameters())
    optimizer = torch.optim.SGD(parameters[: 6 if rank == 0 else 5], lr=0.1)
    loop(rank, wrapped, optimizer)


@fault(6, "parameters")
def momentum_lost(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)
    loop(
        rank, wrapped, optimizer, before=lambda i: i == 6 and rank == 1 and optimizer.state.clear()
    )


def _split(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


def _pair():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6), nn.LayerNorm(6))


@fault(5, "loss")
def other_batch_in_tensor_parallel(rank):
    model = _split(_pair())
    other = lambda i: i == 5 and torch.manual_seed(rank)  # noqa: E731
    loop(rank, model, sgd(model), same=True, y=True, before=other)


@fault(5, "3.weight|parameters")
def norm_changed_in_tensor_parallel(rank):
    model = _split(_pair())

    def before(i):
        if i == 5 and rank == 1:
            with torch.no_grad():
                model[3].weight.mul_(1.01)

    loop(rank, model, sgd(model), same=True, before=before)


@fault(3, "learning rate")
def rate_in_fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    model = fully_shard(net())
    optimizer = sgd(model)

    def before(i):
        if i == 3 and rank == 1:
            optimizer.param_groups[0]["lr"] = 0.2

    loop(rank, model, optimizer, before=before)


# Healthy ones.


@healthy
def plain_ddp(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped))


@healthy
def accumulation(rank):
    wrapped = ddp(net())
    optimizer = sgd(wrapped)
    torch.manual_seed(rank)
    for i in range(2 * STEPS):
        with contextlib.nullcontext() if i % 2 else wrapped.no_sync():
            wrapped(torch.randn(4, 6)).square().mean().backward()
        if i % 2:
            optimizer.step()
            optimizer.zero_grad()


@healthy
def average_by_hand(rank):
    model = net()
    loop(rank, model, sgd(model), synced=lambda i: average(model))


def average_weights(model):
    with torch.no_grad():
        for parameter in model.parameters():
            dist.all_reduce(parameter)
            parameter /= dist.get_world_size()


@healthy
def local_sgd(rank):
    model = net()

    def after(i):
        if i % 4 == 3:
            average_weights(model)

    loop(rank, model, sgd(model, momentum=0.0), after=after)


@healthy
def averaged_after_each_step(rank):
    model = net()

    def after(i):
        average_weights(model)

    loop(rank, model, sgd(model, momentum=0.0), after=after)


@healthy
def evaluation_on_rank_0(rank):
    model = net()
    wrapped = ddp(model)

    def after(i):
        if i % 5 == 4 and rank == 0:
            model.eval()
            with torch.no_grad():
                model(torch.randn(4, 6))
            model.train()

    loop(rank, wrapped, sgd(wrapped), after=after)


@healthy
def zero_redundancy(rank):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    wrapped = ddp(net())
    optimizer = ZeroRedundancyOptimizer(
        wrapped.parameters(), optimizer_class=torch.optim.Adam, lr=0.01
    )
    loop(rank, wrapped, optimizer)


@healthy
def own_experts(rank):
    torch.manual_seed(0)
    shared = nn.Linear(6, 6)
    torch.manual_seed(rank)
    model = nn.Sequential(shared, nn.Linear(6, 4))
    loop(rank, model, sgd(model), synced=lambda i: average(model[0]))


@healthy
def tensor_parallel(rank):
    model = _split(_pair())
    loop(rank, model, sgd(model), same=True)


@healthy
def fsdp(rank):
    from torch.distributed.fsdp import fully_shard

    model = fully_shard(net())
    loop(rank, model, sgd(model))


@healthy
def same_batches(rank):
    wrapped = ddp(net())
    loop(rank, wrapped, sgd(wrapped), same=True)


@healthy
def frozen_first_layer(rank):
    model = net()
    model[0].requires_grad_(False)
    wrapped = ddp(model)
    loop(rank, wrapped, torch.optim.Adam([p for p in model.parameters() if p.requires_grad]))


@healthy
def clipped_everywhere(rank):
    wrapped = ddp(net())
    loop(
        rank,
        wrapped,
        sgd(wrapped),
        synced=lambda i: nn.utils.clip_grad_norm_(wrapped.parameters(), 0.05),
    )


def main() -> None:
    """Run the cases."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in sys.argv[1:] or CASES:
        CASES[name].run(dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
