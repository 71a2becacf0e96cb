r"""Fine-tuning of a pretrained encoder whose batch norms must stay as they are.

Source: https://github.com/pgniewko/gt-pyg/issues/112
    https://github.com/poppinace/indexnet_matting/issues/35
Fault: freeze puts batch norm in eval mode once; model.train() undoes it and the statistics drift.
Cause: train\(|eval\(|(eval|train\w*) mode|running|statistic|batch.?norm
Place: encoder|freeze|bn|norm|train
"""

import torch
from torch import nn


class MattingNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU6()
        )
        self.decoder = nn.Conv2d(width, 1, 3, padding=1)
        self.freeze_encoder()

    def freeze_encoder(self):
        for p in self.encoder.parameters():
            p.requires_grad = False
        for m in self.encoder.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()  # here

    def forward(self, x):
        return torch.sigmoid(self.decoder(self.encoder(x)))


def example_inputs():
    return (3 + 2 * torch.randn(16, 3, 8, 8),)
