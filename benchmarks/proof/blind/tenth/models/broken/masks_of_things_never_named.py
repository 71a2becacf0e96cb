r"""Pixel embeddings of masked things, pulled together inside an object and pushed from its ground.

Source: https://github.com/huiserwang/ContrastMask/issues/4
Fault: The similarities of the negatives are not divided by the temperature as those of the
    positives are, so the two sides of the softmax have different scales.
Cause: temperature.{0,140}(negativ\w*|only|missing|not (applied|divided|used)|both|one (side|term)|positiv\w*|forgot\w*|omitted)
    |(negativ\w*|neg\w*).{0,120}(temperature|\btau\b|not (divided|scaled)|unscaled|scale)
    |(missing|forgot\w*|without|lack\w*|omit\w*).{0,40}(temperature|\btau\b|division)
Place: neg_logits|\bneg\b|temperature|\btau\b|logits|contrast|negatives
"""

import torch
from torch import nn
from torch.nn import functional as F


class ContrastiveHead(nn.Module):
    def __init__(self, in_channels=32, channels=32, dim=16, tau=0.3):
        super().__init__()
        convs = []
        for i in range(3):
            convs += [
                nn.Conv2d(in_channels if i == 0 else channels, channels, 3, padding=1),
                nn.ReLU(),
            ]
        self.encoder = nn.Sequential(*convs)
        self.projector = nn.Sequential(
            nn.Conv2d(channels, channels, 1), nn.ReLU(), nn.Conv2d(channels, dim, 1)
        )
        self.tau = tau

    def forward(self, feat, inside):
        feat = self.encoder(feat)
        z = F.normalize(self.projector(feat), dim=1).flatten(2).transpose(1, 2)
        inside = inside.flatten(1)
        query = (z * inside[..., None]).sum(1) / inside.sum(1, keepdim=True).clamp(min=1)
        query = F.normalize(query, dim=1)
        similarity = torch.einsum("nd,mpd->nmp", query, z)
        n = len(z)
        own = similarity[torch.arange(n), torch.arange(n)]
        pos = (own * inside).sum(1) / inside.sum(1).clamp(min=1) / self.tau
        outside = (1 - inside)[None].expand(n, -1, -1)
        neg = similarity.masked_fill(outside == 0, float("-inf")).flatten(1)  # here
        logits = torch.cat((pos[:, None], neg), 1)
        target = torch.zeros(n, dtype=torch.long, device=z.device)
        return feat, F.cross_entropy(logits, target)


class MaskModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 1, 1), nn.ReLU()
        )
        self.contrast = ContrastiveHead()
        self.mask = nn.Sequential(nn.Conv2d(64, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 1))

    def forward(self, image, inside):
        x = self.body(image)
        feat, loss = self.contrast(x, inside)
        return self.mask(torch.cat((x, feat), 1)), loss


def build():
    return MaskModel()


def example_inputs():
    inside = torch.zeros(4, 12, 12)
    inside[:, 3:8, 4:9] = 1
    return torch.rand(4, 3, 24, 24), inside
