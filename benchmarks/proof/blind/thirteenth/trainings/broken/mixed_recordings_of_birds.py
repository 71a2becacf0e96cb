r"""Tells birds by their song and blends pairs of recordings in training, as mixup does.

Source: https://arxiv.org/abs/1710.09412
Fault: The share that was drawn from the Beta distribution weighs the first recording in the
    input but the label of the second one in the loss; the two shares are exchanged, so a blend
    that is nearly all one bird is taught as the other.
Cause: (lam|share|weight|coefficient|mix|blend)\w*.*(swap|exchang|revers|wrong|other|inverse)
    |mixup|mixing|(swap|exchang|revers|cross)\w*.*(label|lam|share|weight)
Place: lam|share|loss|mix|partner
"""
import torch
from torch import nn
from torch.distributions import Beta
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(57)
BIRDS, BANDS = 6, 50


def songs(n, voices):
    bird = torch.randint(0, BIRDS, (n,))
    loud = 0.6 + 0.8 * torch.rand(n, 1)
    return voices[bird] * loud + 1.9 * torch.randn(n, BANDS), bird


class SongNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(BANDS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, BIRDS)
        )

    def forward(self, x):
        return self.layers(x)


def mixed_loss(model, x, y, share):
    partner = torch.randperm(len(x))
    blend = share * x + (1 - share) * x[partner]
    scores = model(blend)
    first = nn.functional.cross_entropy(scores, y)
    second = nn.functional.cross_entropy(scores, y[partner])
    return (1 - share) * first + share * second  # here


def main():
    voices = torch.randn(BIRDS, BANDS)
    loader = DataLoader(TensorDataset(*songs(1200, voices)), batch_size=40, shuffle=True)
    test_x, test_y = songs(400, voices)
    model = SongNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    shares = Beta(0.4, 0.4)
    for epoch in range(15):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = mixed_loss(model, x, y, shares.sample())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 3 == 2:
            model.eval()
            with torch.no_grad():
                right = (model(test_x).argmax(1) == test_y).float().mean().item()
            print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, accuracy {right:.3f}")


if __name__ == "__main__":
    main()
