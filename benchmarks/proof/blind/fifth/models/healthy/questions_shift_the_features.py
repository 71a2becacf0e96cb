r"""Visual reasoning in which a question scales and shifts the feature maps.

Source: https://github.com/ethanjperez/film
Odd: Batch norm has no weight and bias of its own, and one is added to the predicted scale.
"""

import torch
from torch import nn


class FiLMedResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1 = nn.Conv2d(dim + 2, dim, 1)
        self.conv2 = nn.Conv2d(dim, dim, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(dim, affine=False)

    def forward(self, x, gammas, betas):
        n, _, h, w = x.shape
        y = torch.linspace(-1, 1, h).view(1, 1, h, 1).expand(n, 1, h, w)
        z = torch.linspace(-1, 1, w).view(1, 1, 1, w).expand(n, 1, h, w)
        x = torch.relu(self.conv1(torch.cat([x, y, z], dim=1)))
        out = self.bn(self.conv2(x))
        out = (1 + gammas)[:, :, None, None] * out + betas[:, :, None, None]
        return x + torch.relu(out)


class FiLMedNet(nn.Module):
    def __init__(self, words=40, dim=24, answers=8, blocks=2):
        super().__init__()
        self.blocks_count, self.dim = blocks, dim
        self.embed = nn.Embedding(words, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.film_gen = nn.Linear(32, 2 * dim * blocks)
        self.stem = nn.Sequential(nn.Conv2d(3, dim, 4, 4), nn.BatchNorm2d(dim), nn.ReLU())
        self.blocks = nn.ModuleList(FiLMedResBlock(dim) for _ in range(blocks))
        self.classifier = nn.Linear(dim, answers)

    def forward(self, image, question):
        _, h = self.rnn(self.embed(question))
        film = self.film_gen(h[-1]).view(-1, self.blocks_count, 2, self.dim)
        x = self.stem(image)
        for i, block in enumerate(self.blocks):
            x = block(x, film[:, i, 0], film[:, i, 1])
        return self.classifier(x.amax(dim=(2, 3)))


def build():
    return FiLMedNet()


def example_inputs():
    return torch.rand(6, 3, 32, 32), torch.randint(0, 40, (6, 7))
