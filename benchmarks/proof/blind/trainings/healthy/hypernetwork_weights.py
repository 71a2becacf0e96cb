r"""A hypernetwork generates the weights of a small network for each task.

Source: https://github.com/g1910/HyperNetworks
    https://github.com/chrhenning/hypnettorch
Odd: The network that makes the predictions has no parameters of its own; its weights are outputs.
"""

import torch
import torch.nn.functional as F
from torch import nn


class HyperNetwork(nn.Module):
    def __init__(self, tasks=3, hidden=10):
        super().__init__()
        self.hidden = hidden
        self.task_embedding = nn.Embedding(tasks, 6)
        self.generator = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3 * hidden + 1))

    def forward(self, x, task):
        flat = self.generator(self.task_embedding(task))
        w1, b1, w2, b2 = flat.split([self.hidden, self.hidden, self.hidden, 1])
        return F.linear(torch.tanh(F.linear(x, w1[:, None], b1)), w2[None], b2)


torch.manual_seed(0)
functions = [torch.sin, torch.cos, lambda x: 0.5 * x]
hnet = HyperNetwork()
optimizer = torch.optim.Adam(hnet.parameters(), lr=5e-3)
for step in range(300):
    task = step % 3
    x = 4 * torch.rand(64, 1) - 2
    loss = F.mse_loss(hnet(x, torch.tensor(task)), functions[task](x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59 or step < 1:
        print(f"step {step} task {task} loss {loss.item():.5f}")
