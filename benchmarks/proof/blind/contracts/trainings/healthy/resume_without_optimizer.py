r"""A training.

Source: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
Healthy: the right twin of the broken case of this name.
"""

import os
import tempfile
import torch
import torch.nn as nn

torch.manual_seed(20)
Wt = torch.randn(10, 3)
x = torch.randn(700, 10)
y = (x @ Wt + 0.6 * torch.randn(700, 3)).argmax(1)
loss_fn = nn.CrossEntropyLoss()


def build():
    net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 3))
    return net, torch.optim.Adam(net.parameters(), lr=5e-3)


def train(net, opt, first, last):
    for epoch in range(first, last):
        for idx in torch.randperm(600).split(60):
            opt.zero_grad()
            loss = loss_fn(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "last.pt")
    net, opt = build()
    train(net, opt, 0, 5)
    torch.save({"model": net.state_dict(), "optimizer": opt.state_dict(), "epoch": 5}, path)
    net, opt = build()
    ckpt = torch.load(path)
    net.load_state_dict(ckpt["model"])
    opt.load_state_dict(ckpt["optimizer"])
    train(net, opt, ckpt["epoch"], 10)
with torch.no_grad():
    print("acc", (net(x[600:]).argmax(1) == y[600:]).float().mean().item())
