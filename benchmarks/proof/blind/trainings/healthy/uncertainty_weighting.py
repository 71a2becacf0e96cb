r"""Multi-task learning with learned log-variances as weights of the losses.

Source: https://github.com/yaringal/multi-task-learning-example/blob/master/multi-task-learning-example-pytorch.ipynb
    https://github.com/Mikoto10032/AutomaticWeightedLoss
Odd: The total loss becomes negative; the log-variances are part of the objective and have no lower
    bound, while both task losses fall.
"""

import torch
from torch import nn


class MultiTaskLossWrapper(nn.Module):
    def __init__(self, task_num, model):
        super().__init__()
        self.model = model
        self.log_vars = nn.Parameter(torch.zeros(task_num))

    def forward(self, x, targets):
        outputs = self.model(x)
        tasks = [(y - out).pow(2).mean() for y, out in zip(targets, outputs, strict=True)]
        loss = sum(torch.exp(-v) * t + v for v, t in zip(self.log_vars, tasks, strict=True))
        return loss, tasks


class MTLModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.heads = nn.ModuleList([nn.Linear(48, 1), nn.Linear(48, 1)])

    def forward(self, x):
        h = self.net(x)
        return [head(h) for head in self.heads]


torch.manual_seed(0)
mtl = MultiTaskLossWrapper(2, MTLModel())
optimizer = torch.optim.Adam(mtl.parameters(), lr=1e-2)
for step in range(250):
    x = torch.randn(128, 3)
    y1 = x[:, :1] * 2 + 0.05 * torch.randn(128, 1)
    y2 = torch.sin(x[:, 1:2]) + 0.5 * torch.randn(128, 1)
    loss, (task1, task2) = mtl(x, (y1, y2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"{step} total {loss.item():.3f} task1 {task1.item():.4f} task2 {task2.item():.4f}")
