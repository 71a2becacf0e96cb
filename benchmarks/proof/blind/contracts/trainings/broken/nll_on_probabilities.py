r"""A training of `Classifier`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
Fault: NLLLoss gets softmax probabilities instead of log-probabilities.
Cause: log_?softmax|log.?prob|NLL.{0,100}(softmax|prob|log)|softmax
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(126)
n = 800
h = torch.rand(n, 1) * 2
wdt = torch.rand(n, 1) * 2
species = ((h > 1).long() * 2 + (wdt > h / 2 + 0.5).long()).squeeze(1)
X = torch.cat([h, wdt, h * wdt], 1) + 0.05 * torch.randn(n, 3)
loader = DataLoader(TensorDataset(X[:640], species[:640]), batch_size=64, shuffle=True)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)


model = Classifier()
criterion = nn.NLLLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)
for epoch in range(10):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("acc", (model(X[640:]).argmax(1) == species[640:]).float().mean().item())
