r"""Learns a start from which a net fits the swing of a new clock in three steps.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
Healthy: The inner steps change no parameter in place and call no optimizer; they use
    autograd.grad with create_graph, so the outer backward reaches the start through them.
"""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(129)
INNER_RATE, INNER_STEPS = 0.1, 3


def clock():
    size = 0.5 + 1.5 * torch.rand(1)
    phase = 3.14 * torch.rand(1)

    def swing(n):
        t = torch.rand(n, 1) * 5 - 2.5
        return t / 2.5, size * torch.sin(t + phase)

    return swing


def adapt(net, weights, x, y, create_graph):
    for _ in range(INNER_STEPS):
        loss = nn.functional.mse_loss(functional_call(net, weights, (x,)), y)
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=create_graph)
        weights = {k: w - INNER_RATE * g for (k, w), g in zip(weights.items(), slopes)}
    return weights


net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    total = 0.0
    for _ in range(4):
        swing = clock()
        fast = adapt(net, dict(net.named_parameters()), *swing(20), create_graph=True)
        x, y = swing(20)
        total = total + nn.functional.mse_loss(functional_call(net, fast, (x,)), y)
    loss = total / 4
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(f"step {step + 1}: loss after adapting {loss.item():.4f}")

before, after = 0.0, 0.0
for _ in range(50):
    swing = clock()
    fast = adapt(net, dict(net.named_parameters()), *swing(20), create_graph=False)
    x, y = swing(50)
    with torch.no_grad():
        before += nn.functional.mse_loss(net(x), y).item() / 50
        after += nn.functional.mse_loss(functional_call(net, fast, (x,)), y).item() / 50
print(f"new clocks: before adapting {before:.3f}, after {after:.3f}")
