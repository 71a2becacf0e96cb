r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html
Fault: The LBFGS closure evaluates the model with dropout active, so each evaluation within a step
    returns a different loss and the line search and curvature are wrong.
Cause: dropout|stochastic|non-?determin\w*|closure.{0,100}(differ|noise|noisy|random|same)
    |lbfgs.{0,100}(determin|random|noise|noisy)|dropout draws another mask
"""

import torch
from torch import nn

torch.manual_seed(13)
n = 300
age = torch.rand(n) * 4 - 2
dose = torch.rand(n) * 4 - 2
effect = 1.5 * torch.sigmoid(3 * dose) - 0.4 * age**2 + 0.05 * torch.randn(n)
X = torch.stack([age, dose], 1)
Xtr, Xte, ytr, yte = X[:240], X[240:], effect[:240], effect[240:]

model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Dropout(0.4), nn.Linear(32, 1))
opt = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=8, history_size=10)
criterion = nn.MSELoss()
evals = 0


def closure():
    global evals
    evals += 1
    opt.zero_grad()
    loss = criterion(model(Xtr).squeeze(1), ytr)
    loss.backward()
    return loss


model.train()
for it in range(20):
    loss = opt.step(closure)
    if it % 5 == 4:
        print(f"iter {it + 1} loss {loss.item():.4f} after {evals} evaluations")

model.eval()
with torch.no_grad():
    print("test mse", criterion(model(Xte).squeeze(1), yte).item())
