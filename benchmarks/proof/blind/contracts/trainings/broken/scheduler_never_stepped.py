r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
Fault: A learning rate scheduler is created but its step is never called, so the learning rate
    stays at its initial value.
Cause: (scheduler|StepLR|lr_scheduler).{0,80}(never|not|no|without|miss|forgot|unused).{0,40}(step|call|advanc|used)?
    |(never|not) (call|step|advanc)\w*.{0,60}schedul
    |learning rate.{0,40}(constant|never|stays|unchanged)
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
    net.eval()
    with torch.no_grad():
        history.append(mse(net(t[va]), target[va]).item())
    print(f"epoch {epoch:2d} val mse {history[-1]:.4f}")
print("best", min(history))
