r"""Embedding with a proxy for each class.

Source: https://github.com/tjddus9597/Proxy-Anchor-CVPR2020/blob/master/code/train.py
Odd: The proxies are parameters of the loss and learn at a rate a hundred times that of the network.
"""

import torch
from torch import nn
from torch.nn import functional as F


class ProxyAnchor(nn.Module):
    def __init__(self, classes, dim, margin=0.1, alpha=16):
        super().__init__()
        self.proxies = nn.Parameter(torch.empty(classes, dim))
        nn.init.kaiming_normal_(self.proxies, mode="fan_out")
        self.margin, self.alpha = margin, alpha

    def forward(self, x, labels):
        cos = F.linear(F.normalize(x), F.normalize(self.proxies))
        hot = F.one_hot(labels, len(self.proxies)).bool()
        pos = torch.exp(-self.alpha * (cos - self.margin)).masked_fill(~hot, 0).sum(0)
        neg = torch.exp(self.alpha * (cos + self.margin)).masked_fill(hot, 0).sum(0)
        return torch.log1p(pos).sum() / hot.any(0).sum() + torch.log1p(neg).mean()


torch.manual_seed(0)
labels = torch.randint(0, 8, (512,))
x = torch.randn(8, 32)[labels] + 0.8 * torch.randn(512, 32)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
criterion = ProxyAnchor(8, 16)
groups = [{"params": model.parameters(), "lr": 1e-3}, {"params": criterion.parameters(), "lr": 0.1}]
optimizer = torch.optim.AdamW(groups, weight_decay=1e-4)
for step in range(60):
    index = torch.randint(0, 512, (96,))
    loss = criterion(model(x[index]), labels[index])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 10)
    optimizer.step()
near = (F.normalize(model(x)) @ F.normalize(criterion.proxies).t()).argmax(1)
print(f"loss {loss.item():.3f}, accuracy {(near == labels).float().mean().item():.3f}")
