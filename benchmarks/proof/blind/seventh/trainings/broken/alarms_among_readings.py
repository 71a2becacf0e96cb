r"""Alarms among the readings of a plant, with a focal loss for the rare ones.

Source: https://github.com/itakurah/focal-loss-pytorch/pull/5
Fault: The loss takes the sigmoid of the scores and then calls the cross entropy with logits on it.
Cause: sigmoid.{0,80}(twice|second|double|already|again|two times)|(twice|double|two).{0,30}sigmoid
    |(probabilit|0 (and|to|\.\.) ?1|\[0, ?1\]).{0,80}(logit)
    |(logit).{0,60}(expect|not probabilit|probabilit|sigmoid)
    |sigmoid.{0,100}(logits|loss (applies|takes|has))
Place: binary_cross_entropy_with_logits|FocalLoss|criterion|probs
"""

import torch
import torch.nn.functional as F
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=0.75, reduction="mean"):
        super().__init__()
        self.gamma, self.alpha, self.reduction = gamma, alpha, reduction

    def forward(self, inputs, targets):
        probs = torch.sigmoid(inputs)
        bce = F.binary_cross_entropy_with_logits(probs, targets, reduction="none")  # here
        p_t = probs * targets + (1 - probs) * (1 - targets)
        loss = (1 - p_t) ** self.gamma * bce
        if self.alpha is not None:
            loss = (self.alpha * targets + (1 - self.alpha) * (1 - targets)) * loss
        return loss.mean() if self.reduction == "mean" else loss.sum()


def readings(count, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 14, generator=generator)
    risk = 1.6 * x[:, 0] * x[:, 1] + 1.2 * x[:, 2] - x[:, 3].abs() - 1.6
    y = (risk + 0.3 * torch.randn(count, generator=generator) > 0).float()
    return x, y


def average_precision(scores, targets):
    hits = targets[scores.argsort(descending=True)]
    precision = hits.cumsum(0) / torch.arange(1, len(hits) + 1)
    return ((precision * hits).sum() / hits.sum()).item()


def main():
    torch.manual_seed(0)
    x, y = readings(3000, 1)
    val_x, val_y = readings(2000, 2)
    net = nn.Sequential(
        nn.Linear(14, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1)
    )
    criterion = FocalLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1.5e-3, weight_decay=1e-4)
    for step in range(200):
        rows = torch.randint(0, len(x), (128,))
        loss = criterion(net(x[rows]).squeeze(1), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            with torch.no_grad():
                scores = net(val_x).squeeze(1)
            recall = ((scores > 0) & (val_y == 1)).sum() / val_y.sum()
            print(
                f"step {step + 1} loss {loss.item():.4f} recall {recall.item():.3f} "
                f"average precision {average_precision(scores, val_y):.3f}"
            )


if __name__ == "__main__":
    main()
