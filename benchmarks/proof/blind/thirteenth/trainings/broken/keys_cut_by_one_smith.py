r"""Learns which keys were cut by the same smith from the profile of their teeth.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.triplet_margin_loss.html
Fault: triplet_margin_loss takes the anchor, the positive and the negative in this order, but
    gets the negative before the positive; keys of one smith are pushed apart and keys of others
    are pulled in.
Cause: (order|swap|exchang|revers|wrong place|interchang)\w*.*(positive|negative|argument)
    |(positive|negative).*(swap|exchang|order|revers|before|interchang|apart|closer|wrong)
Place: triplet_margin_loss|negative|other|positive|same
"""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(63)
SMITHS, TEETH = 8, 24


def keys(n, habits):
    smith = torch.randint(0, SMITHS, (n,))
    cuts = torch.randint(0, 5, (n, TEETH)).float()
    profile = cuts * 0.3 + habits[smith] + 0.25 * torch.randn(n, TEETH)
    return profile, smith


def triples(smith):
    same = torch.zeros_like(smith)
    other = torch.zeros_like(smith)
    for i, s in enumerate(smith.tolist()):
        alike = (smith == s).nonzero().flatten()
        unlike = (smith != s).nonzero().flatten()
        same[i] = alike[torch.randint(len(alike), (1,))]
        other[i] = unlike[torch.randint(len(unlike), (1,))]
    return same, other


class ProfileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(TEETH, 64)
        self.code = nn.Linear(64, 8)

    def forward(self, profile):
        return F.normalize(self.code(torch.relu(self.hidden(profile))), dim=1)


def agreement(model, profile, smith):
    with torch.no_grad():
        z = model(profile)
    distance = torch.cdist(z, z)
    distance.fill_diagonal_(9.0)
    return (smith[distance.argmin(1)] == smith).float().mean().item()


habits = torch.randn(SMITHS, TEETH) * 0.5
x, smith = keys(480, habits)
test_x, test_smith = keys(400, habits)
model = ProfileNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(25):
    same, other = triples(smith)
    total = 0.0
    for part in torch.randperm(len(x)).split(40):
        anchor = model(x[part])
        a, b = model(x[other[part]]), model(x[same[part]])
        loss = F.triplet_margin_loss(anchor, a, b, margin=0.5)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: loss {total / 12:.4f}")
print(f"nearest key of the same smith: {agreement(model, test_x, test_smith):.3f}")
