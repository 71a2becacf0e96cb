"""Implementations that do the same in other calls: no difference is told, and a fault is named."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import hookcli
from hookcli.api.live_diff import _Live
from hookcli.comparison.ports.plan import port_settings
from hookcli.comparison.tolerance import Tolerances
from hookcli.engine.diff.mapped_weights import load_mapped_weights
from hookcli.spec.request import ModelSpec, Spec
from tests.comparison.ports.test_ports import trained

IDS = torch.arange(6).view(2, 3)


def loaded(ours, theirs, batch):
    """Load A's weights into B through the inferred map. Return both, trained."""
    torch.manual_seed(0)
    ours, theirs = trained(ours), trained(theirs)
    live = _Live(ours, theirs, batch, Spec("inspect", ModelSpec("a.py")), None)
    found = port_settings(
        live.run(0), live.run(1), None, own_weights=False, tolerances=Tolerances()
    )
    state = {**dict(ours.named_parameters()), **dict(ours.named_buffers())}
    load_mapped_weights(theirs, state, list(found.made.values()))
    return ours, theirs


def compared(a, b, batch):
    """Compare B with A's weights; the truth is whether plain PyTorch gives the same."""
    ours, theirs = loaded(a, b, batch)
    diff = hookcli.diff(ours, theirs, batch)
    with torch.no_grad():
        equal = torch.allclose(ours(batch), theirs(batch), rtol=1e-4, atol=1e-5)
    assert equal == (diff.verdict == "same"), diff
    return diff


def inside(diff):
    return [text for text in diff.warnings if "agree within tolerance, but" in text]


class Tokens(nn.Module):
    """Adds positions, whose numbers are those of each sample, or of one for all."""

    def __init__(self, *, per_sample):
        super().__init__()
        name, other = ("wte", "wpe") if per_sample else ("tokens", "places")
        self.add_module(name, nn.Embedding(7, 4))
        self.add_module(other, nn.Embedding(3, 4))
        self.add_module("head" if per_sample else "classify", nn.Linear(4, 5))
        self.per_sample = per_sample

    def forward(self, ids):
        tokens, places, head = self.children()
        numbers = torch.arange(ids.shape[1])[None]
        x = tokens(ids) + places(numbers.expand_as(ids) if self.per_sample else numbers)
        return head(x)


def test_positions_of_each_sample_are_those_of_all():
    diff = compared(Tokens(per_sample=True), Tokens(per_sample=False), IDS)
    assert (diff.verdict, inside(diff)) == ("same", [])
    status = {row.a.name: row.status for row in diff.rows if row.a is not None}
    assert status["wpe"] in {"same", "close"}


def test_positions_that_are_not_repeated_differ():
    class Reversed(Tokens):
        def forward(self, ids):
            tokens, places, head = self.children()
            numbers = torch.arange(ids.shape[1])[None] // 2
            return head(tokens(ids) + places(numbers))

    diff = compared(Tokens(per_sample=True), Reversed(per_sample=False), IDS)
    assert "the input of wpe (Embedding) and places (Embedding)" in diff.first.sentence


class FusedHeads(nn.Module):
    """Attention without softmax, of a fused layer, with norms of q and k."""

    def __init__(self):
        super().__init__()
        self.qkv, self.norm_q, self.norm_k = nn.Linear(8, 16), nn.LayerNorm(8), nn.LayerNorm(4)
        self.proj = nn.Linear(4, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).split([8, 4, 4], -1)
        q, k = self.norm_q(q), self.norm_k(k)
        return self.proj((q[..., :4] + q[..., 4:]) * k * v)


class SplitHeads(nn.Module):
    """The same, where the norms are called between the layers."""

    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 4)
        self.q_norm, self.k_norm, self.o_proj = nn.LayerNorm(8), nn.LayerNorm(4), nn.Linear(4, 8)

    def forward(self, x):
        q, k = self.q_norm(self.q_proj(x)), self.k_norm(self.k_proj(x))
        return self.o_proj((q[..., :4] + q[..., 4:]) * k * self.v_proj(x))


@pytest.mark.parametrize("models", [(FusedHeads, SplitHeads), (SplitHeads, FusedHeads)])
def test_parts_with_norms_between_make_a_fused_layer(models):
    diff = compared(models[0](), models[1](), torch.randn(2, 3, 8))
    assert diff.verdict == "same"
    assert not diff.port.missing


class ShortcutFirst(nn.Module):
    """A residual block whose shortcut is called first, and was added last."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
        self.identity_conv, self.identity_bn = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)

    def forward(self, x):
        identity = self.identity_bn(self.identity_conv(x))
        return identity + self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))


class ShortcutLast(nn.Module):
    """The same with the shortcut called last."""

    def __init__(self):
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
        self.second, self.norm2 = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)
        self.skip = nn.Sequential(nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4))

    def forward(self, x):
        inner = self.norm2(self.second(self.norm1(self.first(x)).relu()))
        return inner + self.skip(x)


def test_layers_that_are_called_in_another_order_are_paired_as_they_were_added():
    assert compared(ShortcutFirst(), ShortcutLast(), torch.randn(2, 4, 3, 3)).verdict == "same"


class Gain(nn.Module):
    """A scale of each channel, as a module."""

    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.gamma


class OwnGains(nn.Module):
    """A block that has its scales itself, before its layers."""

    def __init__(self):
        super().__init__()
        self.layer_scale_1, self.layer_scale_2 = (nn.Parameter(torch.ones(4)) for _ in range(2))
        self.inner = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4))
        self.inner.layer_scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        x = x + self.inner(x * self.inner.layer_scale) * self.layer_scale_1
        return x.tanh() * self.layer_scale_2


class GainModules(nn.Module):
    """A block whose scales are modules after its layers."""

    def __init__(self):
        super().__init__()
        self.part = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 4))
        self.part.layer_scale = Gain()
        self.layer_scale_2, self.layer_scale_1 = Gain(), Gain()

    def forward(self, x):
        inner = self.part[2](self.part[1](self.part[0](self.part.layer_scale(x))))
        return self.layer_scale_2((x + self.layer_scale_1(inner)).tanh())


class Wrapped(nn.Module):
    def __init__(self, first, last):
        super().__init__()
        self.block, self.last = first, last

    def forward(self, x):
        return self.last(self.block(x))


def test_single_tensors_are_paired_by_what_their_names_say():
    ours = Wrapped(OwnGains(), nn.Linear(4, 3))
    theirs = Wrapped(GainModules(), nn.Linear(4, 3))
    assert compared(ours, theirs, torch.randn(2, 4)).verdict == "same"


class Places(nn.Module):
    """Adds positions that are a buffer, or the weight of an embedding."""

    def __init__(self, *, buffer):
        super().__init__()
        self.lin, self.buffer = nn.Linear(8, 4), buffer
        if buffer:
            self.register_buffer("sinusoids", torch.randn(5, 4))
        else:
            self.embed_places = nn.Embedding(5, 4)
        self.add_module("out" if buffer else "classify", nn.Linear(4, 2))

    def forward(self, x):
        table = self.sinusoids if self.buffer else self.embed_places.weight
        return list(self.children())[-1](self.lin(x) + table)


def test_a_buffer_makes_a_parameter_of_its_shape():
    ours, theirs = Places(buffer=True), Places(buffer=False)
    assert compared(ours, theirs, torch.randn(2, 5, 8)).verdict == "same"


class Layered(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


class Loop(nn.Module):
    def __init__(self, gain):
        super().__init__()
        self.cell, self.gain = nn.LSTMCell(3, 4), gain

    def forward(self, x):
        h = c = x.new_zeros(len(x), 4)
        steps = []
        for i in range(x.shape[1]):
            h, c = self.cell(x[:, i] * self.gain, (h, c))
            steps.append(h)
        return torch.stack(steps, 1)


class Looped(nn.Module):
    def __init__(self, gain=1.0):
        super().__init__()
        self.rnn = Loop(gain)

    def forward(self, x):
        return self.rnn(x)


def test_a_loop_of_cells_is_the_same_as_a_layer():
    batch = torch.randn(2, 5, 3)
    diff = compared(Layered(), Looped(), batch)
    assert (diff.verdict, inside(diff)) == ("same", [])
    assert "the output of the model" in compared(Layered(), Looped(1.1), batch).first.sentence


class ScaledEmbedding(nn.Embedding):
    def forward(self, ids):
        return super().forward(ids) * 4


class Scaling(nn.Module):
    """Scales after the embedding, or in it."""

    def __init__(self, act=F.gelu, *, within=False):
        super().__init__()
        kind = ScaledEmbedding if within else nn.Embedding
        names = ("tokens", "first", "second") if within else ("wte", "up", "down")
        layers = kind(7, 4), nn.Linear(4, 4), nn.Linear(4, 3)
        for name, layer in zip(names, layers, strict=True):
            self.add_module(name, layer)
        self.act, self.within = act, within

    def forward(self, ids):
        embed, first, second = self.children()
        x = embed(ids) if self.within else embed(ids) * 4
        return second(self.act(first(x)))


def test_what_one_does_in_a_layer_and_the_other_after_it_is_no_difference():
    diff = compared(Scaling(), Scaling(within=True), IDS)
    assert (diff.verdict, inside(diff)) == ("same", [])
    sentence = compared(Scaling(), Scaling(F.relu, within=True), IDS).first.sentence
    assert "the input of down (Linear) and second (Linear)" in sentence


class Patches(nn.Module):
    """Layers that belong together; positions are added here, or by the model."""

    def __init__(self, *, own):
        super().__init__()
        self.own = own
        self.conv = nn.Linear(8, 4)
        if own:
            self.positions = nn.Parameter(torch.randn(5, 4))

    def forward(self, x):
        x = self.conv(x)
        return x + self.positions if self.own else x


class PatchModel(nn.Module):
    def __init__(self, *, own, gain=1.0):
        super().__init__()
        self.embed, self.own, self.gain = Patches(own=own), own, gain
        if not own:
            self.pos = nn.Parameter(torch.randn(5, 4))
        self.add_module("block" if own else "layer", nn.Linear(4, 3))

    def forward(self, x):
        x = self.embed(x)
        if not self.own:
            x = (x + self.pos) * self.gain
        return list(self.children())[-1](x)


def test_a_module_is_no_counterpart_if_its_tensors_are_elsewhere():
    batch = torch.randn(2, 5, 8)
    diff = compared(PatchModel(own=True), PatchModel(own=False), batch)
    assert (diff.verdict, inside(diff)) == ("same", [])
    assert not any(row.a and row.b and row.a.name == "embed" for row in diff.rows)
    wrong = compared(PatchModel(own=True), PatchModel(own=False, gain=2.0), batch)
    assert "the input of block (Linear) and layer (Linear)" in wrong.first.sentence


class Padding(nn.Module):
    """Pads before the convolution, or in it; norms all tokens, or the first."""

    def __init__(self, *, within):
        super().__init__()
        self.within = within
        conv = nn.Conv1d(3, 4, 3, padding=1 if within else 0)
        for name, layer in zip(
            "abc" if within else "xyz", (conv, nn.LayerNorm(4), nn.Linear(4, 2))
        ):
            self.add_module(name, layer)

    def forward(self, x):
        conv, norm, head = self.children()
        x = conv(x if self.within else F.pad(x, (1, 1))).transpose(1, 2)
        return head(norm(x)[:, 0] if self.within else norm(x[:, 0]))


def test_other_shapes_of_calls_are_no_difference_if_the_outputs_agree():
    diff = compared(Padding(within=False), Padding(within=True), torch.randn(2, 3, 5))
    assert (diff.verdict, inside(diff)) == ("same", [])


class Norms(nn.Module):
    """Two norms of one shape: before each layer, or one after the first layer."""

    def __init__(self, names, *, late=False):
        super().__init__()
        layers = nn.LayerNorm(4), nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)
        for name, layer in zip(names, layers, strict=True):
            self.add_module(name, layer)
        self.late = late

    def forward(self, x):
        first, mix, second, feed = self.children()
        x = first(x + mix(x)) if self.late else x + mix(first(x))
        return x + feed(second(x))


def test_weights_that_b_has_tell_which_norm_is_which():
    """B calls the first norm late, so that the order of calls and the shapes mislead."""
    batch = torch.randn(2, 4)
    ours, theirs = loaded(Norms("abcd"), Norms("wxyz"), batch)
    theirs.late = True
    diff = hookcli.diff(ours, theirs, batch)
    assert diff.verdict == "different"
    assert diff.port.map == {"w": "a", "x": "b", "y": "c", "z": "d"}


class Gated(nn.Module):
    """A gated layer, whose activation is a function or a module."""

    def __init__(self, act=None):
        super().__init__()
        names = ("w1", "w3", "w2") if act is None else ("gate_proj", "up_proj", "down_proj")
        for name in names:
            self.add_module(name, nn.Linear(4, 4))
        self.act = act

    def forward(self, x):
        gate, up, down = (layer for layer in self.children() if isinstance(layer, nn.Linear))
        activated = F.silu(gate(x)) if self.act is None else self.act(gate(x))
        return down(activated * up(x))


def test_a_call_whose_result_the_code_uses_later_is_named():
    ours = Wrapped(Gated(), nn.Linear(4, 2))
    theirs = Wrapped(Gated(nn.GELU()), nn.Linear(4, 2))
    sentence = compared(ours, theirs, torch.randn(2, 4)).first.sentence
    assert "the input of block.w2 (Linear) and block.down_proj (Linear)" in sentence
    assert sentence.endswith("calls in between without a counterpart: block.act (GELU) in B")


class Steps(nn.Module):
    """Returns what each layer returns, or what the last does."""

    def __init__(self, *, every):
        super().__init__()
        for name in "ab" if every else "xy":
            self.add_module(name, nn.Linear(4, 4))
        self.every = every

    def forward(self, x):
        first, second = self.children()
        x = first(x).tanh()
        return [x, second(x)] if self.every else second(x)


def test_a_tensor_is_compared_with_the_nearest_of_those_that_a_returns():
    batch = torch.randn(2, 4)
    ours, theirs = loaded(Steps(every=True), Steps(every=False), batch)
    with torch.no_grad():
        torch.testing.assert_close(ours(batch)[1], theirs(batch))
    assert hookcli.diff(ours, theirs, batch).verdict == "same"
