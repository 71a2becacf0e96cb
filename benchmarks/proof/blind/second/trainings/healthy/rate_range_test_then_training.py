"""Looks for a learning rate by raising it until the loss explodes, then trains from the same start.

Source: https://github.com/davidtvs/pytorch-lr-finder
Odd: in the first phase the loss rises to huge values and the rate grows at each step; it is a range
    test, and the weights and the optimiser are restored before the training.
"""

import copy

import torch
from torch import nn

torch.manual_seed(30)
x = torch.randn(600, 16)
y = (x[:, :4].sum(1) > 0).long() + (x[:, 4] > 1).long()
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
criterion = nn.CrossEntropyLoss()


def train_batch():
    rows = torch.randint(0, 600, (48,))
    optimizer.zero_grad()
    loss = criterion(model(x[rows]), y[rows])
    loss.backward()
    optimizer.step()
    return loss.item()


class LRFinder:
    def __init__(self, end_lr=100.0, num_iter=60):
        self.memory = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
        self.factor = (end_lr / 1e-4) ** (1 / num_iter)
        self.num_iter = num_iter

    def range_test(self):
        best, best_lr = float("inf"), None
        for _ in range(self.num_iter):
            loss = train_batch()
            lr = optimizer.param_groups[0]["lr"]
            if loss < best:
                best, best_lr = loss, lr
            if loss > 20 * best:
                break
            optimizer.param_groups[0]["lr"] = lr * self.factor
        print(f"stopped at lr {lr:.3g} loss {loss:.2f}, best at {best_lr:.3g}")
        return best_lr / 10

    def reset(self):
        model.load_state_dict(self.memory[0])
        optimizer.load_state_dict(self.memory[1])


finder = LRFinder()
suggestion = finder.range_test()
finder.reset()
optimizer.param_groups[0]["lr"] = suggestion
for step in range(120):
    loss = train_batch()
    if step % 20 == 0 or step == 119:
        print(f"step {step} loss {loss:.4f}")
