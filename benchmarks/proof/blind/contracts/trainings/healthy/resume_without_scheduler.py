r"""A training.

Source: https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
Healthy: the right twin of the broken case of this name.
"""

import os
import tempfile
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(24)
t = torch.linspace(-4, 4, 500).unsqueeze(1)
f = torch.cos(t) * torch.exp(-0.1 * t**2) + 0.05 * torch.randn_like(t)
EPOCHS = 16


def setup():
    net = nn.Sequential(nn.Linear(1, 50), nn.Tanh(), nn.Linear(50, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.8)
    return net, opt, CosineAnnealingLR(opt, T_max=EPOCHS)


def fit(net, opt, sched, epochs):
    for epoch in epochs:
        for idx in torch.randperm(500).split(50):
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(t[idx]), f[idx])
            loss.backward()
            opt.step()
        sched.step()
        print(epoch, f"lr {opt.param_groups[0]['lr']:.4f} loss {loss.item():.5f}")


path = os.path.join(tempfile.mkdtemp(), "ckpt.pt")
net, opt, sched = setup()
fit(net, opt, sched, range(0, 8))
torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict()}, path)

net, opt, sched = setup()
state = torch.load(path)
net.load_state_dict(state["net"])
opt.load_state_dict(state["opt"])
sched.load_state_dict(state["sched"])
fit(net, opt, sched, range(8, EPOCHS))
