r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(107)
n = 500
x = torch.randn(n, 8)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).float()
x_tr, y_tr, x_te, y_te = x[:400], y[:400], x[400:], y[400:]

net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
bce = nn.BCEWithLogitsLoss()


def accuracy(m):
    m.eval()
    with torch.no_grad():
        return ((m(x_te).squeeze(1) > 0).float() == y_te).float().mean().item()


for epoch in range(15):
    net.train()
    for idx in torch.randperm(400).split(50):
        opt.zero_grad()
        loss = bce(net(x_tr[idx]).squeeze(1), y_tr[idx])
        loss.backward()
        opt.step()
        ema.update_parameters(net)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")
print("averaged model accuracy", accuracy(ema))
