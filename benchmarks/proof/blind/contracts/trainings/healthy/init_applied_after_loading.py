r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.apply
Healthy: the right twin of the broken case of this name.
"""

import os
import tempfile
import torch
from torch import nn

torch.manual_seed(250)
mu = 1.6 * torch.randn(5, 12)
lab = torch.randint(5, (1000,))
x = mu[lab] + torch.randn(1000, 12)


def build():
    return nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 5))


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.zeros_(m.bias)


def train(net, idx_all, lr, steps):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(steps):
        idx = idx_all[torch.randint(len(idx_all), (40,))]
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[idx]), lab[idx])
        loss.backward()
        opt.step()
    return loss.item()


path = os.path.join(tempfile.mkdtemp(), "pre.pt")
base = build()
train(base, torch.arange(700), 5e-3, 80)
torch.save(base.state_dict(), path)

model = build()
model.apply(init_weights)
model.load_state_dict(torch.load(path))
print("fine-tune loss", train(model, torch.arange(700, 730), 5e-4, 20))
with torch.no_grad():
    print("acc", (model(x[730:]).argmax(1) == lab[730:]).float().mean().item())
