r"""Trains a small net for a doorbell to give the same answers as a large one.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html
Healthy: Both arguments of the divergence are log-probabilities, which log_target=True asks for;
    the large net is frozen and in evaluation mode, and only the small one gets gradients.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(115)
SOUNDS, BANDS, HEAT = 6, 40, 3.0


def hallway(n, timbre):
    sound = torch.randint(0, SOUNDS, (n,))
    return timbre[sound] + 1.1 * torch.randn(n, BANDS), sound


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


timbre = torch.randn(SOUNDS, BANDS) * 0.6
x, y = hallway(2000, timbre)
test_x, test_y = hallway(500, timbre)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)

large = nn.Sequential(nn.Linear(BANDS, 128), nn.ReLU(), nn.Dropout(0.4), nn.Linear(128, SOUNDS))
optimizer = torch.optim.Adam(large.parameters(), lr=1e-3)
for _ in range(8):
    large.train()
    for a, b in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(large(a), b).backward()
        optimizer.step()
print(f"large: {accuracy(large, test_x, test_y):.3f}")

large.eval().requires_grad_(False)
small = nn.Sequential(nn.Linear(BANDS, 12), nn.ReLU(), nn.Linear(12, SOUNDS))
divergence = nn.KLDivLoss(reduction="batchmean", log_target=True)
optimizer = torch.optim.Adam(small.parameters(), lr=3e-3)
for epoch in range(12):
    small.train()
    total = 0.0
    for a, b in loader:
        soft = torch.log_softmax(large(a) / HEAT, dim=1)
        scores = small(a)
        loss = HEAT ** 2 * divergence(torch.log_softmax(scores / HEAT, dim=1), soft)
        loss = 0.7 * loss + 0.3 * nn.functional.cross_entropy(scores, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
print(f"small: {accuracy(small, test_x, test_y):.3f}")
