"""A two-tower contrastive model with a learnt temperature.

Source: https://github.com/openai/CLIP/blob/main/clip/model.py
Odd: one scalar parameter starts at 2.66 and its exponent multiplies all the scores by 14; it is the
    inverse temperature, learnt in log space.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class TwoTowers(nn.Module):
    def __init__(self, embed_dim=32, vocab=90):
        super().__init__()
        self.visual = nn.Sequential(
            nn.Conv2d(3, 24, 5, 4), nn.ReLU(), nn.Flatten(), nn.Linear(24 * 49, embed_dim)
        )
        self.token_embedding = nn.EmbeddingBag(vocab, 48, mode="mean")
        self.text_projection = nn.Parameter(torch.randn(48, embed_dim) * 48**-0.5)
        self.logit_scale = nn.Parameter(torch.ones([]) * math.log(1 / 0.07))

    def forward(self, image, text):
        image_features = F.normalize(self.visual(image), dim=1)
        text_features = F.normalize(self.token_embedding(text) @ self.text_projection, dim=1)
        logits = self.logit_scale.exp() * image_features @ text_features.t()
        labels = torch.arange(len(logits))
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
        return {"loss": loss, "logits_per_image": logits}


def example_inputs():
    return torch.randn(8, 3, 32, 32), torch.randint(0, 90, (8, 10))
