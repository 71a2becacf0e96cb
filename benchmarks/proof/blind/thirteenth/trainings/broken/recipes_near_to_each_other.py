r"""Trains an encoder of recipes with triplets so that dishes of one kitchen are neighbours.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TripletMarginWithDistanceLoss.html
Fault: The loss expects a distance, which is small for what is alike, but gets the cosine
    similarity, which is large for what is alike; it drives positives apart and pulls negatives
    together, so dishes of one kitchen end up far from each other.
Cause: similarity|(not|instead of|rather than) a distance|distance[_ ]function|one minus|1 ?-
    |pull.*negative|push.*positive|drives?.*apart
Place: criterion|distance_function|CosineSimilarity
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

KITCHENS, INGREDIENTS = 6, 80


class Recipes(Dataset):
    def __init__(self, n, favour, seed):
        g = torch.Generator().manual_seed(seed)
        self.kitchen = torch.randint(0, KITCHENS, (n,), generator=g)
        self.bags = torch.bernoulli(favour[self.kitchen], generator=g)
        self.g = g

    def __len__(self):
        return len(self.kitchen)

    def pick(self, mask):
        choices = mask.nonzero().flatten()
        return choices[torch.randint(len(choices), (1,), generator=self.g)].item()

    def __getitem__(self, i):
        same = self.kitchen == self.kitchen[i]
        return self.bags[i], self.bags[self.pick(same)], self.bags[self.pick(~same)]


class Encoder(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(INGREDIENTS, 64), nn.ReLU(), nn.Linear(64, size))

    def forward(self, bag):
        return self.body(bag)


def neighbours_agree(model, data):
    with torch.no_grad():
        z = nn.functional.normalize(model(data.bags), dim=1)
    score = z @ z.T
    score.fill_diagonal_(-2.0)
    nearest = score.argmax(1)
    return (data.kitchen[nearest] == data.kitchen).float().mean().item()


def main():
    torch.manual_seed(0)
    favour = 0.12 + 0.3 * (torch.rand(KITCHENS, INGREDIENTS) < 0.25)
    train, test = Recipes(600, favour, 1), Recipes(300, favour, 2)
    loader = DataLoader(train, batch_size=50, shuffle=True)
    model = Encoder()
    criterion = nn.TripletMarginWithDistanceLoss(
        distance_function=nn.CosineSimilarity(), margin=0.4)  # here
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    print(f"before: {neighbours_agree(model, test):.3f}")
    for epoch in range(15):
        total = 0.0
        for anchor, positive, negative in loader:
            optimizer.zero_grad()
            loss = criterion(model(anchor), model(positive), model(negative))
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")
    print(f"nearest dish of the same kitchen: {neighbours_agree(model, test):.3f}")


if __name__ == "__main__":
    main()
