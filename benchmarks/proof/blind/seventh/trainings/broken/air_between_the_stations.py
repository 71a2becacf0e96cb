r"""The temperature of the air between stations, by a network trained over small tasks.

Source: https://github.com/alan-turing-institute/deepsensor/issues/47
Fault: Each call of the epoch function builds a new Adam, so the moments are lost each time.
Cause: (optimi[sz]er|adam|moment|state).{0,100}(new|again|re.?creat|re.?instan|rebuil|reset|fresh)
    |(optimi[sz]er|adam|moment|state).{0,100}((every|each|per) epoch)
    |(new|fresh|re.?creat\w*|re.?instan\w*|reset\w*) .{0,40}(optimi[sz]er|adam|moment)
Place: optimi[sz]er|train_epoch|opt\b
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(25)
WAVES = torch.randn(6, 2) * 1.5
PHASES = torch.rand(6) * 6.28


def air(place):
    return torch.sin(place @ WAVES.t() + PHASES).sum(-1, keepdim=True) / 2


class Task:
    def __init__(self, count=40):
        self.place = torch.rand(count, 2) * 2 - 1
        self.value = air(self.place) + 0.05 * torch.randn(count, 1)


class FieldModel(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 1),
        )

    def loss_fn(self, task):
        return F.mse_loss(self.net(task.place), task.value)


def train_epoch(model, tasks, lr=6e-3, batch_size=5, opt=None):
    if opt is None:
        opt = torch.optim.Adam(model.parameters(), lr=lr)  # here
    order = torch.randperm(len(tasks)).tolist()
    losses = []
    for i in range(0, len(tasks), batch_size):
        batch = [tasks[j] for j in order[i : i + batch_size]]
        opt.zero_grad()
        loss = sum(model.loss_fn(task) for task in batch) / len(batch)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def validate(model, tasks):
    return sum(model.loss_fn(task).item() for task in tasks) / len(tasks)


model = FieldModel()
train_tasks = [Task() for _ in range(15)]
val_tasks = [Task() for _ in range(10)]
for epoch in range(100):
    batch_losses = train_epoch(model, train_tasks)
    if epoch % 20 == 19:
        mean = sum(batch_losses) / len(batch_losses)
        print(f"epoch {epoch + 1} loss {mean:.4f} validation {validate(model, val_tasks):.4f}")
