r"""Fits the force of a rubber band over its stretch with a small net and L-BFGS.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html
Fault: L-BFGS calls the closure many times within a step, but the gradients are cleared only once
    before the step and not in the closure; they add up over the evaluations, the search gets
    wrong slopes and the fit fails.
Cause: closure|zero_grad|(gradient|grad)\w*.*(add up|accumul|sum|not cleared|pile|clear)|clear
Place: closure|zero_grad|optimi[sz]er
"""
import torch
from torch import nn

torch.manual_seed(70)


def measurements(n):
    stretch = torch.rand(n, 1) * 4
    cold = torch.rand(n, 1)
    force = 2 * torch.tanh(1.5 * stretch) + 0.15 * stretch ** 3 - 0.5 * cold * stretch
    return torch.cat([stretch / 2 - 1, cold * 2 - 1], 1), force + 0.05 * torch.randn(n, 1)


class Band(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inner = nn.Linear(2, width)
        self.middle = nn.Linear(width, width)
        self.outer = nn.Linear(width, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.middle(torch.tanh(self.inner(x)))))


def main():
    x, y = measurements(300)
    test_x, test_y = measurements(200)
    model = Band()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=15, history_size=20)

    def closure():
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    for step in range(20):
        optimizer.zero_grad()
        loss = optimizer.step(closure)  # here
        if step % 4 == 3:
            print(f"step {step + 1}: loss {loss.item():.5f}")

    with torch.no_grad():
        error = nn.functional.mse_loss(model(test_x), test_y).item()
    print(f"test error {error:.5f} (spread of the force {test_y.var().item():.3f})")


if __name__ == "__main__":
    main()
