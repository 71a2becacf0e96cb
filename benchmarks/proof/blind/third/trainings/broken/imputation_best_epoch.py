r"""Imputation of missing values that keeps the best epoch by validation error.

Source: https://github.com/WenjieDu/PyPOTS/issues/667
Fault: state_dict is a set of references, so the kept best state follows the training to its end.
Cause: state_dict.*(copy|reference|alias|live|same (tensor|storage|memory)|view)|(deep)?copy
    |best.*(alias|last|overwrit|same)
Place: best|state_dict|deepcopy
"""

import torch
from torch import nn

torch.manual_seed(0)
series = torch.randn(60, 30)
observed = (torch.rand(60, 30) > 0.2).float()
model = nn.Sequential(nn.Linear(60, 128), nn.ReLU(), nn.Linear(128, 30))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def error(rows):
    x = torch.cat([series[rows] * observed[rows], observed[rows]], dim=1)
    return (model(x) - series[rows]).pow(2).mean()


train, valid = torch.arange(30), torch.arange(30, 60)
best_loss, best_state = float("inf"), None
for epoch in range(120):
    loss = error(train)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        valid_loss = error(valid).item()
    if valid_loss < best_loss:
        best_loss = valid_loss
        best_state = model.state_dict()  # here
model.load_state_dict(best_state)
print(f"best {best_loss:.4f} restored {error(valid).item():.4f}")
