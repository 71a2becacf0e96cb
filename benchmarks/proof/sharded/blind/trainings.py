"""`torchrun … trainings.py [NAMES]`: twelve broken and eight healthy trainings of two ranks.

Each was written after a public thread, by someone who had not read the sources of `ranks_agree`.
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
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

MICRO = 3


@dataclass(frozen=True)
class Training:
    """A training; `sign` is a pattern of what must be said of a broken one, "" of a healthy one."""

    run: Callable[[int], None]
    thread: str
    step: int | None = None
    sign: str = ""


TRAININGS: dict[str, Training] = {}


def broken(thread: str, step: int | None, sign: str):
    """Add a training in which a rank is wrong from a step on; None if the step is not known."""

    def add(function):
        TRAININGS[function.__name__] = Training(function, thread, step, sign)
        return function

    return add


def healthy(thread: str):
    """Add a training in which ranks do what they must."""
    return broken(thread, None, "")


def perceptron(seed: int = 1) -> nn.Module:
    """Return a net with the same weights on all ranks."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 9), nn.GELU(), nn.LayerNorm(9), nn.Linear(9, 3))


def draw(rank: int, seed: int = 77):
    """Return a function that draws batches, other ones on each rank."""
    generator = torch.Generator().manual_seed(seed + rank)
    return lambda: (torch.randn(6, 5, generator=generator), torch.randn(6, 3, generator=generator))


def all_average(parameters) -> None:
    """Average gradients over the ranks."""
    for parameter in parameters:
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad.div_(dist.get_world_size())


def mse(model, batch):
    """Return the loss of a batch."""
    return nn.functional.mse_loss(model(batch[0]), batch[1])


@broken("modelscope/FunASR#3472", 0, "")
def exchanged_at_the_first_micro_batch(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for i in range(8 * MICRO):
        with model.no_sync() if i % MICRO else contextlib.nullcontext():
            (mse(model, batches()) / MICRO).backward()
        if i % MICRO == MICRO - 1:
            optimizer.step()
            optimizer.zero_grad()


@broken("karpathy/build-nanogpt#30", 0, "")
def flag_set_after_forward(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.require_backward_grad_sync = False
    for _ in range(10):
        optimizer.zero_grad()
        for micro in range(MICRO):
            loss = mse(model, batches()) / MICRO
            model.require_backward_grad_sync = micro == MICRO - 1
            loss.backward()
            model.require_backward_grad_sync = False
        optimizer.step()


@broken("discuss.pytorch.org: model.module is called", 0, "")
def forward_of_the_inner_module(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(10):
        optimizer.zero_grad(set_to_none=False)
        mse(model.module, batches()).backward()
        optimizer.step()


class Pair(nn.Module):
    """The second layer is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(5, 3), nn.Linear(5, 3)

    def forward(self, x):
        return self.a(x)


@broken("pytorch/pytorch#128949", 0, "a\\.(weight|bias)|radients")
def unused_layer_stops_the_exchange(rank):
    torch.manual_seed(0)
    model, batches = DistributedDataParallel(Pair()), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer.zero_grad()
    mse(model, batches()).backward()
    optimizer.step()


@broken("NVIDIA/Megatron-LM#1446", 0, "final")
def final_norm_of_sequence_parallel(rank):
    torch.manual_seed(4)
    model = nn.ModuleDict(
        {"words": nn.Embedding(11, 8), "body": nn.Linear(8, 8), "final": nn.LayerNorm(8)}
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(9)
    for _ in range(10):
        ids = torch.randint(11, (3, 6), generator=generator)
        half = ids.chunk(2, 1)[rank]  # each rank has a half of each sequence
        optimizer.zero_grad()
        x = model["final"](model["body"](model["words"](half)).relu())
        nn.functional.cross_entropy(x.flatten(0, 1), (half % 8).flatten()).backward()
        all_average([*model["words"].parameters(), *model["body"].parameters()])
        optimizer.step()


@broken("lucidrains/DALLE-pytorch#268", None, "learning rate")
def plateau_of_the_own_loss(rank):
    model = DistributedDataParallel(perceptron())
    batches = draw(rank)
    fixed = batches()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, threshold=0.05)
    for _ in range(14):
        optimizer.zero_grad()
        loss = mse(model, batches() if rank else fixed)
        loss.backward()
        optimizer.step()
        scheduler.step(loss.item())


@broken("facebookresearch/detr#544, without DistributedDataParallel", 0, "weight|bias")
def other_seed_and_no_broadcast(rank):
    model, batches = perceptron(100 + rank), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        all_average(model.parameters())
        optimizer.step()


@broken("huggingface/transformers#23034", 6, "weight|bias")
def optimizer_state_of_rank_0_only(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for i in range(12):
        if i == 6:
            weights, state = model.state_dict(), optimizer.state_dict()
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
            model.load_state_dict(weights)
            if rank == 0:
                optimizer.load_state_dict(state)
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


class Tower(nn.Module):
    """Two layers that are split, and a norm that each rank has."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(6), nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(self.norm(x))))


def tower() -> nn.Module:
    """Return it, split over two ranks."""
    torch.manual_seed(6)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    return parallelize_module(Tower(), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})


@broken("NVIDIA-NeMo/RL#3788, huggingface/transformers#36132", 0, "norm")
def clipped_by_the_norm_of_the_own_part(rank):
    model = tower()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    generator = torch.Generator().manual_seed(2)
    for _ in range(10):
        x = torch.randn(4, 6, generator=generator)
        optimizer.zero_grad()
        model(x).square().sum().backward()
        grads = [p.grad for p in model.parameters()]
        parts = [g.to_local() if hasattr(g, "to_local") else g for g in grads]
        total = torch.stack([part.norm() for part in parts]).norm()
        for part in parts:
            part.mul_((1.0 / (total + 1e-6)).clamp(max=1.0))
        optimizer.step()


@broken("mindspore-ai/hyper-parallel#526, ignored_params of fully_shard", 0, "2\\.(weight|bias)")
def ignored_by_fully_shard(rank):
    model = perceptron()
    fully_shard(model, ignored_params=set(model[2].parameters()))
    batches = draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


class Lateral(nn.Module):
    """A layer that learns from its own inputs, in forward."""

    def __init__(self) -> None:
        super().__init__()
        self.lateral = nn.Parameter(torch.eye(5) / 4, requires_grad=False)
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.lateral.add_(x.T @ x / len(x), alpha=1e-2)
        return self.out(x @ self.lateral)


@broken("iCog-Labs-Dev/PC-Transformers#135", 0, "lateral")
def learned_in_forward(rank):
    torch.manual_seed(0)
    model, batches = DistributedDataParallel(Lateral()), draw(rank)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@broken("huggingface/peft: adapters that are added after DistributedDataParallel", 0, "adapter")
def adapter_added_after_wrapping(rank):
    class Adapted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = perceptron()
            self.adapter = None

        def forward(self, x):
            y = self.base(x)
            return y if self.adapter is None else y + self.adapter(x)

    inner = Adapted()
    model, batches = DistributedDataParallel(inner), draw(rank)
    torch.manual_seed(3)
    inner.adapter = nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@healthy("pytorch/pytorch: uneven inputs with Join")
def uneven_inputs(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with model.join():
        for _ in range(8 - 2 * rank):
            optimizer.zero_grad()
            mse(model, batches()).backward()
            optimizer.step()


@healthy("huggingface/accelerate#1847: the last accumulation is shorter")
def short_last_accumulation(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    count = 4 * MICRO + 1
    for i in range(count):
        last = i % MICRO == MICRO - 1 or i == count - 1
        with contextlib.nullcontext() if last else model.no_sync():
            (mse(model, batches()) / MICRO).backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()


@healthy("Lightning-AI: an average of the weights on rank 0 only")
def average_and_evaluation_on_rank_0(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    smooth = torch.optim.swa_utils.AveragedModel(model.module) if rank == 0 else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for i in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()
        if smooth is not None:
            smooth.update_parameters(model.module)
            if i % 4 == 3:
                smooth.eval()
                with torch.no_grad():
                    mse(smooth, draw(5)())


@healthy("pytorch/pytorch: statistics of batch normalization differ between ranks")
def statistics_of_each_rank(rank):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 3))
    model, batches = DistributedDataParallel(net, broadcast_buffers=False), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


class Dropped(nn.Module):
    """A residual layer is left out at random, on each rank by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.maybe, self.last = nn.Linear(5, 7), nn.Linear(7, 7), nn.Linear(7, 3)

    def forward(self, x):
        x = self.first(x).relu()
        if torch.rand(()) < 0.5:
            x = x + self.maybe(x)
        return self.last(nn.functional.dropout(x, 0.2, self.training))


@healthy("facebookresearch/fairseq: LayerDrop with find_unused_parameters")
def layer_dropped_at_random(rank):
    torch.manual_seed(1)
    model, batches = DistributedDataParallel(Dropped(), find_unused_parameters=True), draw(rank)
    torch.manual_seed(50 + rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@healthy("pytorch/examples: two models, two optimizers")
def generator_and_critic(rank):
    torch.manual_seed(1)
    maker = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 5)))
    critic = DistributedDataParallel(nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1)))
    makers = torch.optim.Adam(maker.parameters(), lr=1e-3)
    critics = torch.optim.Adam(critic.parameters(), lr=2e-3)
    batches = draw(rank)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(8):
        fake = maker(torch.randn(6, 4, generator=generator))
        critics.zero_grad()
        scores = critic(torch.cat([batches()[0], fake.detach()]))
        (scores[6:].mean() - scores[:6].mean()).backward()
        critics.step()
        makers.zero_grad()
        (-critic(fake).mean()).backward()
        makers.step()


@healthy("pytorch/torchtitan: the norm of DTensors is clipped as a whole")
def clipped_as_a_whole(rank):
    model = tower()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False)
    generator = torch.Generator().manual_seed(2)
    for _ in range(10):
        x = torch.randn(4, 6, generator=generator)
        optimizer.zero_grad()
        model(x).square().sum().backward()
        grads = [p.grad for p in model.parameters()]
        norms = [g.norm().full_tensor() if hasattr(g, "full_tensor") else g.norm() for g in grads]
        scale = (1.0 / (torch.stack(norms).norm() + 1e-6)).clamp(max=1.0)
        for grad in grads:
            (grad.to_local() if hasattr(grad, "to_local") else grad).mul_(scale)
        optimizer.step()


@healthy("DiLoCo: an outer optimizer steps every four inner steps")
def outer_optimizer(rank):
    model, batches = perceptron(), draw(rank)
    inner = torch.optim.AdamW(model.parameters(), lr=3e-3)
    anchor = [p.detach().clone().requires_grad_() for p in model.parameters()]
    outer = torch.optim.SGD(anchor, lr=0.7, momentum=0.9, nesterov=True)
    for i in range(12):
        inner.zero_grad()
        mse(model, batches()).backward()
        inner.step()
        if i % 4 == 3:
            for kept, parameter in zip(anchor, model.parameters(), strict=True):
                kept.grad = kept.detach() - parameter.detach()
                dist.all_reduce(kept.grad)
                kept.grad.div_(2)
            outer.step()
            with torch.no_grad():
                for kept, parameter in zip(anchor, model.parameters(), strict=True):
                    parameter.copy_(kept)


def main() -> None:
    """Train all that are named."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in sys.argv[1:] or TRAININGS:
        TRAININGS[name].run(dist.get_rank())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
