r"""Predicts how a panel splits its votes over the grades of a cheese.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
Healthy: The targets are shares of votes and not indices of classes, which the loss accepts; the
    loss cannot fall to zero, since its floor is the entropy of the votes.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(137)
GRADES, JUDGES = 4, 15


def cheeses(n, taste):
    marks = torch.randn(n, 10)
    opinion = torch.softmax(marks @ taste, dim=1)
    votes = torch.distributions.Multinomial(JUDGES, probs=opinion).sample()
    return marks, votes / JUDGES, opinion


taste = torch.randn(10, GRADES) * 0.6
marks, shares, _ = cheeses(1500, taste)
test, test_shares, test_opinion = cheeses(400, taste)
loader = DataLoader(TensorDataset(marks, shares), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, GRADES))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)

for epoch in range(15):
    model.train()
    total = 0.0
    for x, votes in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), votes)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    found = torch.softmax(model(test), dim=1)
error = (found - test_opinion).abs().mean().item()
plain = (shares.mean(0) - test_opinion).abs().mean().item()
floor = -(test_opinion * test_opinion.log()).sum(1).mean().item()
print(f"error of the shares {error:.3f}, of the average panel {plain:.3f}; entropy {floor:.3f}")
