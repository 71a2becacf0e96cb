r"""Self-supervised features: an encoder, a projection and the NT-Xent loss over two views.

Source: https://github.com/Lightning-Universe/lightning-bolts/issues/252
Healthy: The denominator masks the diagonal only, so it includes the positive pair; somebody takes
    that for a bug, but the loss is -log(pos / (pos + negatives)) by definition.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


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

    # Positive similarity :
    pos = torch.exp(torch.sum(out_1 * out_2, dim=-1) / temperature)
    pos = torch.cat([pos, pos], dim=0)
    loss = -torch.log(pos / neg).mean()
    return loss


class Projection(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(input_dim, hidden_dim, bias=True),
            nn.BatchNorm1d(hidden_dim),
            nn.ReLU(),
            nn.Linear(hidden_dim, output_dim, bias=False))

    def forward(self, x):
        x = self.model(x)
        return F.normalize(x, dim=1)


class Encoder(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width * 2, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width * 2)
        self.conv3 = nn.Conv2d(width * 2, width * 4, 3, stride=2, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * 4)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.relu(self.bn3(self.conv3(x)))
        return x.mean(dim=(2, 3))


class SimCLR(nn.Module):
    def __init__(self, temperature=0.5):
        super().__init__()
        self.temperature = temperature
        self.encoder = Encoder()
        self.projection = Projection(64, 64, 32)

    def forward(self, img1, img2):
        h1 = self.encoder(img1)
        h2 = self.encoder(img2)
        z1 = self.projection(h1)
        z2 = self.projection(h2)
        return nt_xent_loss(z1, z2, self.temperature)


def build():
    torch.manual_seed(0)
    return SimCLR()


def example_inputs():
    torch.manual_seed(1)
    base = torch.rand(16, 3, 4, 4)
    base = F.interpolate(base, scale_factor=4)
    return (base + 0.1 * torch.randn(16, 3, 16, 16)).clamp(0, 1), \
        (base.flip(3) * 0.9 + 0.1 * torch.randn(16, 3, 16, 16)).clamp(0, 1)
