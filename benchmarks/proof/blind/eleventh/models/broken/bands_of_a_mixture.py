r"""A band-split RNN: the spectrum is cut into bands, and a mask is estimated for each band.

Source: https://github.com/amanteur/BandSplitRNN-PyTorch/issues/9
Fault: the output of a band's MLP has the shape (batch, time, bins * complex * channels) and is
    viewed as (batch, channels, bins, time, complex) without a permutation, so that the time steps
    and the bins of the mask are mixed up.
Cause: (view|reshap).*(permut|transpos|time|freq|bin|channel|mix|order|axis|axes|dimension|memory)
    |(permut|transpos|swap|rearrang).*(missing|forgot|before|without|first|need)
    |(time|freq(uency)?|bin|frame|channel)s?\b.*(mix|scrambl|interleav|jumbl|wrong order|confus)
    |(mix|scrambl|interleav|jumbl|confus)\w*.*(time|freq|bin|frame|channel)
    |mix\w* by (a |the )?(view|reshap)|axes.*mix
Place: MaskEstimation|mask|view|freq|cac
"""
import torch
import torch.nn as nn

BANDS = [(0, 4), (4, 8), (8, 16)]
BINS = 16
CHANNELS = 2


class BandSplitModule(nn.Module):
    def __init__(self, bands, fc_dim, n_channels, complex_dim=2):
        super(BandSplitModule, self).__init__()
        self.bands = bands
        self.norms = nn.ModuleList(
            [nn.LayerNorm((e - s) * n_channels * complex_dim) for s, e in bands])
        self.fcs = nn.ModuleList(
            [nn.Linear((e - s) * n_channels * complex_dim, fc_dim) for s, e in bands])

    def forward(self, x):
        # x is (batch, channel, freq, time, complex)
        xs = []
        for i, (s, e) in enumerate(self.bands):
            sub = x[:, :, s:e]
            B, C, Fr, T, K = sub.shape
            sub = sub.permute(0, 3, 1, 2, 4).reshape(B, T, C * Fr * K)
            xs.append(self.fcs[i](self.norms[i](sub)))
        return torch.stack(xs, dim=1)  # (batch, band, time, fc_dim)


class RNNModule(nn.Module):
    def __init__(self, dim, hidden, along_bands=False):
        super(RNNModule, self).__init__()
        self.along_bands = along_bands
        self.groupnorm = nn.LayerNorm(dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, dim)

    def forward(self, x):
        if self.along_bands:
            x = x.transpose(1, 2)
        B, K, T, N = x.shape
        out = self.groupnorm(x).reshape(B * K, T, N)
        out = self.fc(self.rnn(out)[0]).reshape(B, K, T, N)
        x = x + out
        return x.transpose(1, 2) if self.along_bands else x


class MaskEstimationModule(nn.Module):
    def __init__(self, bands, fc_dim, n_channels, mlp_dim=32, complex_dim=2):
        super(MaskEstimationModule, self).__init__()
        self.bands = bands
        self.n_channels = n_channels
        self.cac = complex_dim
        self.layernorms = nn.ModuleList([nn.LayerNorm(fc_dim) for _ in bands])
        self.mlp = nn.ModuleList([
            nn.Sequential(
                nn.Linear(fc_dim, mlp_dim),
                nn.Tanh(),
                nn.Linear(mlp_dim, (e - s) * n_channels * complex_dim * 2),
                nn.GLU(),
            )
            for s, e in bands
        ])

    def forward(self, x):
        # x is (batch, band, time, fc_dim)
        outs = []
        for i, (s, e) in enumerate(self.bands):
            out = self.mlp[i](self.layernorms[i](x[:, i]))
            B, T, _ = out.shape
            out = out.view(B, self.n_channels, e - s, T, self.cac)  # here
            outs.append(out)
        return torch.cat(outs, dim=2)


class BandSplitRNN(nn.Module):
    def __init__(self, bands=BANDS, fc_dim=24, rnn_dim=24, n_channels=CHANNELS, num_layers=2):
        super(BandSplitRNN, self).__init__()
        self.bandsplit = BandSplitModule(bands, fc_dim, n_channels)
        self.bandsequence = nn.Sequential(
            *[m for _ in range(num_layers)
              for m in (RNNModule(fc_dim, rnn_dim), RNNModule(fc_dim, rnn_dim, True))])
        self.maskest = MaskEstimationModule(bands, fc_dim, n_channels)

    def forward(self, x):
        mask = self.maskest(self.bandsequence(self.bandsplit(x)))
        return mask * x


def make_mixtures(n=6, frames=14, seed=0):
    g = torch.Generator().manual_seed(seed)
    voice = torch.zeros(n, CHANNELS, BINS, frames, 2)
    for i in range(n):
        pitch = int(torch.randint(1, 4, (1,), generator=g))
        on = int(torch.randint(0, frames - 7, (1,), generator=g))
        phase = torch.randn(CHANNELS, 1, 7, 2, generator=g)
        for k in range(pitch, BINS, 3):
            voice[i, :, k:k + 1, on:on + 7] = phase * 2 / (1 + 0.1 * k)
    noise = 0.5 * torch.randn(voice.shape, generator=g)
    return voice + noise, voice


def build():
    torch.manual_seed(0)
    return BandSplitRNN()


def example_inputs():
    return (make_mixtures(4)[0],)
