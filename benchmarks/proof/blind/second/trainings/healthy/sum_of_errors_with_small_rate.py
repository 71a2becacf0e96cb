"""Fits a two-layer network by hand with a summed loss, as in a first tutorial.

Source: https://github.com/jcjohnson/pytorch-examples/issues/30
    https://pytorch.org/tutorials/beginner/pytorch_with_examples.html
Odd: the loss starts in the millions and the rate is 1e-6; the loss is a sum over all outputs
    and not a mean.
"""

import torch

torch.manual_seed(0)
N, D_in, H, D_out = 64, 200, 60, 10
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)
w1 = torch.randn(D_in, H, requires_grad=True)
w2 = torch.randn(H, D_out, requires_grad=True)
learning_rate = 1e-6
for t in range(300):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    if t % 50 == 0 or t == 299:
        print(t, loss.item())
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
