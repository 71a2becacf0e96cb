r"""Feature vectors of a radiance field, pruned by a learnt mask.

Source: https://github.com/daniel03c1/masked_wavelet_nerf/issues/10
Fault: the mask is compared with a threshold and used as 0 or 1, which has no gradient, so the mask
    parameters never learn what to prune.
Cause: threshold|compar(ed|ison)|straight.?through|(non.?|not )differentiable|binari|no gradient
Place: line_mask|\bmask\b
"""

import torch
from torch import nn


class MaskedLines(nn.Module):
    def __init__(self, lines=3, channels=6, size=32):
        super().__init__()
        self.line = nn.Parameter(0.2 * torch.randn(lines, channels, size))
        self.line_mask = nn.Parameter(0.5 + 0.5 * torch.randn(lines, channels, size))
        self.density = nn.Linear(lines * channels, 1)

    def forward(self, xyz):
        mask = (torch.sigmoid(self.line_mask) >= 0.5).float()  # here
        line = self.line * mask
        position = (xyz + 1) / 2 * (line.size(2) - 1)
        low = position.floor().long().clamp(max=line.size(2) - 2)
        weight = (position - low)[..., None]
        feats = []
        for axis in range(3):
            left, right = line[axis][:, low[:, axis]].t(), line[axis][:, low[:, axis] + 1].t()
            feats.append(left * (1 - weight[:, axis]) + right * weight[:, axis])
        return nn.functional.softplus(self.density(torch.cat(feats, 1)))


def example_inputs():
    return (torch.rand(200, 3) * 2 - 1,)
