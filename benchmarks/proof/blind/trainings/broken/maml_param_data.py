r"""Meta-learns a start for quick adaptation to new linear demand curves.

Source: https://github.com/KanishJebaMathewM/Truxify/issues/13118
Fault: The inner loop writes through .data into a copy, so the query loss has no path back to the
    meta-parameters and the outer step does nothing.
Cause: \.data|detach|copy|graph|meta.*(no|never|not|none).*(grad|train|updat|learn|chang)
"""

import copy

import torch
from torch import nn


class MetaLearner:
    def __init__(self, model, inner_lr=0.05, outer_lr=1e-2):
        self.model, self.inner_lr = model, inner_lr
        self.meta_optimizer = torch.optim.Adam(model.parameters(), lr=outer_lr)
        self.criterion = nn.MSELoss()

    def inner_update(self, x, y):
        adapted = copy.deepcopy(self.model)
        loss = self.criterion(adapted(x), y)
        grads = torch.autograd.grad(loss, adapted.parameters(), create_graph=True)
        for param, grad in zip(adapted.parameters(), grads):
            param.data -= self.inner_lr * grad  # here
        return adapted

    def meta_train_step(self, tasks):
        meta_loss = 0.0
        for support_x, support_y, query_x, query_y in tasks:
            adapted = self.inner_update(support_x, support_y)
            meta_loss = meta_loss + self.criterion(adapted(query_x), query_y)
        self.meta_optimizer.zero_grad()
        (meta_loss / len(tasks)).backward()
        self.meta_optimizer.step()
        return meta_loss.item() / len(tasks)


def demand_task():
    slope = 3.0 + 0.3 * torch.randn(4, 1)
    x = torch.randn(20, 4)
    y = x @ slope + 5.0
    return x[:8], y[:8], x[8:], y[8:]


torch.manual_seed(0)
learner = MetaLearner(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)))
for step in range(100):
    loss = learner.meta_train_step([demand_task() for _ in range(4)])
    if step % 20 == 19:
        print(f"meta step {step} query loss {loss:.4f}")
