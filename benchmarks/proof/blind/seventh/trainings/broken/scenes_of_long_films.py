r"""The kind of a scene from the features of its shots, with the rate reduced at a plateau.

Source: https://github.com/md-mohaiminul/ViS4mer/issues/4
Fault: The plateau scheduler is left in its mode for losses but is given the accuracy.
Cause: mode.{0,60}(min|max)|(plateau|schedul).{0,120}(accuracy|min\b|max|metric|improv|rises|mode)
    |(learning rate|\blr\b).{0,80}(cut|reduced|drops?|fall|shrink|collaps|early|decay|tiny|vanish)
Place: scheduler|ReduceLROnPlateau|mode
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(60)
SHOTS, FEATURES, KINDS = 10, 16, 7


class SceneModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.inward = nn.Sequential(nn.Linear(FEATURES, width), nn.GELU())
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.outward = nn.Linear(width, KINDS)

    def forward(self, shots):
        h = self.inward(shots)
        h = h + torch.relu(self.mix(h.transpose(1, 2))).transpose(1, 2)
        return self.outward(h.mean(dim=1))


def scenes(count, motifs):
    kind = torch.randint(0, KINDS, (count,))
    shots = 1.3 * torch.randn(count, SHOTS, FEATURES)
    start = torch.randint(0, SHOTS - 3, (count,))
    for row, k, s in zip(shots, kind.tolist(), start.tolist()):
        row[s : s + 3] += motifs[k]
    return shots, kind


def train(model, loader, optimizer):
    total = 0.0
    for shots, kind in loader:
        loss = nn.functional.cross_entropy(model(shots), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def test(model, data):
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


motifs = 1.2 * torch.randn(KINDS, 3, FEATURES)
loader = DataLoader(TensorDataset(*scenes(700, motifs)), batch_size=50, shuffle=True)
validation = scenes(400, motifs)
model = SceneModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = ReduceLROnPlateau(optimizer, factor=0.2, patience=1)  # here
for epoch in range(14):
    loss = train(model, loader, optimizer)
    accuracy = test(model, validation)
    scheduler.step(accuracy)
    rate = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch + 1} loss {loss:.3f} accuracy {accuracy:.3f} rate {rate:.2e}")
