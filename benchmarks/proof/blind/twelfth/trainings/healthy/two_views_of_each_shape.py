r"""Contrastive pretraining on two views of each shape, then a nearest-neighbour check.

Source: https://github.com/Lightning-Universe/lightning-bolts/issues/252
Healthy: only the diagonal is removed from the denominator, the positive pair stays in it; that is
    not an error but how the loss is defined, log(pos / (pos + negatives)).
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def nt_xent_loss(out_1, out_2, temperature):
    """
    Loss used in SimCLR
    """
    out = torch.cat([out_1, out_2], dim=0)
    n_samples = len(out)

    # Full similarity matrix
    cov = torch.mm(out, out.t().contiguous())
    sim = torch.exp(cov / temperature)

    # Negative similarity
    mask = ~torch.eye(n_samples, device=sim.device).bool()
    neg = sim.masked_select(mask).view(n_samples, -1).sum(dim=-1)

    # Positive similarity
    pos = torch.exp(torch.sum(out_1 * out_2, dim=-1) / temperature)
    pos = torch.cat([pos, pos], dim=0)
    loss = -torch.log(pos / neg).mean()

    return loss


class Shapes:
    def __init__(self, n, size=20):
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.labels = torch.randint(6, (n,))
        self.images = torch.zeros(n, 1, size, size)
        for i in range(n):
            r = 5 + torch.rand(1).item() * 2
            dy, dx = yy - size / 2 + 0.5, xx - size / 2 + 0.5
            c = int(self.labels[i])
            if c == 0:
                m = dy ** 2 + dx ** 2 < r ** 2
            elif c == 1:
                m = (dy.abs() < r * 0.8) & (dx.abs() < r * 0.8)
            elif c == 2:
                m = (dy.abs() < 1.5) | (dx.abs() < 1.5)
            elif c == 3:
                m = (dy.abs() + dx.abs() < r) & (dy.abs() + dx.abs() > r - 3)
            elif c == 4:
                m = (dy ** 2 + dx ** 2 < r ** 2) & (dy ** 2 + dx ** 2 > (r - 2) ** 2)
            else:
                m = (xx % 4 < 2) & (dy.abs() < r)
            self.images[i, 0] = m.float()


class SimCLRTrainDataTransform:
    def __init__(self, max_shift=2, noise=0.3):
        self.max_shift = max_shift
        self.noise = noise

    def one(self, x):
        s = torch.randint(-self.max_shift, self.max_shift + 1, (2,)).tolist()
        x = torch.roll(x, s, (2, 3))
        gain = 0.5 + torch.rand(len(x), 1, 1, 1)
        return gain * x + self.noise * torch.randn_like(x)

    def __call__(self, x):
        return self.one(x), self.one(x)


class Projection(nn.Module):
    def __init__(self, input_dim=64, hidden_dim=64, output_dim=32):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(input_dim, hidden_dim), nn.BatchNorm1d(hidden_dim), nn.ReLU(),
            nn.Linear(hidden_dim, output_dim, bias=False))

    def forward(self, x):
        return F.normalize(self.model(x), dim=1)


class SimCLR(nn.Module):
    def __init__(self, loss_temperature=0.5):
        super().__init__()
        self.loss_temperature = loss_temperature
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Conv2d(32, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.projection = Projection()

    def forward(self, x):
        return self.encoder(x)

    def shared_step(self, img1, img2):
        z1 = self.projection(self.encoder(img1))
        z2 = self.projection(self.encoder(img2))
        return nt_xent_loss(z1, z2, self.loss_temperature)


@torch.no_grad()
def knn_accuracy(model, bank, test):
    model.eval()
    a, b = F.normalize(model(bank.images)), F.normalize(model(test.images))
    near = bank.labels[(b @ a.t()).topk(5, dim=1).indices]
    return (near.mode(dim=1).values == test.labels).float().mean().item()


if __name__ == "__main__":
    train, test = Shapes(900), Shapes(200)
    transform = SimCLRTrainDataTransform()
    model = SimCLR()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-6)
    print("before: %.3f" % knn_accuracy(model, train, test))
    epochs = 8
    for epoch in range(epochs):
        model.train()
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * (1 + math.cos(math.pi * epoch / epochs))
        for idx in torch.randperm(900).split(90):
            loss = model.shared_step(*transform(train.images[idx]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch %d loss %.4f" % (epoch, loss.item()))
    print("after: %.3f" % knn_accuracy(model, train, test))
