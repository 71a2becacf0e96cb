r"""Sine waves of any height and phase, learnt from five points by an inner step of adaptation.

Source: https://github.com/learnables/learn2learn/issues/190
Fault: The loss is a mean already and is divided by the number of points once more, so the inner
    step and the outer gradient are smaller than they should be by that factor.
Cause: (divid|normali|averag|mean|reduc).{0,100}(twice|again|once more|second time|double|already
    |additional|extra|two times)|(twice|double|already).{0,80}(divid|normali|averag|mean)
    |mean.{0,60}divid.{0,30}(len|number|count|size|points)
Place: adaptation_error|evaluation_error|loss|len|fast_adapt|error|reduction
"""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(81)
SHOTS, INNER_LR, STEPS = 5, 0.03, 2


def task():
    height, phase = 0.5 + 3 * torch.rand(1), 3.14 * torch.rand(1)
    x = 10 * torch.rand(2 * SHOTS, 1) - 5
    return x, height * torch.sin(x + phase)


model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
loss = nn.MSELoss(reduction="mean")
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)


def fast_adapt(data, labels):
    adaptation_data, adaptation_labels = data[:SHOTS], labels[:SHOTS]
    evaluation_data, evaluation_labels = data[SHOTS:], labels[SHOTS:]
    learner = dict(model.named_parameters())
    for _ in range(STEPS):
        adaptation_error = loss(functional_call(model, learner, adaptation_data), adaptation_labels)
        adaptation_error = adaptation_error / len(adaptation_data)  # here
        grads = torch.autograd.grad(adaptation_error, learner.values(), create_graph=True)
        learner = {
            name: value - INNER_LR * grad
            for (name, value), grad in zip(learner.items(), grads, strict=True)
        }
    evaluation_error = loss(functional_call(model, learner, evaluation_data), evaluation_labels)
    return evaluation_error / len(evaluation_data)  # here


def held_out(tasks=60):
    state = torch.get_rng_state()
    torch.manual_seed(1)
    total = 0.0
    for _ in range(tasks):
        x, y = task()
        learner = dict(model.named_parameters())
        for _ in range(STEPS):
            error = loss(functional_call(model, learner, x[:SHOTS]), y[:SHOTS])
            grads = torch.autograd.grad(error, learner.values())
            learner = {
                name: value - INNER_LR * grad
                for (name, value), grad in zip(learner.items(), grads, strict=True)
            }
        with torch.no_grad():
            total += loss(functional_call(model, learner, x[SHOTS:]), y[SHOTS:]).item()
    torch.set_rng_state(state)
    return total / tasks


for iteration in range(160):
    optimizer.zero_grad()
    meta_error = sum(fast_adapt(*task()) for _ in range(4)) / 4
    meta_error.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if iteration % 40 == 39:
        print(f"iteration {iteration + 1} held-out error after adaptation {held_out():.4f}")
