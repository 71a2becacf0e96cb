"""The plans: the right ones, and each mutation with the module that it changes.

A plan is a table of styles, by module, and code that follows it. A mutation changes one entry, or
adds code. `right` plans are those that PyTorch's own tutorials and libraries write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

COL, ROW = "ColwiseParallel()", "RowwiseParallel()"
SP = "SequenceParallel()"
COL_SP = "ColwiseParallel(input_layouts=Shard(1))"
ROW_SP = "RowwiseParallel(output_layouts=Shard(1))"

Styles = dict[str, str]


@dataclass(frozen=True)
class Case:
    """One plan. `truth` is the module that the mutation changed, "" for a right plan."""

    model: str
    name: str
    styles: Styles
    mesh: str = "tp:2"
    truth: str = ""
    kind: str = "right"
    code: str = ""

    def source(self) -> str:
        """The file of the plan."""
        lines = [f"        {name!r}: {style}," for name, style in self.styles.items()]
        apply = (
            ""
            if not self.styles
            else ("    parallelize_module(model, tp, {\n" + "\n".join(lines) + "\n    })\n")
        )
        return (
            HEAD
            + apply
            + "".join(f"    {line}\n" for line in self.code.splitlines())
            + ("" if self.code.startswith("return") else "    return model\n")
        )


HEAD = """import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel, SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel


def apply(model, mesh):
    names = mesh.mesh_dim_names
    tp = mesh["tp"] if "tp" in names and len(names) > 1 else mesh
    dp = mesh["dp"] if "dp" in names and len(names) > 1 else mesh
"""


def attention(prefix: str, names: str, out: str) -> Styles:
    return {**{f"{prefix}.{n}": COL for n in names.split()}, f"{prefix}.{out}": ROW}


GPT: Styles = {
    f"blocks.{i}.{name}": style
    for i in range(2)
    for name, style in {
        "0.q": COL, "0.k": COL, "0.v": COL, "0.out": ROW, "1.up": COL, "1.down": ROW,
    }.items()
}  # fmt: skip
GPT_SP: Styles = {
    "words": "PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(1))",
    "places": "PrepareModuleOutput(output_layouts=Replicate(), desired_output_layouts=Shard(0))",
    **{
        f"blocks.{i}.{name}": style
        for i in range(2)
        for name, style in {
            "0.norm": SP, "0.q": COL_SP, "0.k": COL_SP, "0.v": COL_SP, "0.out": ROW_SP,
            "1.norm": SP, "1.up": COL_SP, "1.down": ROW_SP,
        }.items()
    },
    "norm": SP,
    "head": "ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())",
}  # fmt: skip
TIED: Styles = {
    "blocks.0.0.q": COL, "blocks.0.0.k": COL, "blocks.0.0.v": COL, "blocks.0.0.out": ROW,
    "blocks.0.1.up": COL, "blocks.0.1.down": ROW,
}  # fmt: skip
VOCABULARY = "RowwiseParallel(input_layouts=Replicate())"
TIED_VOCABULARY: Styles = {
    "words": VOCABULARY, **TIED, "head": "ColwiseParallel(output_layouts=Replicate())",
}  # fmt: skip
MLP: Styles = {"1.up": COL, "1.down": ROW, "2.up": COL, "2.down": ROW}
MOE: Styles = {f"experts.{i}.{n}": s for i in range(3) for n, s in {"up": COL, "down": ROW}.items()}
LLAMA: Styles = {}
for _i in range(2):
    LLAMA |= attention(f"model.layers.{_i}.self_attn", "q_proj k_proj v_proj", "o_proj")
    LLAMA |= attention(f"model.layers.{_i}.mlp", "gate_proj up_proj", "down_proj")
LLAMA_ALL: Styles = {
    "model.embed_tokens": VOCABULARY, **LLAMA,
    "lm_head": "ColwiseParallel(output_layouts=Replicate())",
}  # fmt: skip
BERT: Styles = {}
for _i in range(2):
    _layer = f"bert.encoder.layer.{_i}"
    BERT |= attention(f"{_layer}.attention.self", "query key value", "")
    BERT.pop(f"{_layer}.attention.self.")
    BERT |= {f"{_layer}.attention.output.dense": ROW}
    BERT |= {f"{_layer}.intermediate.dense": COL, f"{_layer}.output.dense": ROW}

FSDP_BLOCKS = """
for block in BLOCKS:
    fully_shard(block, mesh=dp)
fully_shard(model, mesh=dp)
"""
DDP = "return DistributedDataParallel(model)"
AVERAGE = """
def average(p):
    dist.all_reduce(p.grad)
    p.grad.div_(dist.get_world_size())
for name, p in model.named_parameters():
    times = 0 if name.startswith(OMITTED) else 1
    for _ in range(times):
        p.register_post_accumulate_grad_hook(average)
    if name.startswith(TWICE):
        p.register_post_accumulate_grad_hook(lambda p: dist.all_reduce(p.grad))
"""
# Megatron's way: plain tensors, and reductions by hand.
MEGATRON = """
class Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g
class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g
rank, world = dist.get_rank(), dist.get_world_size()
def part(module, dim):
    module.weight = nn.Parameter(module.weight.detach().chunk(world, dim)[rank].clone())
    if dim == 0 and module.bias is not None:
        module.bias = nn.Parameter(module.bias.detach().chunk(world)[rank].clone())
for name in ("1", "2"):
    block = model.get_submodule(name)
    part(block.up, 0)
    part(block.down, 1)
    bias = block.down.bias
    if ENTER or name != "2":
        block.up.register_forward_pre_hook(lambda m, args: (Enter.apply(args[0]),))
    def leave(m, args, y, last=name == "2"):
        if last and LEAVE == 0:
            return y
        y = y - m.bias
        for _ in range(LEAVE if last else 1):
            y = Leave.apply(y)
        return y + m.bias
    block.down.register_forward_hook(leave)
"""


def average(omitted: str = "?", twice: str = "?") -> str:
    return AVERAGE.replace("OMITTED", repr(omitted)).replace("TWICE", repr(twice))


def megatron(enter: bool = True, leave: int = 1) -> str:
    return MEGATRON.replace("ENTER", str(enter)).replace("LEAVE", str(leave))


def blocks(code: str, names: str) -> str:
    return code.replace("BLOCKS", names)


def right() -> Iterator[Case]:
    yield Case("gpt", "tp", GPT)
    yield Case("gpt", "sp", GPT_SP)
    yield Case("gpt", "sp on 4", GPT_SP, mesh="tp:4")
    # SequenceParallel returns DTensors, whose placements count, and not what the next layer says.
    yield Case("gpt", "sp, other input layouts", {**GPT_SP, "blocks.0.1.up": COL})
    yield Case("gpt", "fsdp", {}, "dp:2", code=blocks(FSDP_BLOCKS, "model.blocks"))
    yield Case("gpt", "tp and fsdp", GPT, "dp:2,tp:2", code=blocks(FSDP_BLOCKS, "model.blocks"))
    yield Case("tied", "tp", TIED)
    yield Case("tied", "ddp", {}, "dp:2", code=DDP)
    yield Case("moe", "tp", MOE)
    yield Case("moe", "hsdp", {}, "replicate:2,shard:2", code=blocks(FSDP_BLOCKS, "model.experts"))
    yield Case("mlp", "tp", MLP)
    yield Case("mlp", "tp on 4", MLP, mesh="tp:4")
    yield Case("mlp", "by hand", {}, code=megatron())
    yield Case("mlp", "average by hand", {}, "dp:2", code=average())
    yield Case("llama", "tp", LLAMA)
    yield Case("llama", "tp with the vocabulary", LLAMA_ALL)
    yield Case("llama", "fsdp", {}, "dp:2", code=blocks(FSDP_BLOCKS, "model.model.layers"))
    yield Case("bert", "tp", BERT)
    yield Case("bert", "ddp", {}, "dp:2", code=DDP)


@dataclass
class Mutations:
    """Mutations of one plan."""

    model: str
    styles: Styles
    mesh: str = "tp:2"
    cases: list[Case] = field(default_factory=list)

    def add(self, kind: str, truth: str, style: str | None, code: str = "") -> None:
        styles = dict(self.styles)
        if style is None:
            styles.pop(truth, None)
        elif style:
            styles[truth] = style
        self.cases.append(
            Case(self.model, f"{kind}: {truth}", styles, self.mesh, truth, kind, code)
        )


TWICE = """
def again(module, args, output):
    dist.all_reduce(output)
    return output
model.get_submodule("MODULE").register_forward_hook(again)
"""
PARTIAL_OUTPUT = "RowwiseParallel(output_layouts=Partial())"


def twice(module: str) -> str:
    return TWICE.replace("MODULE", module)


def mutated() -> Iterator[Case]:
    gpt = Mutations("gpt", GPT)
    for name in ("blocks.0.0.q", "blocks.1.0.v", "blocks.0.1.up", "blocks.1.1.down"):
        gpt.add("left out", name, None)
    gpt.add("wrong dimension", "blocks.0.0.k", ROW)
    gpt.add("wrong dimension", "blocks.1.1.up", ROW)
    gpt.add("missing reduction", "blocks.0.1.down", PARTIAL_OUTPUT)
    gpt.add("missing reduction", "blocks.1.0.out", PARTIAL_OUTPUT)
    gpt.add("wrong input", "blocks.0.0.out", "RowwiseParallel(input_layouts=Replicate())")
    gpt.add("double reduction", "blocks.0.1.down", "", twice("blocks.0.1.down"))
    gpt.add("double reduction", "blocks.1.0.out", "", twice("blocks.1.0.out"))
    yield from gpt.cases
    sp = Mutations("gpt", GPT_SP)
    for name in ("blocks.0.0.norm", "blocks.1.1.norm", "norm", "blocks.0.1.norm"):
        sp.add("norm outside", name, None)
    sp.add("wrong dimension", "blocks.1.0.norm", "SequenceParallel(sequence_dim=2)")
    sp.add("wrong output", "blocks.1.0.out", ROW)
    sp.add("wrong output", "blocks.0.1.down", ROW)
    sp.add("missing reduction", "blocks.0.0.out", PARTIAL_OUTPUT)
    sp.add("left out", "blocks.1.1.up", None)
    yield from sp.cases
    tied = Mutations("tied", TIED)
    tied.add("left out", "blocks.0.0.k", None)
    tied.add("left out", "blocks.0.1.down", None)
    tied.add("missing reduction", "blocks.0.1.down", PARTIAL_OUTPUT)
    tied.add("wrong dimension", "blocks.0.1.up", ROW)
    tied.add("double reduction", "blocks.0.0.out", "", twice("blocks.0.0.out"))
    yield from tied.cases
    mlp = Mutations("mlp", MLP)
    mlp.add("left out", "1.up", None)
    mlp.add("left out", "2.down", None)
    mlp.add("wrong dimension", "2.up", ROW)
    mlp.add("missing reduction", "1.down", PARTIAL_OUTPUT)
    mlp.add("missing reduction", "2.down", PARTIAL_OUTPUT)
    mlp.add("double reduction", "2.down", "", twice("2.down"))
    mlp.add("wrong input", "1.up", "ColwiseParallel(input_layouts=Shard(0))")
    yield from mlp.cases
    yield Case("mlp", "missing reduction: backward of 2.up", {}, truth="2.up",
               kind="missing reduction", code=megatron(enter=False))  # fmt: skip
    yield Case("mlp", "missing reduction: by hand 2.down", {}, truth="2.down",
               kind="missing reduction", code=megatron(leave=0))  # fmt: skip
    yield Case("mlp", "double reduction: by hand 2.down", {}, truth="2.down",
               kind="double reduction", code=megatron(leave=2))  # fmt: skip
    moe = Mutations("moe", MOE)
    moe.add("left out", "experts.1.up", None)
    moe.add("missing reduction", "experts.2.down", PARTIAL_OUTPUT)
    moe.add("double reduction", "experts.0.down", "", twice("experts.0.down"))
    moe.add("wrong dimension", "experts.0.down", COL)
    yield from moe.cases
    llama = Mutations("llama", LLAMA)
    layer = "model.layers"
    llama.add("left out", f"{layer}.0.self_attn.v_proj", None)
    llama.add("left out", f"{layer}.1.mlp.gate_proj", None)
    llama.add("left out", f"{layer}.1.self_attn.o_proj", None)
    llama.add("wrong dimension", f"{layer}.0.mlp.up_proj", ROW)
    llama.add("missing reduction", f"{layer}.0.mlp.down_proj", PARTIAL_OUTPUT)
    llama.add("missing reduction", f"{layer}.1.self_attn.o_proj", PARTIAL_OUTPUT)
    llama.add("double reduction", f"{layer}.0.self_attn.o_proj", "",
              twice(f"{layer}.0.self_attn.o_proj"))  # fmt: skip
    llama.add("double reduction", f"{layer}.1.mlp.down_proj", "",
              twice(f"{layer}.1.mlp.down_proj"))  # fmt: skip
    yield from llama.cases
    bert = Mutations("bert", BERT)
    bert.add("left out", "bert.encoder.layer.0.attention.self.key", None)
    bert.add("missing reduction", "bert.encoder.layer.1.output.dense", PARTIAL_OUTPUT)
    bert.add("double reduction", "bert.encoder.layer.0.attention.output.dense", "",
             twice("bert.encoder.layer.0.attention.output.dense"))  # fmt: skip
    yield from bert.cases
    yield from data()


SOME_SHARDED = """
for block in model.blocks:
    fully_shard(block, mesh=dp)
for module in (model.words, model.places, model.norm):
    fully_shard(module, mesh=dp)
"""


def data() -> Iterator[Case]:
    """Mutations of data parallelism."""
    yield Case("gpt", "left out of fsdp: head", {}, "dp:2", "head", "left out", SOME_SHARDED)
    yield Case("mlp", "left out of the average: 2.norm", {}, "dp:2", "2.norm", "missing reduction",
               average(omitted="2.norm"))  # fmt: skip
    yield Case("mlp", "summed after the average: 1.down", {}, "dp:2", "1.down", "double reduction",
               average(twice="1.down"))  # fmt: skip
