r"""Tells edible from poisonous mushrooms by the marks listed in a field guide.

Source: https://docs.pytorch.org/docs/stable/data.html
Fault: The rows and the labels are mixed with two different permutations before they are put into
    one data set, so a row no longer has its own label and there is nothing to learn.
Cause: (different|two|second|separate|own|another|independent)\w* (perm|shuffl|order|random)
    |(shuffl|permut|mix)\w*.*(separate|apart|independent|different|not.*same)|misalign
    |(label|target)s?.*(not|no longer).*(match|belong|row|input|sample)|out of step
Place: labels|rows|randperm|table|y\b
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MARKS, VALUES = 8, 5


def guide(n):
    marks = torch.randint(0, VALUES, (n, MARKS))
    bad = (marks[:, 0] == 0) | ((marks[:, 3] > 2) & (marks[:, 5] == 1)) | (marks[:, 6] == 4)
    flip = torch.rand(n) < 0.02
    return marks, (bad ^ flip).float()


def encode(marks):
    return nn.functional.one_hot(marks, VALUES).flatten(1).float()


def split(rows, labels, share=0.8):
    rows = rows[torch.randperm(len(rows))]
    labels = labels[torch.randperm(len(labels))]  # here
    cut = int(share * len(rows))
    return (TensorDataset(rows[:cut], labels[:cut]), TensorDataset(rows[cut:], labels[cut:]))


class Guide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(MARKS * VALUES, 48), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def run():
    torch.manual_seed(77)
    marks, poisonous = guide(2400)
    train, test = split(encode(marks), poisonous)
    loader = DataLoader(train, batch_size=48, shuffle=True)
    model = Guide()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(16):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: loss {total / len(train):.4f}")
    model.eval()
    with torch.no_grad():
        x, y = test[:]
        right = ((model(x) > 0) == (y > 0.5)).float().mean().item()
    share = max(y.mean().item(), 1 - y.mean().item())
    print(f"test accuracy {right:.3f} (always the same answer: {share:.3f})")


run()
