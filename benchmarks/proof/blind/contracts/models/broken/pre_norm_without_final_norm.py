r"""The model `PatchEncoder`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html
Fault: The encoder uses norm_first=True but has no final norm, so the residual stream leaves the
    stack unnormalised.
Cause: final (layer ?)?norm|norm_first|pre-?norm|last norm
    |(un|not )normali[sz]ed (residual|output|stream)|norm=|(missing|no) .*norm
"""

import torch
import torch.nn as nn


class Layer(nn.TransformerEncoderLayer):
    def __init__(self, dim):
        super().__init__(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)


class PatchEncoder(nn.Module):
    def __init__(self, patch=48, dim=32, depth=4, patches=16, classes=10):
        super().__init__()
        self.embed = nn.Linear(patch, dim)
        self.pos = nn.Parameter(torch.randn(1, patches, dim) * 0.02)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(dim=1))


torch.manual_seed(0)
model = PatchEncoder()
example_inputs = (torch.randn(4, 16, 48),)
