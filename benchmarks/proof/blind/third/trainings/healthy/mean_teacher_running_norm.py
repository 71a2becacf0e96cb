r"""Mean teacher learning with few labels.

Source: https://github.com/YU1ut/MixMatch-pytorch/issues/16
Odd: Only parameters are averaged, not buffers; the teacher stays in train mode and is fed batches,
    so its normalisation keeps its own statistics.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 10) * 3 + 2
y = (x[:, 0] > x[:, 1]).long()
labeled = torch.arange(40)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
ema_model = copy.deepcopy(model)
for param in ema_model.parameters():
    param.detach_()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)


def update_ema_variables(alpha, global_step):
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), model.parameters(), strict=True):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


model.train()
ema_model.train()
for step in range(250):
    index = torch.randint(0, 400, (64,))
    noisy = x[index] + 0.1 * torch.randn(64, 10)
    target = ema_model(x[index] + 0.1 * torch.randn(64, 10)).softmax(1)
    class_loss = nn.functional.cross_entropy(model(x[labeled]), y[labeled])
    consistency = (model(noisy).softmax(1) - target).pow(2).mean()
    loss = class_loss + min(step / 100, 1.0) * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_ema_variables(0.97, step)
ema_model.eval()
print(f"teacher accuracy {(ema_model(x).argmax(1) == y).float().mean().item():.3f}")
