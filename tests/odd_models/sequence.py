"""Architectures for sequences, time and dynamics."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from ._base import Shelf, call, ids, t

ENTRIES = Shelf()


@ENTRIES.add(
    "seq_cells_in_loop",
    "LSTM, GRU and RNN cells over time; states as tuples, None at first",
    lambda: call(t(5, 2, 4)),
)
class CellsInLoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTMCell(4, 3)
        self.gru = nn.GRUCell(3, 3)
        self.rnn = nn.RNNCell(3, 2, nonlinearity="relu")

    def forward(self, xs: Tensor) -> tuple[Any, ...]:
        state = g = r = None
        for x in xs:
            state = self.lstm(x, state)
            g = self.gru(state[0], g)
            r = self.rnn(g, r)
        return state, g, r


@ENTRIES.add(
    "seq_lstm_projected",
    "LSTM with proj_size, bidirectional, two layers, called without a batch dimension too",
    lambda: call(t(5, 2, 4)),
)
class Projected(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, proj_size=3, bidirectional=True, dropout=0.1)

    def forward(self, x: Tensor) -> tuple[Any, ...]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # says that it is not the fast kind
            return self.lstm(x), self.lstm(x[:, 0])


class ConvLSTMCell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x: Tensor, state: Any) -> tuple[Tensor, Tensor]:
        h, c = state
        i, f, o, g = self.conv(torch.cat([x, h], 1)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


@ENTRIES.add(
    "seq_conv_lstm", "a ConvLSTM over the frames of a video", lambda: call(t(1, 4, 1, 5, 5))
)
class ConvLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = ConvLSTMCell()

    def forward(self, video: Tensor) -> Tensor:
        h = c = video.new_zeros(len(video), 2, *video.shape[-2:])
        frames = []
        for frame in video.unbind(1):
            h, c = self.cell(frame, (h, c))
            frames.append(h)
        return torch.stack(frames, 1)


@ENTRIES.add(
    "seq_wavenet",
    "gated, dilated, causal convolutions whose skips shrink",
    lambda: call(t(1, 2, 32)),
)
class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gates = nn.ModuleList(nn.Conv1d(2, 4, 2, dilation=2**i) for i in range(4))
        self.mix = nn.ModuleList(nn.Conv1d(2, 2, 1, groups=2) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        skips = []
        for gate, mix in zip(self.gates, self.mix, strict=True):
            a, b = gate(x).chunk(2, 1)
            y = mix(a.tanh() * b.sigmoid())
            x = x[..., -y.shape[-1] :] + y
            skips.append(y)
        return torch.stack([s[..., -y.shape[-1] :] for s in skips]).sum(0)


@ENTRIES.add(
    "seq_deep_equilibrium",
    "a deep equilibrium: 20 calls without grad, one with, which a hook then refines",
    lambda: call(t(2, 4)),
)
class DeepEquilibrium(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Bilinear(4, 4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(20):
                z = torch.tanh(self.cell(z, x))
        z = torch.tanh(self.cell(z, x))
        if z.requires_grad:
            z.register_hook(lambda g: g * 0.5)
        return z


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))

    def forward(self, time: float, y: Tensor) -> Tensor:
        return self.net(torch.cat([y, torch.full_like(y[:, :1], time)], 1))


@ENTRIES.add(
    "seq_neural_ode",
    "Euler and midpoint steps by a solver that is a function; time is a Python float",
    lambda: call(t(3, 2), [0.0, 0.5, 1.0]),
)
class NeuralODE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.field = Field()

    def forward(self, y: Tensor, times: list[float]) -> list[Tensor]:
        def step(f: Any, a: float, b: float, y: Tensor) -> Tensor:
            middle = y + (b - a) / 2 * f(a, y)
            return y + (b - a) * f((a + b) / 2, middle)

        path = [y]
        for a, b in itertools.pairwise(times):
            path.append(step(self.field, a, b, path[-1]))
        return path


@ENTRIES.add(
    "seq_fourier",
    "an FFT layer: complex weights, complex tensors between children",
    lambda: call(t(2, 3, 8)),
)
class Fourier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.spectral = Spectral()
        self.lift = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.irfft(self.spectral(torch.fft.rfft(x)), n=8) + self.lift(x)


class Spectral(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3, 3, 5, dtype=torch.cfloat))

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("bif,iof->bof", x, self.weight)


class SineLayer(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(30 * super().forward(x))


@ENTRIES.add(
    "seq_siren", "SIREN: Linear subclasses, the coordinates returned too", lambda: call(t(9, 2))
)
class Siren(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(SineLayer(2, 4), SineLayer(4, 4), nn.Linear(4, 1))

    def forward(self, coords: Tensor) -> tuple[Tensor, Tensor]:
        coords = coords.clone().detach().requires_grad_(True)
        return self.net(coords), coords


@ENTRIES.add(
    "seq_embedding_bag",
    "EmbeddingBag with offsets, with weights per sample, and one with sparse gradients",
    lambda: call(ids(7), torch.tensor([0, 3, 3])),
)
class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.EmbeddingBag(8, 4, mode="mean")
        self.sum = nn.EmbeddingBag(8, 2, mode="sum", include_last_offset=True, sparse=True)
        self.emb = nn.Embedding(8, 4, padding_idx=0, max_norm=1.0)

    def forward(self, words: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
        last = torch.cat([offsets, offsets.new_tensor([7])])
        weighted = self.sum(words, last, per_sample_weights=torch.ones(7))
        return self.mean(words, offsets), weighted, self.emb(words)


@ENTRIES.add(
    "seq_reservoir",
    "an echo state network: random frozen weights as buffers, a ridge solve in forward",
    lambda: call(t(6, 2), t(6, 1)),
)
class Reservoir(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("w", torch.randn(5, 5) * 0.1)
        self.inp = nn.Linear(2, 5).requires_grad_(False)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        h, states = torch.zeros(5), []
        for row in self.inp(x):
            h = torch.tanh(row + h @ self.w)
            states.append(h)
        s = torch.stack(states)
        return s, torch.linalg.solve(s.T @ s + torch.eye(5), s.T @ y)
