r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
t = torch.linspace(-3, 3, 600).unsqueeze(1)
target = torch.sin(2 * t) + 0.3 * t + 0.1 * torch.randn_like(t)
order = torch.randperm(600)
tr, va = order[:480], order[480:]
dl = DataLoader(TensorDataset(t[tr], target[tr]), batch_size=32, shuffle=True)

net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = optim.lr_scheduler.StepLR(opt, step_size=4, gamma=0.2)
mse = nn.MSELoss()

history = []
for epoch in range(12):
    net.train()
    for xb, yb in dl:
        opt.zero_grad()
        loss = mse(net(xb), yb)
        loss.backward()
        opt.step()
    scheduler.step()
    net.eval()
    with torch.no_grad():
        history.append(mse(net(t[va]), target[va]).item())
    print(f"epoch {epoch:2d} val mse {history[-1]:.4f}")
print("best", min(history))
