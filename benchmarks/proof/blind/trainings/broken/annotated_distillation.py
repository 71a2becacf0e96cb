r"""Trains a small classifier with the soft targets of a large one.

Source: https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/66
Fault: The teacher's logits fill both sides of the divergence, so the distillation loss is always
    zero and only the few hard labels train the student.
Cause: (both|twice|same).*(teacher|large|logit)|large_logits|(distill|soft|kl).*(zero|constant)
"""

import torch
import torch.nn.functional as F
from torch import nn


class LargeModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 5))

    def forward(self, x):
        return 4 * self.net(x)


class SmallModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 5))

    def forward(self, x):
        return self.net(x)


class Configs:
    temperature = 5.0

    def __init__(self):
        self.large, self.small = LargeModel().eval(), SmallModel()
        self.kl_div_loss = nn.KLDivLoss(log_target=True, reduction="batchmean")
        self.optimizer = torch.optim.Adam(self.small.parameters(), lr=5e-3)

    def step(self, data, target, labeled):
        with torch.no_grad():
            large_logits = self.large(data)
        output = self.small(data)
        soft_targets = F.log_softmax(large_logits / self.temperature, dim=-1)
        soft_prob = F.log_softmax(large_logits / self.temperature, dim=-1)  # here
        soft_loss = self.kl_div_loss(soft_prob, soft_targets) * self.temperature**2
        label_loss = F.cross_entropy(output[:labeled], target[:labeled])
        loss = 0.9 * soft_loss + 0.1 * label_loss
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return soft_loss.item(), label_loss.item(), (output.argmax(1) == target).float().mean()


torch.manual_seed(0)
conf = Configs()
data = torch.randn(256, 10)
target = conf.large(data).argmax(1)
for epoch in range(200):
    soft, hard, acc = conf.step(data, target, labeled=8)
    if epoch % 40 == 39:
        print(f"{epoch}: train.kl_div {soft:.4f} train.nll {hard:.4f} acc {acc:.3f}")
