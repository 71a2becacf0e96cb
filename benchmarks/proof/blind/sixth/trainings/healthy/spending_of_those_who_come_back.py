r"""What customers will spend in a year, which is nothing for most of them.

Source: https://github.com/google/lifetime_value
Odd: One output decides whether there is any spending, and the other two give the mean and width of
    its logarithm; a regression loss is taken at the positive targets only, with zeros made one.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import LogNormal

torch.manual_seed(16)
need, wealth = torch.randn(8) / 2, torch.randn(8) / 2


def customers(count=256):
    x = torch.randn(count, 8)
    comes = torch.rand(count) < torch.sigmoid(2 * (x @ need) - 1)
    spends = torch.exp(x @ wealth + 3 + 0.5 * torch.randn(count))
    return x, torch.where(comes, spends, torch.zeros(count))


def zero_inflated_lognormal_loss(labels, logits):
    positive = (labels > 0).float()
    positive_logits, loc, scale = logits.unbind(1)
    classification_loss = F.binary_cross_entropy_with_logits(positive_logits, positive)
    scale = F.softplus(scale).clamp(min=1e-3)
    safe_labels = positive * labels + (1 - positive)
    regression_loss = -(positive * LogNormal(loc, scale).log_prob(safe_labels)).mean()
    return classification_loss + regression_loss


def predict(logits):
    scale = F.softplus(logits[:, 2])
    return torch.sigmoid(logits[:, 0]) * torch.exp(logits[:, 1] + scale.square() / 2)


model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(110):
    x, spent = customers()
    loss = zero_inflated_lognormal_loss(spent, model(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 22 == 0:
        print(f"step {step} loss {loss.item():.3f}")
with torch.no_grad():
    x, spent = customers(4000)
    guess = predict(model(x))
    rank = torch.corrcoef(
        torch.stack([guess.argsort().argsort(), spent.argsort().argsort()]).float()
    )
print(f"rank correlation of the prediction {rank[0, 1].item():.3f}")
