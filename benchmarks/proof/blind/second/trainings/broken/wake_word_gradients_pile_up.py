r"""Trains a small keyword spotter on synthetic filterbank features.

Source: https://github.com/wenet-e2e/wekws/issues/72
    https://github.com/wenet-e2e/wekws/pull/73
Fault: the gradients are never cleared between steps, so each update uses the sum of all the
    gradients so far and the loss swings instead of falling.
Cause: zero_grad|gradients?\b.*\b(accumulat|clear|reset|pile|add
    up)|(accumulat|clear|reset)\w*\b.*\bgrad
Place: zero_grad
"""

import torch
from torch import nn

torch.manual_seed(777)


class Executor:
    def __init__(self):
        self.step = 0

    def train(self, model, optimizer, batches, clip=5.0):
        model.train()
        total = 0.0
        for feats, target in batches:
            loss = nn.functional.cross_entropy(model(feats), target)
            loss.backward()  # here
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            self.step += 1
            total += loss.item()
        return total / len(batches)


class TDNN(nn.Module):
    def __init__(self, mel=20, hidden=32, keywords=4):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(mel, hidden, 5),
            nn.ReLU(),
            nn.Conv1d(hidden, hidden, 5, dilation=2),
            nn.ReLU(),
        )
        self.fc = nn.Linear(hidden, keywords)

    def forward(self, feats):
        return self.fc(self.layers(feats.transpose(1, 2)).mean(2))


templates = torch.randn(4, 30, 20)
target = torch.randint(0, 4, (256,))
feats = 0.5 * templates[target] + torch.randn(256, 30, 20)
batches = list(zip(feats.split(16), target.split(16), strict=True))

model = TDNN()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
executor = Executor()
for epoch in range(8):
    print(f"epoch {epoch} loss {executor.train(model, optimizer, batches):.4f}")
