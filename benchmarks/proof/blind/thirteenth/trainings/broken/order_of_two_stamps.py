r"""Reads the stamps of a parcel in order and says which of two depots it passed first.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: The groups of the optimizer are chosen by the ends of the names, weight and bias; the
    table of positions is a parameter of its own with another name, falls into neither group and
    keeps its zeros, so the net cannot see the order of the stamps.
Cause: \b(not|never|neither|missing|left out|omitted|absent)\b.*(group|optimi[sz]er|updated|trained)
    |(group|optimi[sz]er).*(miss|lack|leave|omit|without|\bnot\b)|position.*(never|not|zero|stay)
Place: position|decay|plain|optimi[sz]er|groups
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
DEPOTS, LENGTH = 12, 10


def parcels(n):
    stamps = torch.randint(2, DEPOTS, (n, LENGTH))
    places = torch.stack([torch.randperm(LENGTH)[:2] for _ in range(n)])
    rows = torch.arange(n)
    stamps[rows, places[:, 0]] = 0
    stamps[rows, places[:, 1]] = 1
    return stamps, (places[:, 0] < places[:, 1]).float()


class StampReader(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(DEPOTS, width)
        self.position = nn.Parameter(torch.zeros(LENGTH, width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, stamps):
        x = self.embed(stamps) + self.position
        return self.head(self.layer(x).mean(1)).squeeze(1)


def make_optimizer(model):
    named = list(model.named_parameters())
    decay = [p for name, p in named if name.endswith("weight")]  # here
    plain = [p for name, p in named if name.endswith("bias")]  # here
    return torch.optim.AdamW([
        {"params": decay, "weight_decay": 1e-2},
        {"params": plain, "weight_decay": 0.0},
    ], lr=3e-3)


def main():
    x, y = parcels(1200)
    test_x, test_y = parcels(400)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = StampReader()
    optimizer = make_optimizer(model)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(10):
        total = 0.0
        model.train()
        for stamps, first in loader:
            optimizer.zero_grad()
            loss = criterion(model(stamps), first)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 2:
            print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
    model.eval()
    with torch.no_grad():
        right = ((model(test_x) > 0) == (test_y > 0.5)).float().mean().item()
    print(f"right on new parcels: {right:.3f}")


if __name__ == "__main__":
    main()
