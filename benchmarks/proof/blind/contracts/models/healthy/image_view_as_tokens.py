r"""The model `PatchTransformer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class PatchTransformer(nn.Module):
    def __init__(self, dim=32, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, kernel_size=4, stride=4)
        self.pos = nn.Parameter(torch.zeros(1, 64, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        f = self.stem(img)
        b, c, h, w = f.shape
        tokens = f.flatten(2).transpose(1, 2)
        tokens = self.encoder(tokens + self.pos)
        return self.head(tokens.mean(dim=1))


torch.manual_seed(0)
model = PatchTransformer()
example_inputs = (torch.randn(4, 3, 32, 32),)
