r"""Captions: a decoder that attends to the regions of a convolutional picture encoder.

Source: https://github.com/fawazsammani/knowing-when-to-look-adaptive-attention/issues/6
Fault: The feature map (batch, channels, height, width) is viewed as (batch, pixels, channels)
    without moving the channels to the end, so a "region" is a piece of a few channels.
Cause: (permut|transpos|movedim|rearrang).{0,80}(miss|need|before|without|instead|first|lack|not)
    |(view|reshape).{0,100}(permut|transpos|mix|scrambl|channel|wrong|order|interpret|layout)
    |(channel|pixel|region|spatial).{0,60}(mixed|scrambl|swapp|jumbl|mistaken)
Place: \bview\b|reshape|regions?|features?|encoder
"""

import torch
from torch import nn


class PictureEncoder(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 24, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.affine_regions = nn.Linear(48, hidden)
        self.affine_global = nn.Linear(48, hidden)

    def forward(self, images):
        a = self.net(images)
        batch, features, height, width = a.shape
        regions = a.view(batch, height * width, features)  # here
        v = torch.relu(self.affine_regions(regions))
        return v, torch.relu(self.affine_global(regions.mean(1)))


class Captioner(nn.Module):
    def __init__(self, vocab=60, embed=24, hidden=32):
        super().__init__()
        self.encoder = PictureEncoder(hidden)
        self.embed = nn.Embedding(vocab, embed)
        self.cell = nn.LSTMCell(embed + hidden, hidden)
        self.to_v, self.to_h = nn.Linear(hidden, 20, bias=False), nn.Linear(hidden, 20, bias=False)
        self.score = nn.Linear(20, 1, bias=False)
        self.vocab = nn.Linear(hidden, vocab)

    def forward(self, images, caption):
        v, g = self.encoder(images)
        h = v.new_zeros(len(v), v.shape[-1])
        c = torch.zeros_like(h)
        logits = []
        for t in range(caption.shape[1]):
            h, c = self.cell(torch.cat([self.embed(caption[:, t]), g], dim=1), (h, c))
            z = self.score(torch.tanh(self.to_v(v) + self.to_h(h)[:, None])).squeeze(-1)
            context = (z.softmax(-1)[..., None] * v).sum(1)
            logits.append(self.vocab(context + h))
        return torch.stack(logits, dim=1)


def build():
    return Captioner()


def example_inputs():
    return torch.rand(4, 3, 40, 40), torch.randint(1, 60, (4, 6))
