"""Box-prompted segmentation where only the image encoder and the mask decoder are tuned.

Source: https://github.com/bowang-lab/MedSAM/issues/233
Odd: the prompt encoder runs inside torch.no_grad(), so it gets no gradient; it is not to be
    fine-tuned.
"""

import torch
from torch import nn


class PromptEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gaussian = nn.Linear(2, dim // 2, bias=False)
        self.corner = nn.Embedding(2, dim)

    def forward(self, boxes):
        corners = self.gaussian(2 * boxes.view(-1, 2, 2) - 1) * 6.2832
        return torch.cat([corners.sin(), corners.cos()], -1) + self.corner.weight


class MedSAM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.image_encoder = nn.Sequential(
            nn.Conv2d(1, dim, 4, 4), nn.GELU(), nn.Conv2d(dim, dim, 3, padding=1)
        )
        self.prompt_encoder = PromptEncoder(dim)
        for param in self.prompt_encoder.parameters():
            param.requires_grad = False
        self.cross = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.upscale = nn.ConvTranspose2d(dim, 1, 4, 4)

    def forward(self, image, box):
        embedding = self.image_encoder(image)
        with torch.no_grad():
            sparse = self.prompt_encoder(box)
        tokens = embedding.flatten(2).transpose(1, 2)
        tokens = self.norm(tokens + self.cross(tokens, sparse, sparse)[0])
        return self.upscale(tokens.transpose(1, 2).unflatten(2, embedding.shape[2:]))


def build():
    return MedSAM()


def example_inputs():
    return torch.rand(2, 1, 32, 32), torch.tensor([[0.1, 0.1, 0.5, 0.6], [0.3, 0.2, 0.9, 0.8]])
