r"""Adaptation of a trained network to a new task by its biases.

Source: https://github.com/benzakenelad/BitFit
Odd: All weights but those of the new head are frozen; only biases and the head change.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher = torch.randn(16, 8)


def make(count, shift):
    x = torch.randn(count, 16)
    return x, (torch.relu(x @ teacher + shift)).argmax(1)


def fit(model, parameters, shift, steps, lr):
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    for step in range(steps):
        x, y = make(96, shift)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def deactivate_relevant_gradients(model, trainable_components):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = any(part in name for part in trainable_components)


model = nn.Sequential()
model.add_module("encoder", nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 96)))
model.add_module("act", nn.ReLU())
model.add_module("classifier", nn.Linear(96, 8))
fit(model, model.parameters(), shift=0.0, steps=50, lr=5e-3)
model.classifier = nn.Linear(96, 8)
deactivate_relevant_gradients(model, ["bias", "classifier"])
fit(model, [p for p in model.parameters() if p.requires_grad], 1.0, steps=50, lr=1e-2)
x, y = make(500, 1.0)
print(f"accuracy on the new task {(model(x).argmax(1) == y).float().mean().item():.3f}")
