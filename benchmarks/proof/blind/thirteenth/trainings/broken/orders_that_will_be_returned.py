r"""Predicts which orders of a shop will be sent back, of which there are few, after balancing.

Source: https://se4airesearch.github.io/DataLeakage_Website_Fall2023/pages/leakage/overlap
Fault: The rare orders are copied until both kinds are equal and only then the table is split, so
    copies of one order lie in both parts; the held-out part has been seen in training, and the
    recall that is printed is far better than that on new orders.
Cause: leak|(copi|duplicat|oversampl|resampl|balanc)\w*.*(before|split|both|train|held|valid|test)
    |(before|split).*(copi|duplicat|oversampl|resampl|balanc)|(same|seen).*(train|held|valid|test)
Place: balance|oversample|split|held|copies
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(74)
COLUMNS = 20


def orders(n):
    table = torch.randn(n, COLUMNS)
    score = 0.5 * table[:, 0] + 0.4 * table[:, 1] * table[:, 2] + torch.randn(n)
    return table, (score > 1.9).float()


def balance(table, returned):
    rare = returned.nonzero().flatten()
    often = (returned == 0).nonzero().flatten()
    copies = rare[torch.randint(len(rare), (len(often),))]
    chosen = torch.cat([often, copies])
    return table[chosen], returned[chosen]


def recalls(model, data):
    x, y = data[:]
    model.eval()
    with torch.no_grad():
        guess = (model(x).squeeze(1) > 0).float()
    return (guess[y == 1] == 1).float().mean().item(), (guess[y == 0] == 0).float().mean().item()


table, returned = orders(1500)
print(f"orders sent back: {int(returned.sum())} of {len(returned)}")
table, returned = balance(table, returned)  # here
data = TensorDataset(table, returned)
train, held_out = random_split(data, [len(data) - 500, 500])
loader = DataLoader(train, batch_size=50, shuffle=True)

model = nn.Sequential(
    nn.Linear(COLUMNS, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(12):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        sent, kept = recalls(model, held_out)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, "
              f"held out: sent back {sent:.3f}, kept {kept:.3f}")
