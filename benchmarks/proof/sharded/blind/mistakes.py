"""`torchrun … mistakes.py [NAMES]`: twenty broken and eight healthy trainings of two ranks.

A second list beside `trainings.py`, written by someone who had read what the guide says of
`ranks_agree`, but neither its sources nor the other list of faults that it was written with.
"""

from __future__ import annotations

import contextlib
import math
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.nn.functional import all_gather
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from benchmarks.proof.sharded.blind.trainings import (
    MICRO,
    Training,
    all_average,
    draw,
    mse,
    perceptron,
    tower,
)

MISTAKES: dict[str, Training] = {}


def mistake(what: str, step: int | None, sign: str = ""):
    """Add a training in which rank 1 is wrong from a step on; None if it is healthy."""

    def add(function):
        MISTAKES[function.__name__] = Training(function, what, step, sign)
        return function

    return add


def right(what: str):
    """Add a training in which the ranks do what they must."""
    return mistake(what, None)


def average_of_all(model) -> None:
    """Average gradients by hand, zeros for those that this rank does not have."""
    for parameter in model.parameters():
        grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        dist.all_reduce(grad)
        if parameter.grad is not None:
            parameter.grad.div_(2)


@mistake(
    "the last layer is initialized again on one rank, after DDP has sent the weights",
    0,
    "3\\.(weight|bias)",
)
def head_initialized_again(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    if rank == 1:
        model.module[3].reset_parameters()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("a layer is frozen on one rank from a step on", 6, "0\\.(weight|bias)|frozen|grad")
def frozen_on_one_rank(rank):
    model, batches = perceptron(), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(10):
        if i == 6 and rank == 1:
            model[0].requires_grad_(False)
        optimizer.zero_grad()
        mse(model, batches()).backward()
        average_of_all(model)
        optimizer.step()


class Quantizer(nn.Module):
    """Each input goes to the nearest code; the codes follow the means of their inputs."""

    def __init__(self, *, averaged: bool) -> None:
        super().__init__()
        self.inside, self.outside, self.averaged = nn.Linear(5, 4), nn.Linear(4, 3), averaged
        self.register_buffer("codebook", torch.randn(6, 4))

    def forward(self, x):
        x = self.inside(x)
        picked = torch.cdist(x, self.codebook).argmin(1)
        if self.training:
            with torch.no_grad():
                sums = torch.zeros_like(self.codebook).index_add_(0, picked, x)
                counts = torch.bincount(picked, minlength=6).float()
                if self.averaged:
                    dist.all_reduce(sums)
                    dist.all_reduce(counts)
                means = sums / counts.clamp(min=1)[:, None]
                self.codebook.lerp_(means, 0.1)
        return self.outside(x + (self.codebook[picked] - x).detach())


def quantize(rank, *, averaged: bool) -> None:
    """Train with a codebook."""
    torch.manual_seed(3)
    net = Quantizer(averaged=averaged)
    model, batches = DistributedDataParallel(net, broadcast_buffers=False), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("the codebook of a VQ-VAE, a buffer, follows the inputs of its own rank", 0, "codebook")
def codebook_of_each_rank(rank):
    quantize(rank, averaged=False)


@mistake("one rank of a tensor parallel group draws one more random number at a step", 5)
def one_more_random_number(rank):
    model = tower()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(8)
    for i in range(10):
        if i == 5 and rank == 1:
            torch.rand(())
        optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()


@mistake("the learning rate of the second group of parameters", 4, "learning rate")
def rate_of_the_second_group(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    groups = [{"params": model.module[0].parameters()}, {"params": model.module[2:].parameters()}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3)
    for i in range(9):
        if i == 4 and rank == 1:
            optimizer.param_groups[1]["lr"] = 2e-3
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("the warmup is as long as the data loader of the rank", 1, "learning rate")
def warmup_of_the_own_length(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    length = 100 + 7 * rank
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1, 0.1 + i / length))
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()
        schedule.step()


@mistake("only matrices are averaged", 0, "bias|2\\.weight")
def vectors_not_averaged(rank):
    model, batches = perceptron(), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        all_average([p for p in model.parameters() if p.dim() > 1])
        optimizer.step()


@mistake("weights are rounded at random, with the generator of each rank", 0)
def rounded_at_random(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(40 + rank)
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()
        with torch.no_grad():
            for parameter in model.parameters():
                scaled = parameter * 2**12
                parameter.copy_((scaled + torch.rand_like(scaled)).floor() / 2**12)


@mistake("batch normalization is in eval mode on one rank from a step on", 3, "mode|eval")
def batch_norm_in_eval(rank):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 3))
    model, batches = DistributedDataParallel(net), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(9):
        if i == 3 and rank == 1:
            model.module[1].eval()
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("the probability of dropout is another on one rank", 4, "dropout|Dropout|probab")
def other_dropout(rank):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 9), nn.Dropout(0.1), nn.ReLU(), nn.Linear(9, 3))
    model, batches = DistributedDataParallel(net), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(9):
        if i == 4 and rank == 1:
            model.module[1].p = 0.5
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


class Words(nn.Module):
    """A small language model whose two matrices are one."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.body = nn.Embedding(11, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.words.weight

    def forward(self, ids):
        return self.head(self.body(self.words(ids)).relu())


@mistake("tied weights are not tied on one rank", None, "head|words|tied|parameters")
def untied_on_one_rank(rank):
    torch.manual_seed(2)
    model = Words()
    if rank == 1:
        model.head.weight = nn.Parameter(model.head.weight.detach().clone())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(9):
        ids = torch.randint(11, (3, 6), generator=generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()
        all_average([model.words.weight, *model.body.parameters()])
        optimizer.step()


@mistake("one rank of FSDP2 leaves out the step of the optimizer once", 5)
def step_left_out_in_fsdp(rank):
    model, batches = perceptron(), draw(rank)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        if not (i == 5 and rank == 1):
            optimizer.step()


@mistake("Adam has other betas on one rank of FSDP2", None, "beta|optimizer")
def betas_in_fsdp(rank):
    model, batches = perceptron(), draw(rank)
    fully_shard(model)
    betas = (0.9, 0.95) if rank else (0.9, 0.999)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=betas)
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("the copy of a bias in tensor parallelism is changed on one rank", 6, "down\\.bias")
def copy_of_a_bias(rank):
    model = tower()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(2)
    for i in range(10):
        if i == 6 and rank == 1:
            with torch.no_grad():
                model.down.bias.to_local().mul_(1.01)
        x = torch.randn(4, 6, generator=generator)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


@mistake("one rank reads an older checkpoint", 6, "weight|bias|parameters")
def older_checkpoint(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    saved = {}
    for i in range(10):
        if i == 3:
            saved = {k: v.clone() for k, v in model.state_dict().items()}
        if i == 6 and rank == 1:
            model.load_state_dict(saved)
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("one rank accumulates over fewer batches", 0, "forward|backward")
def accumulates_less(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    count = 2 if rank else 4
    for _ in range(8):
        optimizer.zero_grad()
        with model.no_sync():
            for _ in range(count - 1):
                (mse(model, batches()) / count).backward()
        (mse(model, batches()) / count).backward()
        optimizer.step()


@mistake("one rank does not set gradients to zero once", 4, "zero|gradient")
def gradients_kept_once(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for i in range(9):
        if not (i == 4 and rank == 1):
            optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("DDP is told to leave a parameter out", 0, "0\\.weight")
def left_out_of_ddp(rank):
    net, batches = perceptron(), draw(rank)
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(net, ["0.weight"])
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("a layer that was frozen as DDP wrapped it is trained later", 4, "0\\.(weight|bias)")
def unfrozen_after_wrapping(rank):
    net, batches = perceptron(), draw(rank)
    net[0].requires_grad_(False)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for i in range(10):
        if i == 4:
            net[0].requires_grad_(True)
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@mistake("the process group of DDP has one rank", 0)
def group_of_one_rank(rank):
    net, batches = perceptron(), draw(rank)
    groups = [dist.new_group([0]), dist.new_group([1])]
    model = DistributedDataParallel(net, process_group=groups[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(9):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@right("dropout draws other numbers on each rank")
def dropout_of_each_rank(rank):
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(5, 9), nn.Dropout(0.3), nn.ReLU(), nn.Linear(9, 3))
    model, batches = DistributedDataParallel(net), draw(rank)
    torch.manual_seed(60 + rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


class Adapter(nn.Module):
    """A frozen layer, with a small one beside it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


@right("adapters on frozen layers, with checkpoints of activations")
def adapters_and_checkpoints(rank):
    torch.manual_seed(1)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Adapter(nn.Linear(5, 8)), Adapter(nn.Linear(8, 3))

        def forward(self, x):
            x = checkpoint(self.first, x, use_reentrant=False)
            return checkpoint(self.second, x.relu(), use_reentrant=False)

    model, batches = DistributedDataParallel(Net()), draw(rank)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()


@right("gradients are exchanged in float16")
def exchanged_in_float16(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    model.register_comm_hook(None, fp16_compress_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@right("rank 0 makes samples between the steps, in train mode")
def samples_on_rank_0(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i in range(10):
        optimizer.zero_grad()
        mse(model, batches()).backward()
        optimizer.step()
        if rank == 0 and i % 3 == 0:
            with torch.no_grad():
                model.module(torch.zeros(1, 5))


@right("contrastive: embeddings of all ranks are gathered, with their gradients")
def gathered_embeddings(rank):
    model, batches = DistributedDataParallel(perceptron()), draw(rank)
    scale = nn.Parameter(torch.tensor(math.log(10)))
    optimizer = torch.optim.AdamW([*model.parameters(), scale], lr=1e-3)
    for _ in range(10):
        x, _ = batches()
        optimizer.zero_grad()
        a, b = model(torch.cat([x, x + 0.01])).chunk(2)
        every = torch.cat(all_gather(nn.functional.normalize(b)))
        logits = scale.exp() * nn.functional.normalize(a) @ every.T
        nn.functional.cross_entropy(logits, torch.arange(6) + 6 * rank).backward()
        all_average([scale])
        optimizer.step()


@right("FSDP2 in bfloat16, with accumulation without exchange")
def accumulated_in_fsdp(rank):
    model, batches = perceptron(), draw(rank)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(8):
        optimizer.zero_grad()
        for micro in range(MICRO):
            model.set_requires_gradient_sync(micro == MICRO - 1)
            x, y = batches()
            (nn.functional.mse_loss(model(x.bfloat16()).float(), y) / MICRO).backward()
        optimizer.step()


@right("the codebook of a VQ-VAE follows the inputs of all ranks")
def codebook_of_all_ranks(rank):
    quantize(rank, averaged=True)


class Copied(torch.autograd.Function):
    """A copy on each rank, whose gradients are added up (Megatron's f)."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad


class Summed(torch.autograd.Function):
    """The sum over the ranks, whose gradient each rank gets (Megatron's g)."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class ByHand(nn.Module):
    """A layer that is split over the ranks, without DTensor; each rank has its own half."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(6)
        up, down = nn.Linear(6, 12), nn.Linear(12, 6, bias=False)
        half = slice(6 * rank, 6 * rank + 6)
        self.up_weight = nn.Parameter(up.weight.detach()[half].clone())
        self.up_bias = nn.Parameter(up.bias.detach()[half].clone())
        self.down_weight = nn.Parameter(down.weight.detach()[:, half].clone())

    def forward(self, x):
        y = Copied.apply(self.norm(x))
        y = nn.functional.gelu(nn.functional.linear(y, self.up_weight, self.up_bias))
        return x + Summed.apply(nn.functional.linear(y, self.down_weight))


@right("tensor parallelism by hand: each rank has a half of the weights, as plain tensors")
def split_by_hand(rank):
    torch.manual_seed(6)
    model = nn.Sequential(ByHand(rank), ByHand(rank))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(2)
    for _ in range(10):
        optimizer.zero_grad()
        model(torch.randn(4, 6, generator=generator)).square().mean().backward()
        optimizer.step()


def main() -> None:
    """Train all that are named."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in sys.argv[1:] or MISTAKES:
        MISTAKES[name].run(dist.get_rank())
    with contextlib.suppress(RuntimeError):
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
