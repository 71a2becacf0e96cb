r"""Forecaster of power use that splits each layer's series into season and trend.

Source: https://github.com/thuml/Autoformer
Odd: The moving average repeats the first and last value at the ends, and the norm of the season
    takes away its mean over time after an ordinary layer norm.
"""

import math

import torch
from torch import nn


class SeriesDecomposition(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.kernel, self.average = kernel, nn.AvgPool1d(kernel, stride=1)

    def forward(self, x):
        side = (self.kernel - 1) // 2
        ends = x[:, :1].repeat(1, side, 1), x[:, -1:].repeat(1, side, 1)
        padded = torch.cat([ends[0], x, ends[1]], 1)
        trend = self.average(padded.transpose(1, 2)).transpose(1, 2)
        return x - trend, trend


class SeasonNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)

    def forward(self, x):
        x = self.norm(x)
        return x - x.mean(1, keepdim=True)


class AutoCorrelation(nn.Module):
    def __init__(self, size, factor=1):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(size, size) for _ in range(3))
        self.out, self.factor = nn.Linear(size, size), factor

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        length = x.size(1)
        spectrum = torch.fft.rfft(q, dim=1) * torch.fft.rfft(k, dim=1).conj()
        correlation = torch.fft.irfft(spectrum, n=length, dim=1).mean(2)
        top = int(self.factor * math.log(length))
        weights, delays = correlation.topk(top, dim=1)
        weights = weights.softmax(1)
        index = torch.arange(length, device=x.device).view(1, -1)
        total = torch.zeros_like(v)
        for i in range(top):
            place = (index + delays[:, i : i + 1]) % length
            rolled = v.gather(1, place.unsqueeze(2).expand_as(v))
            total = total + rolled * weights[:, i].view(-1, 1, 1)
        return self.out(total)


class Layer(nn.Module):
    def __init__(self, size, kernel):
        super().__init__()
        self.attention = AutoCorrelation(size)
        self.conv1 = nn.Conv1d(size, 2 * size, 1, bias=False)
        self.conv2 = nn.Conv1d(2 * size, size, 1, bias=False)
        self.split1, self.split2 = SeriesDecomposition(kernel), SeriesDecomposition(kernel)

    def forward(self, x):
        x, _ = self.split1(x + self.attention(x))
        y = self.conv2(torch.nn.functional.gelu(self.conv1(x.transpose(1, 2)))).transpose(1, 2)
        x, _ = self.split2(x + y)
        return x


class Power(nn.Module):
    def __init__(self, series=7, size=24, kernel=13, layers=2, length=48, ahead=12):
        super().__init__()
        self.split = SeriesDecomposition(kernel)
        self.embed = nn.Conv1d(series, size, 3, padding=1, padding_mode="circular", bias=False)
        self.layers = nn.ModuleList(Layer(size, kernel) for _ in range(layers))
        self.norm = SeasonNorm(size)
        self.project = nn.Linear(size, series)
        self.season, self.trend = nn.Linear(length, ahead), nn.Linear(length, ahead)

    def forward(self, x):
        season, trend = self.split(x)
        h = self.embed(season.transpose(1, 2)).transpose(1, 2)
        for layer in self.layers:
            h = layer(h)
        season = self.project(self.norm(h)).transpose(1, 2)
        return (self.season(season) + self.trend(trend.transpose(1, 2))).transpose(1, 2)


def build():
    return Power()


def example_inputs():
    return (torch.randn(4, 48, 7),)
