r"""Predicts the next position of ships from a stream that two workers read together.

Source: https://docs.pytorch.org/docs/stable/data.html
Healthy: The stream has no length and cannot be shuffled, but each worker asks for its number and
    reads only its own share, so no track comes twice in an epoch.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

STEPS = 6


class Tracks(IterableDataset):
    def __init__(self, first, last):
        self.first, self.last = first, last

    def track(self, number):
        g = torch.Generator().manual_seed(number)
        place, speed = torch.randn(2, generator=g), 0.3 * torch.randn(2, generator=g)
        turn = 0.3 * torch.randn(1, generator=g)
        points = []
        for _ in range(STEPS + 1):
            points.append(place + 0.003 * torch.randn(2, generator=g))
            c, s = torch.cos(turn), torch.sin(turn)
            speed = torch.cat([c * speed[:1] - s * speed[1:], s * speed[:1] + c * speed[1:]])
            place = place + speed
        path = torch.stack(points)
        return (path[:-1] - path[-2]).flatten(), path[-1] - path[-2]

    def __iter__(self):
        info = get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        for number in range(self.first + start, self.last, step):
            yield self.track(number)


def main():
    torch.manual_seed(123)
    loader = DataLoader(Tracks(0, 800), batch_size=16, num_workers=2)
    test = DataLoader(Tracks(5000, 5200), batch_size=200)
    model = nn.Sequential(nn.Linear(2 * STEPS, 96), nn.ReLU(), nn.Linear(96, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        total, seen = 0.0, 0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
            seen += len(x)
        print(f"epoch {epoch}: {seen} tracks, loss {total / seen:.5f}")
    x, y = next(iter(test))
    with torch.no_grad():
        error = nn.functional.mse_loss(model(x), y).item()
    print(f"test error {error:.5f}, with the last step repeated "
          f"{nn.functional.mse_loss(-x[:, -4:-2], y).item():.5f}")


if __name__ == "__main__":
    main()
