r"""A recogniser of speakers: learnable filters, an encoder of dense layers, a pooled embedding.

Source: https://github.com/speechbrain/speechbrain/issues/1396
Fault: the features are detached before they go into the encoder, so that no gradient comes to the
    filters (or to the sound); the front end stays as it was drawn.
Cause: detach|(cut|break|broken|stop|block|sever)\w*.*(graph|gradient|backprop)
    |(front.?end|filter|feature)\w*.*(no|without|None|never|zero|not).*(grad|train|learn|update)
    |(compute_features)\w*.*(no|without|None|never|zero|not).*(grad|train|learn|update)
    |(waveform|input)\w*.*(no|without|None|never|zero|not).*(grad|train|learn|update)
    |(gradient|graph).*(not (reach|flow|come)|stops?|cut|blocked|ends?)
Place: detach|feats|compute_features|filters|front_?end|enc
"""
import math

import torch
from torch import nn
import torch.nn.functional as F

SPEAKERS = 4
RATE = 800


class LearnableFilters(nn.Module):
    """band-pass filters as convolutions, then the energy of short frames"""

    def __init__(self, n_filters=12, kernel_size=41, hop=20):
        super().__init__()
        self.hop = hop
        self.conv = nn.Conv1d(1, n_filters, kernel_size, padding=kernel_size // 2, bias=False)
        self.register_buffer('window', torch.hamming_window(kernel_size))
        nn.init.normal_(self.conv.weight, std=1.0 / math.sqrt(kernel_size))

    def forward(self, wavs):
        x = F.conv1d(wavs.unsqueeze(1), self.conv.weight * self.window,
                     padding=self.conv.padding[0])
        x = F.avg_pool1d(x ** 2, self.hop)
        return torch.log(x + 1e-4).transpose(1, 2)


class LinearBlock(nn.Sequential):
    def __init__(self, in_size, out_size):
        super().__init__(nn.Linear(in_size, out_size), nn.LayerNorm(out_size), nn.LeakyReLU())


class Encoder(nn.Module):
    def __init__(self, in_size, hidden=32, emb=24):
        super().__init__()
        self.blocks = nn.Sequential(LinearBlock(in_size, hidden), LinearBlock(hidden, hidden))
        self.embedding = nn.Linear(2 * hidden, emb)

    def forward(self, x):
        x = self.blocks(x)
        pooled = torch.cat([x.mean(dim=1), x.std(dim=1)], dim=1)
        return self.embedding(pooled)


class SpeakerBrain(nn.Module):
    def __init__(self, n_filters=12, speakers=SPEAKERS):
        super().__init__()
        self.modules_ = nn.ModuleDict({
            'compute_features': LearnableFilters(n_filters),
            'enc': Encoder(n_filters),
            'classifier': nn.Sequential(nn.LeakyReLU(), nn.Linear(24, speakers)),
        })

    def compute_forward(self, wavs):
        feats = self.modules_['compute_features'](wavs)
        feats = feats - feats.mean(dim=(1, 2), keepdim=True)
        x = self.modules_['enc'](feats.detach())  # here
        return self.modules_['classifier'](x)

    def compute_objectives(self, predictions, spkid):
        return F.nll_loss(F.log_softmax(predictions, dim=1), spkid)

    def forward(self, wavs, spkid):
        return self.compute_objectives(self.compute_forward(wavs), spkid)


def make_voices(n=32, seconds=0.5, seed=0):
    g = torch.Generator().manual_seed(seed)
    spkid = torch.randint(0, SPEAKERS, (n,), generator=g)
    t = torch.arange(int(RATE * seconds)).float() / RATE
    pitch = 60 + 25 * spkid.float()[:, None] + 3 * torch.randn(n, 1, generator=g)
    wavs = torch.zeros(n, t.numel())
    for k in range(1, 4):
        phase = 6.28 * torch.rand(n, 1, generator=g)
        wavs += torch.sin(2 * math.pi * k * pitch * t + phase) / k
    return wavs + 1.0 * torch.randn(wavs.shape, generator=g), spkid


def build():
    torch.manual_seed(0)
    return SpeakerBrain()


def example_inputs():
    return make_voices(12)
