r"""Meta-learning of sine waves: the inner loop adapts fast weights, the outer loop the start.

Source: https://github.com/dragen1860/MAML-Pytorch/blob/master/meta.py
    https://github.com/katerakelly/pytorch-maml/issues/11
Odd: The network is called with other weights than its own, gradients of gradients are taken, and
    .grad stays empty in the inner loop; the post-adaptation loss falls.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call


def sample_task():
    amplitude, phase = 1.5 + torch.rand(()), 0.2 * math.pi * torch.rand(())

    def draw(n):
        x = 6 * torch.rand(n, 1) - 3
        return x, amplitude * torch.sin(x + phase)

    return draw(10), draw(10)


torch.manual_seed(3)
net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
meta_optim = torch.optim.Adam(net.parameters(), lr=5e-3)
history = []
for step in range(120):
    meta_loss = 0.0
    for _ in range(4):
        (x_spt, y_spt), (x_qry, y_qry) = sample_task()
        fast_weights = dict(net.named_parameters())
        loss = F.mse_loss(functional_call(net, fast_weights, (x_spt,)), y_spt)
        grads = torch.autograd.grad(loss, fast_weights.values(), create_graph=True)
        fast_weights = {n: p - 0.01 * g for (n, p), g in zip(fast_weights.items(), grads)}
        meta_loss = meta_loss + F.mse_loss(functional_call(net, fast_weights, (x_qry,)), y_qry) / 4
    meta_optim.zero_grad()
    meta_loss.backward()
    meta_optim.step()
    history.append(meta_loss.item())
    if step in (9, 39, 79, 119):
        print(f"step {step} query loss {sum(history[-10:]) / 10:.4f}")
