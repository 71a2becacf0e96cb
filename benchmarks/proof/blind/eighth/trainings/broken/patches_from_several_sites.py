r"""Descriptors of patches from two sites, which are put together to one training set.

Source: https://github.com/DagnyT/hardnet/issues/25
Fault: The offset is added to all the labels after the joining and not to those of the new site, so
    points of different sites share a label and are drawn to each other.
Cause: label\w*.{0,80}(collid|collision|share|same|overlap|offset|ambig|duplicate|shift|mix|clash
    |differ\w* (class|point|site|object|patch))|offset|(same|one|equal) (label|class|id)|(label|id
    |class)\w*.{0,40}(wrong|incorrect|noisy|inconsistent)
Place: labels?|TotalDataset|torch\.max|torch\.cat|offset
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(17)
SITES, POINTS, VIEWS, PIXELS = 2, 60, 6, 49
site_lens = [torch.eye(PIXELS) + 0.05 * torch.randn(PIXELS, PIXELS) for _ in range(SITES)]


def photograph(points, lens, views):
    patches = points.repeat_interleave(views, 0) @ lens
    gain = 0.7 + 0.6 * torch.rand(len(patches), 1)
    return gain * patches + 0.8 * torch.randn_like(patches)


class TotalDataset:
    def __init__(self, datasets):
        data, labels = datasets[0]
        for more_data, more_labels in datasets[1:]:
            data = torch.cat([data, more_data])
            labels = torch.cat([labels, more_labels]) + torch.max(labels) + 1  # here
        self.data, self.labels = data, labels
        self.by_label = {int(v): (labels == v).nonzero().flatten() for v in labels.unique()}

    def pairs(self, count):
        chosen = torch.tensor(list(self.by_label))
        chosen = chosen[torch.randperm(len(chosen))[:count]].tolist()
        pick = torch.stack(
            [self.by_label[c][torch.randperm(len(self.by_label[c]))[:2]] for c in chosen]
        )
        return self.data[pick[:, 0]], self.data[pick[:, 1]]


class Descriptor(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(PIXELS, 96), nn.ReLU(), nn.Linear(96, 32))

    def forward(self, patch):
        return F.normalize(self.features(patch), dim=1)


def loss_hardnet(anchor, positive, margin=1.0):
    distance = torch.sqrt((2 - 2 * anchor @ positive.T).clamp(min=1e-6))
    pos = distance.diagonal()
    others = distance + 10 * torch.eye(len(distance))
    hardest = torch.minimum(others.min(0).values, others.min(1).values)
    return F.relu(margin + pos - hardest).mean()


@torch.no_grad()
def matching_rate(net, rounds=10):
    hits, known = 0.0, SITES * POINTS
    for _ in range(rounds):
        first, second = (
            torch.cat([net(photograph(p, lens, 1)) for p, lens in zip(places, site_lens)])
            for _ in range(2)
        )
        hits += ((first @ second.T).argmax(1) == torch.arange(known)).float().mean().item()
    return hits / rounds


sites = []
places = [torch.randn(POINTS, PIXELS) for _ in range(SITES)]
for points, lens in zip(places, site_lens):
    patches = photograph(points, lens, VIEWS)
    sites.append((patches, torch.arange(POINTS).repeat_interleave(VIEWS)))
train_set = TotalDataset(sites)
print(f"{len(train_set.data)} patches, {len(train_set.by_label)} labels")
net = Descriptor()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
for step in range(200):
    anchor, positive = train_set.pairs(48)
    loss = loss_hardnet(net(anchor), net(positive))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.4f}")
print(f"loss {loss.item():.4f}, matching of new views {matching_rate(net):.3f}")
