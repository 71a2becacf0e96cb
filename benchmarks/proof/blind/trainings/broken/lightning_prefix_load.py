r"""Trains a linear probe on a backbone whose weights come from a Lightning checkpoint.

Source: https://github.com/pytorch/examples/issues/1029
Fault: Every key of the checkpoint has a prefix and strict=False skips them all, so the probe sits
    on a random frozen backbone.
Cause: strict|prefix|key|(weights|checkpoint|pretrain\w*|backbone).*(not|never|nothing).*load|random
Place: backbone|encoder
"""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 6, 5)
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x)).mean(-1))


class LitClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Encoder()
        self.head = nn.Linear(3, 3)

    def forward(self, x):
        return self.head(self.model(x))


def waves(n):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(32)
    phase = 6.28 * torch.rand(n, 1)
    x = torch.sin((y[:, None] + 1) * 0.5 * t + phase) + 0.3 * torch.randn(n, 32)
    return x.unsqueeze(1), y


def fit(model, params, steps, lr):
    optimizer = torch.optim.Adam(params, lr=lr)
    for step in range(steps):
        x, y = waves(64)
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 24:
            acc = (logits.argmax(1) == y).float().mean()
            print(f"  step {step} loss {loss.item():.4f} acc {acc:.3f}")


torch.manual_seed(1)
lit = LitClassifier()
print("pretraining")
fit(lit, lit.parameters(), 150, 2e-2)
checkpoint = {"state_dict": lit.state_dict()}

backbone = Encoder()
backbone.load_state_dict(checkpoint["state_dict"], strict=False)  # here
backbone.requires_grad_(False)
probe = nn.Sequential(backbone, nn.Linear(3, 3))
print("linear probe")
fit(probe, probe[1].parameters(), 100, 2e-2)
