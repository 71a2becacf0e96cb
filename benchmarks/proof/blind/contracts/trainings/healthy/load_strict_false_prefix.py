r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
Healthy: the right twin of the broken case of this name.
"""

import io
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(37)
mu = 1.7 * torch.randn(4, 9)
lab = torch.randint(4, (800,))
x = mu[lab] + torch.randn(800, 9)
few = torch.arange(640, 660)


def make_net():
    return nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 4))


ce = nn.CrossEntropyLoss()
big = nn.DataParallel(make_net())
opt = torch.optim.Adam(big.parameters(), lr=1e-2)
for xb, yb in DataLoader(TensorDataset(x[:640], lab[:640]), batch_size=32, shuffle=True):
    opt.zero_grad()
    ce(big(xb), yb).backward()
    opt.step()
buf = io.BytesIO()
torch.save(big.state_dict(), buf)

buf.seek(0)
state = torch.load(buf)
state = {k.removeprefix("module."): v for k, v in state.items()}
net = make_net()
net.load_state_dict(state, strict=False)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(20):
    opt.zero_grad()
    loss = ce(net(x[few]), lab[few])
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    print("acc", (net(x[660:]).argmax(1) == lab[660:]).float().mean().item())
