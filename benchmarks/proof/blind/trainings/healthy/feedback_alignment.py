r"""Trains with feedback alignment: errors go back through fixed random weights.

Source: https://github.com/L0SG/feedback-alignment-pytorch/blob/master/lib/fa_linear.py
Odd: The custom backward does not return the true gradient and the feedback weights never change;
    the forward weights align with them and the loss falls.
"""

import torch
import torch.nn.functional as F
from torch import autograd, nn


class LinearFANetwork(autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, weight_fa, bias):
        ctx.save_for_backward(input, weight_fa)
        return input @ weight.t() + bias

    @staticmethod
    def backward(ctx, grad_output):
        input, weight_fa = ctx.saved_tensors
        return grad_output @ weight_fa, grad_output.t() @ input, None, grad_output.sum(0)


class LinearFAModule(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5)
        self.weight_fa = nn.Parameter(torch.randn(n_out, n_in) / n_in**0.5, requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return LinearFANetwork.apply(x, self.weight, self.weight_fa, self.bias)


torch.manual_seed(0)
model = nn.Sequential(LinearFAModule(10, 48), nn.Tanh(), LinearFAModule(48, 3))
optimizer = torch.optim.SGD(
    [p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9
)
teacher = torch.randn(10, 3)
for step in range(200):
    x = torch.randn(64, 10)
    loss = F.cross_entropy(model(x), (x @ teacher).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step} loss {loss.item():.4f}")
