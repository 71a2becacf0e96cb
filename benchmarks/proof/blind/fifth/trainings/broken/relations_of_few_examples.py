r"""Embedding for classes with few examples, tested class by class after training.

Source: https://github.com/floodsung/LearningToCompare_FSL/issues/48
Fault: The test runs in training mode, so the queries are normalised by their own batch.
Cause: eval\w*|train(ing)? mode|batch ?norm\w*|batch statistics|(statistics|normalis\w+) .*batch
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
CLASSES, SHOTS, DIM = 10, 5, 24
prototypes = 1.5 * torch.randn(CLASSES, DIM)


def sample(labels):
    return prototypes[labels] + torch.randn(len(labels), DIM)


class CNNEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(DIM, 64), nn.BatchNorm1d(64), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32))

    def forward(self, x):
        return self.layer2(self.layer1(x))


feature_encoder = CNNEncoder()
optimizer = torch.optim.Adam(feature_encoder.parameters(), lr=3e-3)
for episode in range(60):
    support = torch.arange(CLASSES).repeat_interleave(SHOTS)
    query = torch.randint(0, CLASSES, (60,))
    features = feature_encoder(torch.cat([sample(support), sample(query)]))
    centres = features[: len(support)].view(CLASSES, SHOTS, -1).mean(1)
    logits = -torch.cdist(features[len(support) :], centres).square()
    loss = F.cross_entropy(logits, query)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print("Testing...")
hits = 0
with torch.no_grad():  # here
    support = torch.arange(CLASSES).repeat_interleave(SHOTS)
    centres = feature_encoder(sample(support)).view(CLASSES, SHOTS, -1).mean(1)
    for label in range(CLASSES):
        features = feature_encoder(sample(torch.full((30,), label)))
        hits += (torch.cdist(features, centres).argmin(1) == label).sum().item()
print(f"loss {loss.item():.3f}, test accuracy {hits / (30 * CLASSES):.3f}")
