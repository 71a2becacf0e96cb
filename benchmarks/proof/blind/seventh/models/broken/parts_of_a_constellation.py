r"""Part capsules of a picture: attention maps pool the features and the poses of each part.

Source: https://github.com/phanideepgampa/stacked-capsule-networks/pull/5
Fault: The softmax of the attention is taken over the last axis, which has one entry, so every
    weight is one.
Cause: softmax.{0,100}(last|axis|dim|single|one|size|wrong|always|singleton)
    |attention.{0,60}(always (1|one)|constant|all ones|no effect|equal)
    |(weights?).{0,40}(all|always).{0,10}(1\b|one)
Place: softmax|attention\w*|\bmask\b
"""

import torch
from torch import nn


class PartEncoder(nn.Module):
    def __init__(self, parts=6, pose=6, extra=8):
        super().__init__()
        self.parts, self.pose, self.extra = parts, pose, extra
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3),
            nn.ReLU(),
        )
        self.to_parts = nn.Conv2d(32, parts * (pose + 1 + extra + 1), 1)

    def forward(self, image):
        x = self.to_parts(self.encoder(image))
        x = x.view(len(image), self.parts, -1, x.shape[2] * x.shape[3]).transpose(2, 3)
        value, attention = x[..., :-1], x[..., -1:]
        mask = attention.softmax(-1)  # here
        pooled = (value * mask).sum(2)
        pose, presence, feature = pooled.split([self.pose, 1, self.extra], dim=-1)
        return pose, torch.sigmoid(presence.squeeze(-1)), torch.relu(feature)


class Constellation(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.part_encoder = PartEncoder()
        self.embed = nn.Linear(6 + 8 + 1, 32)
        self.set_layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.classify = nn.Linear(32, classes)

    def forward(self, image):
        pose, presence, feature = self.part_encoder(image)
        part = torch.cat([pose, presence[..., None], feature], dim=-1)
        return self.classify(self.set_layer(self.embed(part)).mean(1)), presence


def build():
    return Constellation()


def example_inputs():
    return (torch.rand(6, 1, 28, 28),)
