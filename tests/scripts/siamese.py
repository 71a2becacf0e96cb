"""A siamese net is called twice a step; a triplet of embeddings comes back as a named tuple."""

import os
from collections import namedtuple

import torch
from torch import nn

Embedding = namedtuple("Embedding", "vector norm")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(24, 4))

    def forward(self, signal):
        vector = self.features(signal)
        return Embedding(vector, vector.norm(dim=1))


class Trainer:
    epochs = 5

    def __init__(self):
        self.encoder = Encoder()
        self.optimizer = torch.optim.Adadelta(self.encoder.parameters(), lr=1.0)

    def step(self, left, right, same):
        a, b = self.encoder(left), self.encoder(right)
        distance = (a.vector - b.vector).norm(dim=1)
        loss = torch.where(same, distance, (1 - distance).clamp_min(0)).mean()
        loss.backward()
        # truth: before("encoder", self.optimizer, loss, forwards=2)
        self.optimizer.step()
        # truth: after("encoder")
        self.optimizer.zero_grad()
        return loss.item()


def main():
    torch.manual_seed(14)
    trainer = Trainer()
    for epoch in range(trainer.epochs):
        left, right = torch.randn(8, 1, 8), torch.randn(8, 1, 8)
        print("epoch", epoch, "loss", trainer.step(left, right, torch.rand(8) > 0.5))
    torch.save(trainer.encoder.state_dict(), os.environ["WEIGHTS"])


main()
