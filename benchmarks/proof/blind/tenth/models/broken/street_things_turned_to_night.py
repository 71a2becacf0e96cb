r"""Memory of the styles of things in a street, with features that are read from and kept near it.

Source: https://github.com/somijeong/MGUIT/issues/2
Fault: The loss that ties a feature to its memory item takes nll_loss of the softmax without a
    logarithm, so it is the exponential of minus a probability and not a cross entropy.
Cause: (log\b|logarithm|log_softmax|log.?prob\w*).{0,120}(missing|without|not|forgot\w*|instead|lack\w*|expect\w*|nll|need\w*)
    |(without|missing|no|lack\w*|forgot\w*|omit\w*|not).{0,50}(log\b|logarithm|log_softmax|log.?prob)
    |nll.?loss.{0,120}(probabilit\w*|softmax|expects|wants|log)|(probabilit\w*|softmax).{0,80}nll
Place: nll_loss|logits|softmax|torch\.log|\bexp\b|loss
"""

import torch
from torch import nn
from torch.nn import functional as F


class StyleMemory(nn.Module):
    def __init__(self, items=12, key_dim=16, value_dim=16, temperature=0.1):
        super().__init__()
        self.keys = nn.Parameter(F.normalize(torch.randn(items, key_dim), dim=1))
        self.values = nn.Parameter(0.1 * torch.randn(items, value_dim))
        self.temperature = temperature

    def score(self, query):
        similarity = query @ F.normalize(self.keys, dim=1).t()
        return F.softmax(similarity / self.temperature, dim=1)

    def read(self, query):
        return self.score(query) @ self.values

    def gather_loss(self, query):
        logits = self.score(query)
        label = logits.argmax(1)
        return torch.exp(F.nll_loss(logits, label))  # here


class NightTranslator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.content = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 4, 2, 1),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
        )
        self.key = nn.Conv2d(width, width, 1)
        self.memory = StyleMemory(key_dim=width, value_dim=width)
        self.generator = nn.Sequential(
            nn.Conv2d(2 * width, width, 3, 1, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, width, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, image):
        c = self.content(image)
        n, _, h, w = c.shape
        query = F.normalize(self.key(c), dim=1).permute(0, 2, 3, 1).flatten(0, 2)
        style = self.memory.read(query).view(n, h, w, -1).permute(0, 3, 1, 2)
        return self.generator(torch.cat((c, style), 1)), self.memory.gather_loss(query)


def build():
    return NightTranslator()


def example_inputs():
    return (2 * torch.rand(2, 3, 32, 32) - 1,)
