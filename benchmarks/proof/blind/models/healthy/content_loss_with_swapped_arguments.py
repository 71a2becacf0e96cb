"""A style network with a content loss in fixed features.

Source: https://github.com/rrmina/fast-neural-style-pytorch/issues/5
Odd: the generated features are given as target of the MSE; the loss is symmetric.
"""

import torch
import torch.nn.functional as F
from torch import nn


class TransformerNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.decode = nn.Conv2d(width, 3, 3, padding=1)
        self.vgg = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).requires_grad_(False)

    def forward(self, content):
        generated = torch.sigmoid(self.decode(self.encode(content)))
        loss = F.mse_loss(self.vgg(content), self.vgg(generated))
        return {"loss": loss, "generated": generated}


def example_inputs():
    return (torch.rand(4, 3, 10, 10),)
