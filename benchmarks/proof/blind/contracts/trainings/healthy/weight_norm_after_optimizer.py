r"""A training of `WaveNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.weight_norm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(254)
T = 40
freq = torch.randint(1, 5, (600,))
ts = torch.linspace(0, 6.283, T)
sig = torch.sin(freq[:, None] * ts + 6.283 * torch.rand(600, 1)) + 0.4 * torch.randn(600, T)
sig, label = sig.unsqueeze(1), freq - 1


class WaveNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(1, 16, 7, padding=3)
        self.c2 = nn.Conv1d(16, 16, 7, padding=3, stride=2)
        self.fc = nn.Linear(16, 4)

    def forward(self, s):
        h = torch.relu(self.c2(torch.relu(self.c1(s))))
        return self.fc(h.amax(2))


net = WaveNet()
for conv in (net.c1, net.c2):
    weight_norm(conv)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    for idx in torch.randperm(500).split(50):
        net.zero_grad()
        loss = nn.functional.cross_entropy(net(sig[idx]), label[idx])
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("acc", (net(sig[500:]).argmax(1) == label[500:]).float().mean().item())
