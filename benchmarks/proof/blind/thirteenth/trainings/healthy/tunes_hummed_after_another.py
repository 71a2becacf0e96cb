r"""Learns vectors of tunes from playlists, with sparse gradients for the large table.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
Healthy: Two optimizers train one net at the same time; SparseAdam takes only the table with
    sparse=True, the other takes the rest, and together they hold each parameter once.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(133)
TUNES, STYLES = 400, 8


def playlists(n, style):
    groups = [(style == s).nonzero().flatten() for s in range(STYLES)]
    mood = torch.randint(0, STYLES, (n,))
    rows = []
    for m in mood.tolist():
        rows.append(groups[m][torch.randint(len(groups[m]), (4,))])
    return torch.stack(rows), mood


class NextTune(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.table = nn.Embedding(TUNES, width, sparse=True)
        self.mix = nn.Sequential(nn.Linear(3 * width, 64), nn.ReLU(), nn.Linear(64, STYLES))

    def forward(self, tunes):
        return self.mix(self.table(tunes).flatten(1))


style = torch.randint(0, STYLES, (TUNES,))
lists, _ = playlists(2500, style)
test, _ = playlists(500, style)
loader = DataLoader(TensorDataset(lists[:, :3], style[lists[:, 3]]), batch_size=50, shuffle=True)
model = NextTune()
sparse = torch.optim.SparseAdam(model.table.parameters(), lr=1e-2)
dense = torch.optim.Adam(model.mix.parameters(), lr=2e-3)
for epoch in range(10):
    total = 0.0
    for tunes, kind in loader:
        loss = nn.functional.cross_entropy(model(tunes), kind)
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
        total += loss.item()
    if epoch % 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
with torch.no_grad():
    right = (model(test[:, :3]).argmax(1) == style[test[:, 3]]).float().mean().item()
print(f"style of the next tune right: {right:.3f}")
