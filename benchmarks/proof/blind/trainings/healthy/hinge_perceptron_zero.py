r"""A linear support vector machine on separable data, with the hinge loss.

Source: https://github.com/kazuto1011/svm-pytorch/blob/main/main.py
Odd: At the end the data loss of many batches is exactly zero and only the weight decay has a
    gradient; all points are outside the margin.
"""

import torch
from torch import nn

torch.manual_seed(0)
n = 300
y = 2.0 * torch.randint(0, 2, (n,)) - 1
x = torch.randn(n, 2) * 0.5 + y[:, None] * torch.tensor([2.0, 1.5])
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    sum_loss = 0.0
    for idx in torch.randperm(n).split(20):
        output = model(x[idx]).squeeze(1)
        hinge = torch.clamp(1 - y[idx] * output, min=0).mean()
        loss = hinge + 1e-4 * model.weight.square().sum() / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sum_loss += hinge.item()
    acc = (model(x).squeeze(1).sign() == y).float().mean().item()
    print(f"Epoch: {epoch:4d} Loss: {sum_loss / 15:.5f} accuracy {acc:.3f}")
