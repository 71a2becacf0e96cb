r"""Trains an ensemble of eight networks at once with torch.func.

Source: https://pytorch.org/tutorials/intermediate/ensembling.html
    https://github.com/pytorch/functorch/blob/main/examples/ensembling/parallel_train.py
Odd: The parameters are a dictionary of stacked tensors, the module is a skeleton on the meta
    device, and no tensor ever has a .grad.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap

torch.manual_seed(0)
models = [nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2)) for _ in range(8)]
params, buffers = stack_module_state(models)
params = {name: p.detach() for name, p in params.items()}
base_model = copy.deepcopy(models[0]).to("meta")


def compute_loss(weights, x, y):
    return F.cross_entropy(functional_call(base_model, (weights, buffers), (x,)), y)


def spirals(n):
    y = torch.randint(0, 2, (n,))
    r = torch.rand(n) * 3
    angle = r * 1.5 + math_pi * y
    return torch.stack([r * angle.cos(), r * angle.sin()], 1), y


math_pi = 3.14159265
step_all = vmap(grad_and_value(compute_loss), in_dims=(0, None, None), randomness="different")
for step in range(250):
    x, y = spirals(128)
    grads, losses = step_all(params, x, y)
    params = {name: p - 0.5 * grads[name] for name, p in params.items()}
    if step % 50 == 49:
        print(f"step {step} losses {losses.min().item():.3f} .. {losses.max().item():.3f}")
