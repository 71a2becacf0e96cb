r"""Meta-learning of waves by moves towards weights that were adapted to single tasks.

Source: https://github.com/openai/supervised-reptile
Odd: No gradient is taken for the outer update; the weights are interpolated to the adapted ones.
"""

import copy
import math

import numpy as np
import torch
from torch import nn

rng = np.random.RandomState(0)
torch.manual_seed(0)
x_all = torch.linspace(-5, 5, 50)[:, None]
inner_step, inner_epochs, outer_step0, iterations = 0.05, 5, 0.4, 100


def gen_task():
    phase, amplitude = rng.uniform(0, 2 * math.pi), rng.uniform(0.5, 2)
    return lambda x: amplitude * torch.sin(x + phase)


def train_on_batch(model, x, y):
    model.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    for param in model.parameters():
        param.data -= inner_step * param.grad.data
    return loss.item()


model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
test_task, test_x = gen_task(), x_all[rng.choice(50, size=10)]


def error_after_adaptation():
    adapted = copy.deepcopy(model)
    for _ in range(8):
        train_on_batch(adapted, test_x, test_task(test_x))
    return (adapted(x_all) - test_task(x_all)).square().mean().item()


print(f"error before {error_after_adaptation():.4f}")
for iteration in range(iterations):
    weights_before = copy.deepcopy(model.state_dict())
    f = gen_task()
    y_all = f(x_all)
    for _ in range(inner_epochs):
        inds = rng.permutation(50)
        for start in range(0, 50, 10):
            mb = inds[start : start + 10]
            loss = train_on_batch(model, x_all[mb], y_all[mb])
    weights_after = model.state_dict()
    outer_step = outer_step0 * (1 - iteration / iterations)
    model.load_state_dict(
        {
            name: weights_before[name] + (weights_after[name] - weights_before[name]) * outer_step
            for name in weights_before
        }
    )
print(f"error after {error_after_adaptation():.4f}")
