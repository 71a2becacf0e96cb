r"""Detects rare calls in sound features, with a sampler that should balance the classes.

Source: https://github.com/deep-voice/soundbay/pull/49
    https://discuss.pytorch.org/t/how-to-handle-imbalanced-classes/11264
Fault: The sampler gets one weight per class instead of one per sample, so it draws only the first
    two samples of the data, over and over.
Cause: sampler|sample.?weights?|class.?weights?|(two|same|few|first) (samples|items|examples)
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
n = 800
labels = (torch.rand(n) < 0.1).long()
labels[0] = 1
features = torch.randn(n, 16)
features[:, 0] += 2.0 * labels
features[:, 1] -= 1.5 * labels

class_count = torch.bincount(labels)
class_weights = 1.0 / class_count.float()
sampler = WeightedRandomSampler(class_weights, num_samples=512)  # here
train_loader = DataLoader(TensorDataset(features, labels), batch_size=32, sampler=sampler)

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for batch, target in train_loader:
        loss = F.cross_entropy(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        pred = model(features).argmax(1)
    recall = [(pred[labels == c] == c).float().mean().item() for c in (0, 1)]
    print(f"epoch {epoch} loss {loss.item():.5f} recall {recall[0]:.3f} {recall[1]:.3f}")
