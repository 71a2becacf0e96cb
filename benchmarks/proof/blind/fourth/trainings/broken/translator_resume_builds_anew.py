r"""Training that goes on from a checkpoint in the same process.

Source: https://github.com/OpenNMT/OpenNMT-py/issues/617
Fault: After the state of the optimizer is loaded, set_parameters builds a new one without state.
Cause: (state|moment)\w*.*(lost|new|reset|empty|discard|again|fresh|start|zero)
    |(new|second|another|replaced|rebuilt) optimi[sz]er
    |optimi[sz]er .*(replac|new|rebuil|creat|state)
Place: set_parameters|build_optim
"""

import copy

import torch
from torch import nn


class Optim:
    def __init__(self, lr):
        self.lr = lr

    def set_parameters(self, params):
        self.optimizer = torch.optim.Adam(list(params), lr=self.lr, betas=(0.9, 0.998))


def build_optim(model, checkpoint):
    optim = Optim(4e-3)
    optim.set_parameters(model.parameters())
    if checkpoint is not None:
        optim.optimizer.load_state_dict(checkpoint["optim"])
    optim.set_parameters(model.parameters())  # here
    return optim


def train(model, optim, steps):
    for _ in range(steps):
        index = torch.randint(0, 256, (32,))
        loss = nn.functional.cross_entropy(model(source[index]), target[index])
        optim.optimizer.zero_grad()
        loss.backward()
        optim.optimizer.step()
    return loss.item()


torch.manual_seed(0)
source = torch.randn(256, 16)
target = (source @ torch.randn(16, 10)).argmax(1)
model = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 10))
optim = build_optim(model, None)
print(f"before {train(model, optim, 40):.3f}")
checkpoint = copy.deepcopy({"model": model.state_dict(), "optim": optim.optimizer.state_dict()})
model.load_state_dict(checkpoint["model"])
optim = build_optim(model, checkpoint)
print(f"after {train(model, optim, 40):.3f}")
