r"""Things in small windows, most of which are easy; only the hardest quarter of a batch counts.

Source: https://github.com/abhi2610/ohem
Odd: Most samples of a batch get no gradient at all, the printed loss is that of the worst windows
    and stays high while the accuracy climbs.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, count, seed, forms):
        g = torch.Generator().manual_seed(seed)
        thing = torch.rand(count, generator=g) < 0.1
        kind = torch.randint(1, 4, (count,), generator=g)
        self.label = torch.where(thing, kind, torch.zeros(count, dtype=torch.long))
        image = 0.7 * torch.randn(count, 1, 8, 8, generator=g)
        near = torch.rand(count, generator=g) < 0.08
        other = torch.randint(0, 3, (count,), generator=g)
        image[near & ~thing] += forms[other][near & ~thing].transpose(-1, -2)
        image[thing] += forms[kind - 1][thing]
        self.image = image

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.image[i], self.label[i]


class HardExamples:
    def __init__(self, share=0.25):
        self.share = share

    def __call__(self, logits, label):
        with torch.no_grad():
            each = F.cross_entropy(logits, label, reduction="none")
            chosen = each.topk(max(1, int(self.share * len(each)))).indices
        return F.cross_entropy(logits[chosen], label[chosen])


def main():
    torch.manual_seed(114)
    forms = 0.42 * torch.randn(3, 1, 8, 8)
    loader = DataLoader(Windows(3000, 1, forms), batch_size=100, shuffle=True)
    test = Windows(1500, 2, forms)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 4),
    )
    criterion = HardExamples()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    for epoch in range(8):
        total = 0.0
        for image, label in loader:
            loss = criterion(net(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            vote = net(test.image).argmax(1)
        things = test.label > 0
        found = (vote[things] == test.label[things]).float().mean().item()
        right = (vote == test.label).float().mean().item()
        print(f"{epoch} loss {total / len(loader):.3f} right {right:.3f} found {found:.3f}")


main()
