r"""Classes of default boxes in scenes on a line, where class zero is the background.

Source: https://github.com/lzx1413/PytorchSSD/issues/7
Fault: The labels are not moved up by one, so objects of the first class count as background.
Cause: background|off.by.one
    |(label|class|conf)\w*.{0,80}(shift|plus one|\+ ?1|zero|never|0\b|missing|move)
    |class (3|three).{0,60}(never|no|absent|not)|(never|no sample|absent|missing).{0,40}class
Place: \bconf\b|match\(
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
num_classes = 4
priors = torch.stack([torch.linspace(0.05, 0.95, 24), torch.full((24,), 0.16)], 1)
looks = torch.randn(3, 5)


def scene():
    """Return the features at the priors, and centres, widths and labels of the objects."""
    centres = torch.rand(2) * 0.3 + torch.tensor([0.1, 0.6])
    labels = torch.randint(0, 3, (2,))
    features = 0.3 * torch.randn(24, 5)
    for centre, label in zip(centres, labels, strict=True):
        features += looks[label] * ((priors[:, :1] - centre).abs() < 0.08)
    return features, torch.stack([centres, torch.full((2,), 0.16)], 1), labels


def jaccard(truths):
    low = torch.max(truths[:, None, 0] - truths[:, None, 1] / 2, priors[:, 0] - priors[:, 1] / 2)
    high = torch.min(truths[:, None, 0] + truths[:, None, 1] / 2, priors[:, 0] + priors[:, 1] / 2)
    common = (high - low).clamp(min=0)
    return common / (truths[:, None, 1] + priors[:, 1] - common)


def match(threshold, truths, labels):
    best_truth_overlap, best_truth_idx = jaccard(truths).max(0)
    conf = labels[best_truth_idx]  # here
    conf[best_truth_overlap < threshold] = 0
    return conf


net = nn.Sequential(nn.Conv1d(5, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, num_classes, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for iteration in range(100):
    scenes = [scene() for _ in range(16)]
    features = torch.stack([s[0].T for s in scenes])
    conf_t = torch.stack([match(0.5, s[1], s[2]) for s in scenes])
    scores = net(features)
    loss_c = F.cross_entropy(scores, conf_t)
    optimizer.zero_grad()
    loss_c.backward()
    optimizer.step()
    if iteration % 20 == 0:
        print(f"iter {iteration} || Loss: {loss_c.item():.4f}")
found = torch.zeros(3)
count = torch.zeros(3)
with torch.no_grad():
    for _ in range(150):
        features, truths, labels = scene()
        classes = net(features.T[None])[0].argmax(0)
        for truth, label in zip(truths, labels, strict=True):
            at = (priors[:, 0] - truth[0]).abs().argmin()
            count[label] += 1
            found[label] += classes[at] == label + 1
print("recall of the classes", [round(r, 3) for r in (found / count).tolist()])
