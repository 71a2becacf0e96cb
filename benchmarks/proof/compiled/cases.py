"""Models whose compiled form computes something else, each at one known layer."""

from __future__ import annotations

from dataclasses import dataclass

_MODEL = """
import math
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1)
        return self.out(weights @ v)


class Act(nn.Module):
    def forward(self, x):
        return F.gelu(x)


class Mlp(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(d, 2 * d), Act(), nn.Linear(2 * d, d)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attention, self.mlp = Attention(d), Mlp(d)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Net(nn.Module):
    def __init__(self, d=32, depth=3):
        super().__init__()
        self.embed = nn.Embedding(50, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 50)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def nth(graph, function, number):
    names = function if isinstance(function, tuple) else (function,)
    return [n for n in graph.nodes if n.op == "call_function" and n.target in names][number]
"""

_CNN = """
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.pool, self.head = nn.MaxPool2d(2), nn.Linear(8 * 16, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        return self.head(x.flatten(1))


def nth(graph, function, number):
    return [n for n in graph.nodes if n.op == "call_function" and n.target is function][number]
"""

_EDIT = """

def backend(gm, inputs):
    graph = gm.graph
{body}
    graph.lint()
    gm.recompile()
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.debugging import aot_eager
    return aot_eager(gm, inputs)
"""

_DECOMPOSED = """

def backend(gm, inputs):
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    aten = torch.ops.aten
{body}
    compiler = aot_autograd(
        fw_compiler=lambda g, _: make_boxed_func(g.forward), decompositions=table
    )
    return compiler(gm, inputs)
"""


@dataclass(frozen=True, slots=True)
class Divergence:
    """A file of a model, the settings of its compiled side, and the layers that are right."""

    name: str
    source: str
    query: str
    names: tuple[str, ...]
    input: str = "2x8:int64:0..49"
    backward: bool = False  # only gradients differ


def _edited(name: str, body: str, *names: str, model: str = _MODEL, **more: object) -> Divergence:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    source = model + _EDIT.format(body=lines)
    query = "compile=FILE:backend" + str(more.pop("query", ""))
    return Divergence(name, source, query, names, **more)  # type: ignore[arg-type]


def _decomposed(name: str, body: str, *names: str, **more: object) -> Divergence:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return Divergence(
        name, _MODEL + _DECOMPOSED.format(body=lines), "compile=FILE:backend", names, **more
    )  # type: ignore[arg-type]


def _replaced(
    name: str,
    old: str,
    new: str,
    *names: str,
    backend: str = "aot_eager",
    backward: bool = False,
    model: str = _MODEL,
    input: str = "2x8:int64:0..49",
    more: str = "",
    query: str = "",
) -> Divergence:
    if old not in model:
        raise ValueError(f"{name}: the model has no {old!r}")
    source = model.replace(old, new) + more
    return Divergence(name, source, f"compile={backend}{query}", names, input, backward)


_IMAGE = {"model": _CNN, "input": "4x3x8x8"}

DIVERGENCES = (
    # Graphs that a backend edits.
    _edited(
        "gelu becomes its tanh approximation",
        """
node = nth(graph, F.gelu, 1)
node.kwargs = {"approximate": "tanh"}
""",
        "blocks.1.mlp.act",
    ),
    _edited(
        "an epsilon of a norm is 1e-2",
        """
node = nth(graph, F.layer_norm, 2)
node.args = (*node.args[:-1], 1e-2)
""",
        "blocks.1.norm1",
    ),
    _edited(
        "softmax over the other dimension",
        """
nth(graph, F.softmax, 1).kwargs = {"dim": -2}
""",
        "blocks.1.attention",
        "blocks.1.attention.out",
    ),
    _edited(
        "a linear layer in bfloat16",
        """
node = nth(graph, torch._C._nn.linear, 4)
with graph.inserting_after(node):
    low = graph.call_method("to", (node, torch.bfloat16))
with graph.inserting_after(low):
    back = graph.call_method("to", (low, torch.float32))
node.replace_all_uses_with(back)
low.args = (node, torch.bfloat16)
""",
        "blocks.1.attention.qkv",
    ),
    _edited(
        "a linear layer loses its bias",
        """
node = nth(graph, torch._C._nn.linear, 6)
node.args = (node.args[0], node.args[1], None)
""",
        "blocks.1.mlp.up",
    ),
    _edited(
        "a residual connection is dropped",
        """
import operator
node = nth(graph, operator.add, 3)
node.replace_all_uses_with(node.args[1])
graph.erase_node(node)
""",
        "blocks.1",
    ),
    _edited(
        "attention is scaled by another root",
        """
import operator
node = nth(graph, operator.truediv, 0)
node.args = (node.args[0], node.args[1] * 1.05)
""",
        "blocks.0.attention",
        "blocks.0.attention.out",
    ),
    _edited(
        "rows of an embedding are shifted by one",
        """
node = nth(graph, F.embedding, 0)
with graph.inserting_before(node):
    moved = graph.call_function(torch.remainder, (graph.call_function(torch.add,
                                (node.args[0], 1)), 50))
node.args = (moved, *node.args[1:])
""",
        "embed",
    ),
    _edited(
        "a convolution pads with other values",
        """
node = nth(graph, torch.conv2d, 1)
with graph.inserting_before(node):
    padded = graph.call_function(F.pad, (node.args[0], (1, 1, 1, 1), "replicate"))
node.args = (padded, *node.args[1:4], (0, 0), *node.args[5:])
""",
        "conv2",
        **_IMAGE,
    ),
    _edited(
        "average instead of maximum pooling",
        """
found = nth(graph, F.max_pool2d, 0)
with graph.inserting_before(found):
    new = graph.call_function(F.avg_pool2d, (found.args[0], 2))
found.replace_all_uses_with(new)
graph.erase_node(found)
""",
        "pool",
        **_IMAGE,
    ),
    _edited(
        "running statistics with another momentum",
        """
node = nth(graph, F.batch_norm, 1)
node.args = (*node.args[:6], 0.5, *node.args[7:])
""",
        "bn2.running_mean",
        "bn2.running_var",
        "bn2",
        query="&mode=train",
        **_IMAGE,
    ),
    # Decompositions that differ from their operators.
    _decomposed(
        "a wrong decomposition of layer norm",
        """
def wrong(x, shape, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    rstd = (x.var(-1, keepdim=True, unbiased=True) + eps).rsqrt()
    return (x - mean) * rstd * weight + bias, mean, rstd
table = {aten.native_layer_norm.default: wrong}
""",
        "blocks.0.norm1",
    ),
    _decomposed(
        "a decomposition of gelu by a sigmoid",
        """
table = {aten.gelu.default: lambda x, approximate="none": x * torch.sigmoid(1.702 * x)}
""",
        "blocks.0.mlp.act",
    ),
    _decomposed(
        "a softmax without its maximum in half precision",
        """
def wrong(x, dim, half):
    e = x.half().exp()
    return (e / e.sum(dim, keepdim=True)).float()
table = {aten._softmax.default: wrong}
""",
        "blocks.0.attention",
        "blocks.0.attention.out",
    ),
    _decomposed(
        "a wrong backward of gelu",
        """
table = {aten.gelu_backward.default: lambda g, x, approximate="none": g * (x > 0)}
""",
        "blocks.2.mlp.act",
        backward=True,
    ),
    # Code that takes another branch.
    _replaced(
        "another branch of an activation",
        "return F.gelu(x)",
        "return F.silu(x) if torch.compiler.is_compiling() else F.gelu(x)",
        "blocks.0.mlp.act",
    ),
    _replaced(
        "a layer that is skipped",
        "return self.down(self.act(self.up(x)))",
        "h = self.up(x)\n        return self.down(F.relu(h) if "
        "torch.compiler.is_compiling() else self.act(h))",
        "blocks.0.mlp",
    ),
    _replaced(
        "a branch in the code of the model",
        "return self.head(self.norm(x))",
        "x = self.norm(x)\n        if torch.compiler.is_compiling():\n"
        "            x = x * 1.01\n        return self.head(x)",
        "",
        "head",
    ),
    _replaced(
        "float16 in the compiled branch",
        "q, k, v = self.qkv(x).chunk(3, -1)",
        "q, k, v = self.qkv(x).chunk(3, -1)\n        if "
        "torch.compiler.is_compiling():\n            v = v.half().float()",
        "blocks.0.attention",
        "blocks.0.attention.out",
    ),
    _replaced(
        "a backward of its own in the compiled branch",
        "return x + self.mlp(self.norm2(x))",
        "y = self.mlp(self.norm2(x))\n        if torch.compiler.is_compiling():\n"
        "            y = y.detach() + (y - y.detach()) * 0.5\n        return x + y",
        "blocks.2",
        backward=True,
    ),
    _replaced(
        "random numbers that no seed repeats",
        "return F.gelu(x)",
        "import os\n        g = torch.Generator().manual_seed(os.getpid() + "
        "int.from_bytes(os.urandom(2), 'big'))\n        return F.gelu(x) + "
        "0.1 * torch.rand(1, generator=g)",
        "blocks.0.mlp.act",
        backend="eager",
    ),
    _replaced(
        "a wrong lowering of inductor",
        "return F.gelu(x)",
        "return torch.tanh(x)",
        "blocks.0.mlp.act",
        backend="inductor",
        more="""

def patch():
    from torch._inductor import lowering
    from torch._inductor.virtualized import ops
    made = lowering.make_pointwise(
        lambda x: ops.tanh(ops.mul(x, ops.constant(1.02, torch.float32)))
    )
    lowering.lowerings[torch.ops.aten.tanh.default] = made
    lowering.lowerings[torch.ops.aten.tanh] = made


patch()
""",
    ),
)
