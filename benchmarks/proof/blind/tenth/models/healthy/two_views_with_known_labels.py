r"""Embeddings of two views of labelled pictures, with their supervised contrast as the output.

Source: https://github.com/HobbitLong/SupContrast/issues/73
Odd: The loss is multiplied by the temperature over a base temperature, the greatest logit is taken
    off without its gradient, and the diagonal is taken out of the sums by a mask.
"""

import torch
from torch import nn
from torch.nn import functional as F


class SupervisedContrast(nn.Module):
    def __init__(self, temperature=0.1, base_temperature=0.07):
        super().__init__()
        self.temperature, self.base_temperature = temperature, base_temperature

    def forward(self, features, labels):
        n, views, _ = features.shape
        mask = torch.eq(labels[:, None], labels[None]).to(features.dtype)
        contrast = torch.cat(torch.unbind(features, dim=1), dim=0)
        logits = contrast @ contrast.t() / self.temperature
        logits = logits - logits.max(dim=1, keepdim=True)[0].detach()
        mask = mask.repeat(views, views)
        others = 1 - torch.eye(n * views, device=features.device, dtype=features.dtype)
        mask = mask * others
        log_prob = logits - torch.log((torch.exp(logits) * others).sum(1, keepdim=True))
        mean_log_prob_pos = (mask * log_prob).sum(1) / mask.sum(1)
        loss = -(self.temperature / self.base_temperature) * mean_log_prob_pos
        return loss.view(views, n).mean()


class LabelledViews(nn.Module):
    def __init__(self, width=16, dim=24):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 2 * width, 3, 2, 1, bias=False),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Sequential(
            nn.Linear(2 * width, 2 * width), nn.ReLU(inplace=True), nn.Linear(2 * width, dim)
        )
        self.contrast = SupervisedContrast()

    def forward(self, first, second, labels):
        features = self.head(self.encoder(torch.cat((first, second))))
        f1, f2 = F.normalize(features, dim=1).chunk(2)
        return self.contrast(torch.stack((f1, f2), 1), labels)


def build():
    return LabelledViews()


def example_inputs():
    return (
        torch.rand(8, 3, 20, 20),
        torch.rand(8, 3, 20, 20),
        torch.tensor([0, 1, 2, 0, 1, 2, 3, 3]),
    )
