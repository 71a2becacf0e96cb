r"""Flow from spoken sound to noise, steered by a mel spectrogram.

Source: https://github.com/NVIDIA/waveglow
Odd: The last layer of each coupling starts as zeros, the matrix that mixes the channels starts
    as a rotation whose sign is turned, and part of the channels leaves early.
"""

import torch
from torch import nn


class Invertible1x1(nn.Module):
    def __init__(self, channels):
        super().__init__()
        rotation = torch.linalg.qr(torch.randn(channels, channels))[0]
        if torch.det(rotation) < 0:
            rotation[:, 0] = -rotation[:, 0]
        self.weight = nn.Parameter(rotation.contiguous().unsqueeze(2))

    def forward(self, x):
        log_det = x.size(0) * x.size(2) * torch.logdet(self.weight.squeeze(2))
        return nn.functional.conv1d(x, self.weight), log_det


class Coupling(nn.Module):
    def __init__(self, half, mels, layers=3, size=24):
        super().__init__()
        self.size, self.layers = size, layers
        self.start, self.end = nn.Conv1d(half, size, 1), nn.Conv1d(size, 2 * half, 1)
        self.end.weight.data.zero_()
        self.end.bias.data.zero_()
        self.condition = nn.Conv1d(mels, 2 * size * layers, 1)
        self.inside, self.skips = nn.ModuleList(), nn.ModuleList()
        for i in range(layers):
            conv = nn.Conv1d(size, 2 * size, 3, dilation=2**i, padding=2**i)
            self.inside.append(nn.utils.parametrizations.weight_norm(conv))
            self.skips.append(nn.Conv1d(size, 2 * size if i < layers - 1 else size, 1))

    def forward(self, audio, spectrum):
        audio, total = self.start(audio), 0
        conditions = self.condition(spectrum).chunk(self.layers, 1)
        for i in range(self.layers):
            left, right = (self.inside[i](audio) + conditions[i]).chunk(2, 1)
            out = self.skips[i](torch.tanh(left) * torch.sigmoid(right))
            if i < self.layers - 1:
                audio, out = audio + out[:, : self.size], out[:, self.size :]
            total = total + out
        return self.end(total).chunk(2, 1)


class SpokenSound(nn.Module):
    def __init__(self, mels=20, group=8, flows=4, early_every=2, early=2, sigma=1.0):
        super().__init__()
        self.group, self.early_every, self.early, self.sigma = group, early_every, early, sigma
        self.upsample = nn.ConvTranspose1d(mels, mels, 32, stride=16)
        self.mixes, self.couplings = nn.ModuleList(), nn.ModuleList()
        channels = group
        for k in range(flows):
            if k % early_every == 0 and k > 0:
                channels -= early
            self.mixes.append(Invertible1x1(channels))
            self.couplings.append(Coupling(channels // 2, mels * group))

    def forward(self, spectrum, audio):
        spectrum = self.upsample(spectrum)[:, :, : audio.size(1)]
        spectrum = spectrum.unfold(2, self.group, self.group).permute(0, 2, 1, 3)
        spectrum = spectrum.flatten(2).transpose(1, 2)
        audio = audio.unfold(1, self.group, self.group).transpose(1, 2)
        outputs, total = [], 0
        for k, (mix, coupling) in enumerate(zip(self.mixes, self.couplings)):
            if k % self.early_every == 0 and k > 0:
                outputs.append(audio[:, : self.early])
                audio = audio[:, self.early :]
            audio, log_det = mix(audio)
            first, second = audio.chunk(2, 1)
            shift, log_scale = coupling(first, spectrum)
            audio = torch.cat([first, log_scale.exp() * second + shift], 1)
            total = total + log_det + log_scale.sum()
        z = torch.cat([*outputs, audio], 1)
        return (z.square().sum() / (2 * self.sigma**2) - total) / z.numel()


def build():
    return SpokenSound()


def example_inputs():
    return torch.randn(2, 20, 10), 0.5 * torch.randn(2, 160)
