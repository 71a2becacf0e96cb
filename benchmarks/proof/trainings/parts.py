"""Models, data and loops that several trainings share. Nothing here knows hookcli."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

STEPS = 150


def mlp(*sizes, activation=nn.ReLU):
    """Return linear layers with an activation between them."""
    layers = []
    for i, (before, after) in enumerate(pairwise(sizes)):
        layers += [nn.Linear(before, after)] + [activation()] * (i < len(sizes) - 2)
    return nn.Sequential(*layers)


class ConvNet(nn.Module):
    """Two convolutions with batch norm and dropout, for images of 8 by 8."""

    def __init__(self, classes=4, dropout=0.2):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout),
        )  # fmt: skip
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.body(x))


class Block(nn.Module):
    """A residual block whose last weight is zero, as in many recipes."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.fc, self.out = nn.LayerNorm(width), nn.Linear(width, width), None
        self.out = nn.Linear(width, width)
        nn.init.zeros_(self.out.weight)

    def forward(self, x):
        return x + self.out(functional.gelu(self.fc(self.norm(x))))


class ResNet(nn.Module):
    """Residual blocks that start as the identity."""

    def __init__(self, inputs=8, width=16, depth=4, outputs=4):
        super().__init__()
        self.stem = nn.Linear(inputs, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class Recurrent(nn.Module):
    """An LSTM or GRU that tells the class of a sequence."""

    def __init__(self, kind=nn.LSTM, outputs=3):
        super().__init__()
        self.rnn = kind(3, 16, batch_first=True)
        self.head = nn.Linear(16, outputs)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class GPT(nn.Module):
    """A small causal transformer with tied embeddings."""

    def __init__(self, vocabulary=12, width=16, depth=2, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(16, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x):
        length = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        h = self.tokens(x) + self.places(torch.arange(length))
        return self.head(self.norm(self.blocks(h, mask=mask, is_causal=True)))


def sine(batch=32):
    """Return batches of a regression: the sine of a sum."""
    while True:
        x = torch.rand(batch, 4) * 2 - 1
        yield x, torch.sin(x.sum(1, keepdim=True))


def blobs(batch=32, classes=4, noise=1.0, inputs=8):
    """Return batches of classes around centers."""
    centers = 2 * torch.randn(classes, inputs)
    while True:
        y = torch.randint(classes, (batch,))
        yield centers[y] + noise * torch.randn(batch, inputs), y


def images(batch=16, classes=4):
    """Return batches of images with a bright quarter, which is the class."""
    while True:
        y = torch.randint(classes, (batch,))
        x = 0.3 * torch.randn(batch, 1, 8, 8)
        for i, which in enumerate(y.tolist()):
            x[i, 0, 4 * (which // 2) :, 4 * (which % 2) :][:4, :4] += 1
        yield x, y


def sequences(batch=16):
    """Return batches of sequences; the class is the largest mean."""
    while True:
        y = torch.randint(3, (batch,))
        x = torch.randn(batch, 10, 3)
        x[torch.arange(batch), :, y] += 1
        yield x, y


def text(batch=8, length=12, vocabulary=12):
    """Return batches of counting sequences and their next tokens."""
    while True:
        start = torch.randint(vocabulary, (batch, 1))
        stride = torch.randint(1, 4, (batch, 1))
        tokens = (start + stride * torch.arange(length + 1)) % vocabulary
        yield tokens[:, :-1], tokens[:, 1:].reshape(-1)


def tokens_loss(logits, targets):
    """Return the mean cross entropy over all tokens."""
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets)


def loop(model, optimizer, data, loss, steps=STEPS, after=lambda step: None):
    """Train in the usual way; `after` is called after each step."""
    for step, (x, y) in zip(range(steps), data, strict=False):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        after(step)


def cosine(steps=STEPS, warmup=10):
    """Return a schedule from 0 to 1 and back to 0."""

    def factor(step):
        if step < warmup:
            return step / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))

    return factor
