r"""Traffic signs in batches, after an exercise on batches in a course on driving.

Source: https://github.com/udacity/sdc-issue-reports/issues/1326
Fault: Signs and labels are shuffled in different orders, so they do not belong together.
Cause: shuffl|permut
    |(label|target)s?.{0,80}(match|correspond|belong|align|random|unrelated|independent)
    |(mismatch|misalign|unrelated|independent|random).{0,60}(label|target)
    |(different|same|own|another) order
Place: rng\.permutation|batches\(
"""

import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(8)
torch.manual_seed(8)
prototypes = rng.standard_normal((8, 48)).astype("float32")
sign_of = rng.integers(0, 8, 960)
train_features = prototypes[sign_of] + 0.5 * rng.standard_normal((960, 48)).astype("float32")
train_labels = sign_of


def batches(batch_size, features, labels):
    assert len(features) == len(labels)
    features = rng.permutation(features)
    labels = rng.permutation(labels)  # here
    output_batches = []
    for start in range(0, len(features), batch_size):
        end = start + batch_size
        output_batches.append([features[start:end], labels[start:end]])
    return output_batches


model = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(5):
    total = right = 0
    for batch_x, batch_y in batches(48, train_features, train_labels):
        x, y = torch.from_numpy(batch_x), torch.from_numpy(batch_y)
        scores = model(x)
        loss = loss_fn(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 20
        right += (scores.argmax(1) == y).sum().item()
    print(f"Epoch {epoch} - Cost: {total:.4f} Accuracy: {right / 960:.4f}")
sign_of = rng.integers(0, 8, 400)
fresh = prototypes[sign_of] + 0.5 * rng.standard_normal((400, 48)).astype("float32")
with torch.no_grad():
    fresh_right = (model(torch.from_numpy(fresh)).argmax(1).numpy() == sign_of).mean()
print(f"Test accuracy: {fresh_right:.4f}")
