r"""A training of `Forecaster`.

Source: https://docs.pytorch.org/tutorials/beginner/nlp/sequence_models_tutorial.html
Fault: The hidden state is carried from batch to batch although the windows are shuffled, so each
    window starts from the state of unrelated sequences.
Cause: hidden.{0,120}(carr|unrelated|shuffl|previous|reset|other|across|reus)
    |shuffl\w*.{0,80}(state|hidden|window|order)|unrelated
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(150)
series = torch.sin(torch.arange(1921) * 0.21) + 0.5 * torch.sin(torch.arange(1921) * 0.033)
series = series + 0.05 * torch.randn(1921)
B, T = 16, 12
tracks = series[:1920].view(B, 120)
nxt = series[1:1921].view(B, 120)
xw = tracks.unfold(1, T, T).transpose(0, 1).reshape(-1, T, 1)
yw = nxt.unfold(1, T, T).transpose(0, 1).reshape(-1, T, 1)
loader = DataLoader(TensorDataset(xw, yw), batch_size=B, shuffle=True)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, x, h):
        o, h = self.gru(x, h)
        return self.out(o), h


model = Forecaster()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    h, total = None, 0.0
    for xb, yb in loader:
        pred, h = model(xb, h)
        h = h.detach()
        loss = nn.functional.mse_loss(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} mse {total / len(loader):.5f}")
