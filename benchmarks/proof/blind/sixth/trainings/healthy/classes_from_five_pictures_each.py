r"""Features in which a new class is found from the mean of a few samples.

Source: https://github.com/learnables/learn2learn/blob/master/examples/vision/protonet_miniimagenet.py
Odd: No layer belongs to the classes, which are others in each step under the same numbers; negative
    distances are the logits.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(14)
ways, shot, query = 5, 5, 10
signal = torch.randn(6, 30)
nuisance = torch.randn(12, 30)


def task():
    kinds = 1.2 * torch.randn(ways, 1, 6)
    content = kinds + 0.3 * torch.randn(ways, shot + query, 6)
    x = content @ signal + 1.2 * torch.randn(ways, shot + query, 12) @ nuisance
    return x / 4, torch.arange(ways).repeat_interleave(query)


def fast_adapt(model):
    data, labels = task()
    embeddings = model(data.flatten(0, 1)).view(ways, shot + query, -1)
    support = embeddings[:, :shot].mean(dim=1)
    queries = embeddings[:, shot:].reshape(ways * query, -1)
    logits = -torch.cdist(queries, support).square()
    loss = F.cross_entropy(logits, labels)
    return loss, (logits.argmax(1) == labels).float().mean()


model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)
with torch.no_grad():
    before = torch.stack([fast_adapt(model)[1] for _ in range(60)]).mean().item()
for iteration in range(120):
    loss, accuracy = fast_adapt(model)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if iteration % 30 == 0:
        print(f"{iteration} loss {loss.item():.3f} accuracy {accuracy.item():.3f}")
with torch.no_grad():
    after = torch.stack([fast_adapt(model)[1] for _ in range(60)]).mean().item()
print(f"accuracy on new tasks {before:.3f} before, {after:.3f} after")
