"""Scripted nets in the manner of published code, for the comparison of scripted modules.

Attention with masks and caches, detectors, recognisers, mixtures of experts, beam searches: each
uses something else that TorchScript compiles.
"""

import math
from enum import Enum
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.proof.scripted_nets import _x


class CausalAttention(nn.Module):
    """As in nanoGPT: a mask in a buffer, one projection for three."""

    heads: Final[int]

    def __init__(self, width: int = 8, heads: int = 2):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(16, 16)).view(1, 1, 16, 16))

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.size()
        q, k, v = self.c_attn(x).split(c, dim=2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        y = self.drop(F.softmax(scores, dim=-1)) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))


class GptBlock(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = (
            nn.LayerNorm(width),
            CausalAttention(width),
            nn.LayerNorm(width),
        )
        self.mlp = nn.ModuleDict({
            "fc": nn.Linear(width, 4 * width), "act": nn.GELU(),
            "proj": nn.Linear(4 * width, width),
        })  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        y = self.ln_2(x)
        for layer in self.mlp.values():
            y = layer(y)
        return x + y


class Gpt(nn.Module):
    """A small GPT with tied weights, and a loss if there are targets."""

    def __init__(self, width: int = 8, layers: int = 2, words: int = 11):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(16, width)
        self.blocks = nn.ModuleList([GptBlock(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx: Tensor, targets: Tensor | None = None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1), device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss: Tensor | None = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


class Cached(nn.Module):
    """Attention that takes and gives a cache, step by step."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        k, v = self.k(x), self.v(x)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        y = torch.softmax(self.q(x) @ k.transpose(1, 2), -1) @ v
        return y, (k, v)


class Decoding(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Cached()

    def forward(self, x: Tensor):
        cache: tuple[Tensor, Tensor] | None = None
        outs: list[Tensor] = []
        for i in range(x.size(1)):
            y, cache = self.attention(x[:, i : i + 1], cache)
            outs.append(y)
        return torch.cat(outs, 1)


class Tagger(nn.Module):
    """An LSTM over packed sequences, with its state as arguments."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(10, 6, padding_idx=0)
        self.rnn = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(10, 3)

    def forward(self, words: Tensor, lengths: Tensor, state: tuple[Tensor, Tensor] | None = None):
        packed = pack_padded_sequence(self.words(words), lengths, True, False)
        out, state = self.rnn(packed, state)
        padded, sizes = pad_packed_sequence(out, batch_first=True)
        return self.tags(padded), state, sizes


class Anchors(nn.Module):
    def forward(self, features: list[Tensor]) -> list[Tensor]:
        boxes: list[Tensor] = []
        for feature in features:
            rows = torch.arange(feature.size(2) * feature.size(3), dtype=torch.float32)
            boxes.append(torch.stack([rows, rows, rows + 1, rows + 2], 1))
        return boxes


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ModuleList([nn.Conv2d(4, 4, 1), nn.Conv2d(6, 4, 1)])

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        names, values, results = (
            list(x.keys()),
            list(x.values()),
            torch.jit.annotate(list[Tensor], []),
        )
        for i, inner in enumerate(self.inner):
            results.append(inner(values[i]))
        out: dict[str, Tensor] = {}
        for name, value in zip(names, results):
            out[name] = value
        return out


class Detector(nn.Module):
    """As in torchvision: losses in training, a list of dicts otherwise."""

    def __init__(self):
        super().__init__()
        self.stem, self.deep = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 6, 3, 2, 1)
        self.fpn, self.anchors = Pyramid(), Anchors()
        self.scores, self.boxes = nn.Conv2d(4, 1, 1), nn.Conv2d(4, 4, 1)

    def forward(self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None):
        x = torch.stack(images)
        features: dict[str, Tensor] = {}
        features["0"] = x = self.stem(x)
        features["1"] = self.deep(x)
        features = self.fpn(features)
        anchors = self.anchors(list(features.values()))
        losses: dict[str, Tensor] = {}
        detections: list[dict[str, Tensor]] = []
        scores = torch.cat([self.scores(f).flatten(1) for f in features.values()], 1)
        boxes = torch.cat([self.boxes(f).flatten(2) for f in features.values()], 2)
        if targets is not None:
            for target in targets:
                losses["box"] = (boxes.mean(2) - target["boxes"]).abs().mean()
            losses["score"] = scores.sigmoid().mean()
        else:
            for i in range(x.size(0)):
                detections.append({
                    "boxes": boxes[i].t() + torch.cat(anchors), "scores": scores[i].sigmoid(),
                })  # fmt: skip
        return losses, detections


class Postprocess(nn.Module):
    def forward(
        self, found: list[tuple[Tensor, int]], sizes: dict[int, Tensor]
    ) -> list[dict[str, Tensor]]:
        out: list[dict[str, Tensor]] = []
        for tensor, number in found:
            out.append({"x": tensor * number + sizes[number]})
        return out


class Lists(nn.Module):
    """Lists of tuples, dicts by number, lists of dicts between modules."""

    def __init__(self):
        super().__init__()
        self.linear, self.post = nn.Linear(4, 4), Postprocess()

    def forward(self, x: Tensor):
        y = self.linear(x)
        out = self.post([(y, 1), (y * 2, 2)], {1: x, 2: y})
        return out[0]["x"] + out[1]["x"]


class Exports(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(4, 3), nn.Linear(3, 4)

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return torch.tanh(self.encoder(x))

    @torch.jit.export
    def decode(self, z: Tensor) -> Tensor:
        return self.decoder(z)

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(self.encode(x))


class UsesExports(nn.Module):
    def __init__(self):
        super().__init__()
        self.vae = Exports()

    def forward(self, x: Tensor) -> Tensor:
        return self.vae.decode(self.vae.encode(x)) + self.vae(x)


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    @torch.jit.unused
    def show(self, x: Tensor) -> Tensor:
        print(x)
        return x

    def forward(self, x: Tensor) -> Tensor:
        if not torch.jit.is_scripting():
            return self.linear(x) * 2
        return self.linear(x) * 2


@torch.jit.interface
class Expert(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Small(nn.Module):
    def __init__(self, scale: float):
        super().__init__()
        self.linear, self.scale = nn.Linear(4, 4), scale

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) * self.scale


class Mixture(nn.Module):
    """Experts of one interface, chosen by an index."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 3)
        self.experts = nn.ModuleList([Small(1.0), Small(2.0), Small(0.5)])

    def forward(self, x: Tensor) -> Tensor:
        weights = self.gate(x).softmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            out = out + weights[:, i : i + 1] * expert(x)
        return out


class Indexed(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([Small(1.0), Small(2.0)])

    def forward(self, x: Tensor, number: int) -> Tensor:
        expert: Expert = self.experts[number]
        return expert.forward(x)


class Early(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        if y.numel() > 1000:
            return y
        for i in range(3):
            y = self.b(y)
            if i == 1:
                return self.c(y)
            if i == 2:
                break
        return y


class Checks(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        assert x.dim() == 2, "two dimensions"
        if x.size(1) != 4:
            raise ValueError(f"four columns, not {x.size(1)}")
        return self.linear(x)


class Fails(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))


class Ensemble(nn.Module):
    """Futures in a list, as in PyTorch's tutorial."""

    def __init__(self):
        super().__init__()
        self.models = nn.ModuleList([Small(1.0), Small(2.0)])

    def forward(self, x: Tensor) -> Tensor:
        futures = [torch.jit.fork(model, x) for model in self.models]
        return torch.stack([torch.jit.wait(future) for future in futures]).sum(0)


class Tuples(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(4, 4), nn.Linear(4, 2)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = state
        for _ in range(3):
            h, c = self.cell(x, (h, c))
        return self.head(h), (h, c)


class Output(NamedTuple):
    logits: Tensor
    hidden: list[Tensor] | None
    loss: Tensor | None


class Outputs(nn.Module):
    """A NamedTuple with optional fields, between modules too."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, keep: bool) -> Output:
        y = self.a(x)
        z = self.b(y)
        if keep:
            return Output(z, [y, z], None)
        return Output(z, None, z.sum())


class UsesOutputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Outputs()

    def forward(self, x: Tensor):
        first = self.inner(x, True)
        second = self.inner(first.logits, False)
        hidden, loss = first.hidden, second.loss
        assert hidden is not None
        assert loss is not None
        return hidden[0] * loss + second.logits


class SharedInTwo(nn.Module):
    """One layer inside two modules, and called on its own."""

    def __init__(self):
        super().__init__()
        shared = nn.Linear(4, 4)
        self.a, self.b = nn.Sequential(shared, nn.ReLU()), nn.Sequential(shared, nn.Tanh())
        self.shared = shared

    def forward(self, x: Tensor) -> Tensor:
        return self.shared(self.a(x) + self.b(x))


class Activations(nn.Module):
    """One module without tensors under two names."""

    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.a, self.b = (
            nn.Sequential(nn.Linear(4, 4), self.act),
            nn.Sequential(nn.Linear(4, 4), self.act),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.b(self.a(x)))


class Overloads(nn.Module):
    @torch.jit._overload_method
    def mix(self, x: Tensor, y: int) -> Tensor:
        pass

    @torch.jit._overload_method
    def mix(self, x: Tensor, y: Tensor) -> Tensor:  # noqa: F811
        pass

    def mix(self, x, y):  # noqa: F811
        return self.linear(x) * y

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.mix(x, 2) + self.mix(x, x)


@torch.jit.script
class Beam:
    def __init__(self, score: Tensor):
        self.scores = [score]

    def push(self, score: Tensor):
        self.scores.append(score)

    def best(self) -> Tensor:
        return torch.stack(self.scores).max(0)[0]


class Search(nn.Module):
    """An object of a script class that grows."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        beam = Beam(x)
        for _ in range(3):
            x = torch.tanh(self.step(x))
            beam.push(x)
        return beam.best()


class Mode(Enum):
    MEAN = "mean"
    SUM = "sum"


class Pools(nn.Module):
    def __init__(self, mode: Mode = Mode.SUM):
        super().__init__()
        self.mode, self.linear = mode, nn.Linear(4, 4)

    def forward(self, x: Tensor, mode: Mode) -> Tensor:
        if mode == Mode.MEAN or self.mode == Mode.MEAN:
            return self.linear(x).mean(1)
        return self.linear(x).sum(1)


class UsesEnums(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = Pools()

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x, Mode.SUM) + self.pool(x, Mode.MEAN)


class Codebook(nn.Module):
    """Buffers changed in place in training: a count, and an average."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("average", torch.ones(4))
        self.register_buffer("maybe", None)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        if self.training:
            self.count += 1
            self.average.mul_(0.9).add_(0.1 * y.detach().mean(0))
        return y / self.average + self.count


class Residual(nn.Module):
    """ResNet's block: dropout, batch norm in train, operations in place."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 3, 3, padding=1, bias=False), nn.BatchNorm2d(3)
        self.relu, self.drop = nn.ReLU(inplace=True), nn.Dropout2d(0.2)
        self.downsample: nn.Module | None = None
        self.head = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.drop(self.relu(self.bn1(self.conv1(x))))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.head(self.relu(out).mean((2, 3)))


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool, self.fc1, self.fc2 = (
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(4, 2, 1),
            nn.Conv2d(2, 4, 1),
        )
        self.gate, self.act = nn.Hardsigmoid(), nn.SiLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gate(self.fc2(self.act(self.fc1(self.pool(x)))))


class Dense(nn.Module):
    """DenseNet's layers: each takes the list of all before it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Takes(4), Takes(8), Takes(12)])

    def forward(self, x: Tensor) -> Tensor:
        features = [x]
        for layer in self.layers:
            features.append(layer(features))
        return torch.cat(features, 1)


class Takes(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(width), nn.Linear(width, 4)

    def forward(self, inputs: list[Tensor]) -> Tensor:
        return self.linear(torch.relu(self.norm(torch.cat(inputs, 1))))


class Appends(nn.Module):
    """A module that appends to the list that it gets."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, trail: list[Tensor]) -> Tensor:
        y = self.linear(x)
        trail.append(y)
        return y


class UsesTrail(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Appends(), Appends()

    def forward(self, x: Tensor) -> Tensor:
        trail: list[Tensor] = []
        y = self.b(self.a(x, trail), trail)
        return y + torch.stack(trail).sum(0)


class ByName(nn.Module):
    """A dict of tensors in and out, as in VISSL and PyTorch Geometric."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleDict({"user": nn.Linear(4, 3), "item": nn.Linear(2, 3)})

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        for name, net in self.nets.items():
            out[name] = net(x[name])
        return out


class Conformer(nn.Module):
    """torchaudio's convolution module, with lengths."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.sequential = nn.Sequential(
            nn.Conv1d(8, 16, 1), nn.GLU(dim=1), nn.Conv1d(8, 8, 3, padding=1, groups=8),
            nn.BatchNorm1d(8), nn.SiLU(), nn.Conv1d(8, 8, 1), nn.Dropout(0.1),
        )  # fmt: skip

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        mask = torch.arange(x.size(1)).expand(x.size(0), x.size(1)) >= lengths.unsqueeze(1)
        y = self.sequential(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return y.masked_fill(mask.unsqueeze(2), 0.0), lengths


class Recurrence(nn.Module):
    """A custom LSTM as in PyTorch's benchmarks: cells, layers, lists of states."""

    def __init__(self):
        super().__init__()
        self.cells = nn.ModuleList([Cell(4, 3), Cell(3, 3)])

    def forward(self, x: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        states: list[tuple[Tensor, Tensor]] = []
        for cell in self.cells:
            state = (torch.zeros(x.size(1), 3), torch.zeros(x.size(1), 3))
            outs: list[Tensor] = []
            for step in x.unbind(0):
                out, state = cell(step, state)
                outs.append(out)
            x = torch.stack(outs)
            states.append(state)
        return x, states


class Cell(nn.Module):
    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * hidden, inputs) * 0.3)
        self.weight_hh = nn.Parameter(torch.randn(4 * hidden, hidden) * 0.3)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        hx, cx = state
        gates = torch.mm(x, self.weight_ih.t()) + torch.mm(hx, self.weight_hh.t())
        i, f, c, o = gates.chunk(4, 1)
        cy = torch.sigmoid(f) * cx + torch.sigmoid(i) * torch.tanh(c)
        hy = torch.sigmoid(o) * torch.tanh(cy)
        return hy, (hy, cy)


class Router(nn.Module):
    """Strings choose the head; a while loop with a tensor as its condition."""

    def __init__(self):
        super().__init__()
        self.step, self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x: Tensor, task: str = "a") -> Tensor:
        rounds = 0
        while bool(x.abs().max() > 0.5) and rounds < 4:
            x = torch.tanh(self.step(x)) * 0.9
            rounds += 1
        return self.a(x) if task == "a" else self.b(x)


class Generator(nn.Module):
    """Greedy decoding without gradients, then a loss with them."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(7, 4), nn.Linear(4, 7)

    def forward(self, start: Tensor) -> Tensor:
        with torch.no_grad():
            tokens = start
            for _ in range(3):
                following = self.head(self.words(tokens[:, -1])).argmax(-1, keepdim=True)
                tokens = torch.cat([tokens, following], 1)
        return self.head(self.words(tokens))


class Parametrised(nn.Module):
    """Lists of parameters, weights by hand, a persistent and another buffer."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))
        self.missing: nn.Parameter | None = None
        self.register_buffer("scale", torch.tensor(2.0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x, self.a, self.b) * self.scale
        return y if self.missing is None else y + self.missing


class Nested(nn.Module):
    """ModuleLists in ModuleLists, negative indices, zip."""

    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([
            nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)]) for _ in range(2)
        ])  # fmt: skip
        self.norms = nn.ModuleList([nn.LayerNorm(4), nn.LayerNorm(4)])

    def forward(self, x: Tensor) -> Tensor:
        for stage, norm in zip(self.stages, self.norms):
            for layer in stage:
                x = layer(x)
            x = norm(x)
        return self.norms[-1](x)


class Mixed(nn.Module):
    """A scripted model that works in lower precision inside."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x).double()).to(x.dtype)


class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.fft.rfft(x)
        return torch.fft.irfft(torch.complex(self.linear(y.real), y.imag))


class Views(nn.Module):
    """Outputs that are views of inputs, and a child changed in place afterwards."""

    def __init__(self):
        super().__init__()
        self.flat, self.linear, self.same = nn.Flatten(), nn.Linear(4, 4), nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.same(self.linear(self.flat(x)))
        y.mul_(2)
        y[:, 0] = 0
        return self.same(y)


class TwoInputs(nn.Module):
    """A default of each kind."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(
        self, x: Tensor, y: Tensor | None = None, scale: float = 2.0, times: int = 1
    ) -> Tensor:
        out = self.linear(x)
        if y is not None:
            out = out + y
        return out * scale * times


class UsesKeywords(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = TwoInputs()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x, scale=3.0) + self.inner(x, y=x, times=2)


def _words():
    return torch.randint(1, 10, (2, 5))


def _image():
    return torch.rand(2, 3, 8, 8)


NETS = {
    "gpt": (Gpt, lambda: (_words(),), {}),
    "gpt, loss": (Gpt, lambda: (_words(), _words()), {}),
    "cached": (Decoding, lambda: (_x(2, 3, 4),), {}),
    "tagger": (Tagger, lambda: (_words(), torch.tensor([3, 5])), {}),
    "detector": (Detector, lambda: (list(_image()),), {}),
    "detector, losses": (
        Detector, lambda: (list(_image()), [{"boxes": torch.full((4,), n)} for n in (0., 1.)]), {},
    ),
    "lists of tuples": (Lists, lambda: (_x(),), {}),
    "exports": (Exports, lambda: (_x(),), {}),
    "uses exports": (UsesExports, lambda: (_x(),), {}),
    "unused": (Unused, lambda: (_x(),), {}),
    "mixture": (Mixture, lambda: (_x(),), {}),
    "indexed": (Indexed, lambda: (_x(), 1), {}),
    "early": (Early, lambda: (_x(),), {}),
    "checks": (Checks, lambda: (_x(),), {}),
    "ensemble": (Ensemble, lambda: (_x(),), {}),
    "tuples": (Tuples, lambda: (_x(), (_x(), _x())), {}),
    "outputs": (Outputs, lambda: (_x(), True), {}),
    "uses outputs": (UsesOutputs, lambda: (_x(),), {}),
    "shared in two": (SharedInTwo, lambda: (_x(),), {}),
    "activations": (Activations, lambda: (_x(),), {}),
    "overloads": (Overloads, lambda: (_x(),), {}),
    "search": (Search, lambda: (_x(),), {}),
    "enums": (UsesEnums, lambda: (_x(),), {}),
    "codebook": (Codebook, lambda: (_x(),), {}),
    "residual": (Residual, lambda: (_image(),), {}),
    "squeeze, excite": (SqueezeExcite, lambda: (_x(2, 4, 5, 5),), {}),
    "dense": (Dense, lambda: (_x(),), {}),
    "trail": (UsesTrail, lambda: (_x(),), {}),
    "by name": (ByName, lambda: ({"user": _x(), "item": _x(3, 2)},), {}),
    "conformer": (Conformer, lambda: (_x(2, 5, 8), torch.tensor([3, 5])), {}),
    "recurrence": (Recurrence, lambda: (_x(3, 2, 4),), {}),
    "router": (Router, lambda: (_x(),), {}),
    "router, task": (Router, lambda: (_x(), "b"), {}),
    "generator": (Generator, lambda: (torch.randint(0, 7, (2, 2)),), {}),
    "parametrised": (Parametrised, lambda: (_x(),), {}),
    "nested": (Nested, lambda: (_x(),), {}),
    "mixed": (Mixed, lambda: (_x(),), {}),
    "complex": (Complex, lambda: (_x(),), {}),
    "views": (Views, lambda: (_x(2, 2, 2),), {}),
    "uses keywords": (UsesKeywords, lambda: (_x(),), {}),
    "two inputs": (TwoInputs, lambda: (_x(),), {"scale": 3.0}),
    "fails": (Fails, lambda: (_x(),), {}),
}  # fmt: skip
UNORDERED = frozenset({"ensemble"})
