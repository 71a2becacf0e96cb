r"""Learns codes of fingerprints from pairs of which it is known whether they are of one finger.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CosineEmbeddingLoss.html
Fault: CosineEmbeddingLoss expects 1 for pairs that belong together and -1 for pairs that do not;
    here the second kind is 0, for which the loss is zero, so nothing keeps different fingers
    apart and all codes fall into one direction.
Cause: -1|minus one|(label|target|value)s?.*(0|zero).*(ignored|no loss|instead|not)|0 (and|or) 1
    |negative pairs?.*(ignored|no|zero|not|never)|different.*(no (loss|effect)|zero loss|not push)
Place: criterion|same|target|label|CosineEmbeddingLoss
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(79)
FINGERS, RIDGES = 40, 60


class FingerPairs(Dataset):
    def __init__(self, n, masters, g):
        self.first = torch.randint(0, FINGERS, (n,), generator=g)
        self.second = torch.randint(0, FINGERS, (n,), generator=g)
        half = torch.rand(n, generator=g) < 0.5
        self.second[half] = self.first[half]
        self.a = masters[self.first] + 0.6 * torch.randn(n, RIDGES, generator=g)
        self.b = masters[self.second] + 0.6 * torch.randn(n, RIDGES, generator=g)

    def __len__(self):
        return len(self.first)

    def __getitem__(self, i):
        same = (self.first[i] == self.second[i]).float()  # here
        return self.a[i], self.b[i], same


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(RIDGES, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return self.layers(x)


def test_pairs(model, data):
    with torch.no_grad():
        score = nn.functional.cosine_similarity(model(data.a), model(data.b))
    same = data.first == data.second
    return score[same].mean().item(), score[~same].mean().item()


def main():
    g = torch.Generator().manual_seed(79)
    masters = torch.randn(FINGERS, RIDGES, generator=g)
    train, test = FingerPairs(2000, masters, g), FingerPairs(500, masters, g)
    loader = DataLoader(train, batch_size=50, shuffle=True)
    model = Coder()
    criterion = nn.CosineEmbeddingLoss(margin=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(12):
        total = 0.0
        for a, b, same in loader:
            loss = criterion(model(a), model(b), same)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")
    print("similarity of the same finger {:.3f}, of others {:.3f}".format(*test_pairs(model, test)))


main()
