r"""Fits the dose of a drug from 200 genes of which only a few matter, with an L1 penalty.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: parameters() gives an iterator that can be walked once; the optimizer has used it up, so
    the sum of the L1 penalty runs over nothing and is zero at every step; the weights do not
    become sparse and the net overfits.
Cause: generator|iterator|exhaust|used up|consumed|walked once|empty|penalty.*(zero|nothing|0\b)
    |(l1|regulari[sz]|penalt)\w*.*(no effect|not|never|nothing)
Place: weights|penalty|params
"""
import torch
from torch import nn

torch.manual_seed(8)
GENES = 200
L1 = 2e-2


def patients(n, effect):
    expression = torch.randn(n, GENES)
    dose = expression @ effect + 0.5 * torch.randn(n)
    return expression, dose


effect = torch.zeros(GENES)
effect[torch.randperm(GENES)[:6]] = torch.tensor([1.5, -1.0, 0.8, -1.2, 1.0, 0.7])
x_train, y_train = patients(220, effect)
x_test, y_test = patients(500, effect)

model = nn.Linear(GENES, 1, bias=False)
weights = model.parameters()  # here
optimizer = torch.optim.Adam(weights, lr=5e-3)

for epoch in range(120):
    order = torch.randperm(len(x_train))
    for part in order.split(55):
        optimizer.zero_grad()
        fit = nn.functional.mse_loss(model(x_train[part]).squeeze(1), y_train[part])
        penalty = sum(w.abs().sum() for w in weights)
        loss = fit + L1 * penalty
        loss.backward()
        optimizer.step()
    if epoch % 30 == 29:
        print(f"epoch {epoch + 1}: fit {fit.item():.4f}, loss {loss.item():.4f}")

with torch.no_grad():
    error = nn.functional.mse_loss(model(x_test).squeeze(1), y_test).item()
    small = (model.weight.abs() < 0.05).sum().item()
print(f"test error {error:.3f}; genes with a weight near zero: {small} of {GENES}")
