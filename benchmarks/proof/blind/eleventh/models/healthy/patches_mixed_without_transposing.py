r"""An MLP-Mixer where tokens are mixed by convolutions of length one, for small pictures.

Source: https://github.com/lucidrains/mlp-mixer-pytorch/issues/13
Healthy: there is no transpose between token and channel mixing, as the paper has it; but Conv1d
    with kernel size 1 works on dimension 1, the tokens, and Linear on the last one, the channels.
"""
from functools import partial

import torch
from torch import nn


class PreNormResidual(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        return self.fn(self.norm(x)) + x


def FeedForward(dim, expansion_factor=4, dropout=0., dense=nn.Linear):
    inner_dim = int(dim * expansion_factor)
    return nn.Sequential(
        dense(dim, inner_dim),
        nn.GELU(),
        nn.Dropout(dropout),
        dense(inner_dim, dim),
        nn.Dropout(dropout),
    )


class Patches(nn.Module):
    """b c (h p1) (w p2) -> b (h w) (p1 p2 c)"""

    def __init__(self, patch_size):
        super().__init__()
        self.p = patch_size

    def forward(self, img):
        b, c, H, W = img.shape
        p = self.p
        x = img.view(b, c, H // p, p, W // p, p)
        return x.permute(0, 2, 4, 3, 5, 1).reshape(b, (H // p) * (W // p), p * p * c)


class MeanOverTokens(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


def MLPMixer(*, image_size, channels, patch_size, dim, depth, num_classes, expansion_factor=4,
             expansion_factor_token=0.5, dropout=0.):
    assert (image_size % patch_size) == 0, 'image must be divisible by patch size'
    num_patches = (image_size // patch_size) ** 2
    chan_first, chan_last = partial(nn.Conv1d, kernel_size=1), nn.Linear

    return nn.Sequential(
        Patches(patch_size),
        nn.Linear((patch_size ** 2) * channels, dim),
        *[nn.Sequential(
            PreNormResidual(dim, FeedForward(num_patches, expansion_factor, dropout, chan_first)),
            PreNormResidual(dim, FeedForward(dim, expansion_factor_token, dropout, chan_last)),
        ) for _ in range(depth)],
        nn.LayerNorm(dim),
        MeanOverTokens(),
        nn.Linear(dim, num_classes),
    )


def make_pictures(n=32, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.3 * torch.randn(n, 3, size, size, generator=g)
    for i in range(n):
        r, c = torch.randint(0, size // 2 - 3, (2,), generator=g).tolist()
        r += (int(y[i]) // 2) * size // 2
        c += (int(y[i]) % 2) * size // 2
        x[i, :, r:r + 4, c:c + 4] += 1.0
    return x, y


def build():
    torch.manual_seed(0)
    return MLPMixer(image_size=16, channels=3, patch_size=4, dim=32, depth=3, num_classes=4)


def example_inputs():
    return (make_pictures(8)[0],)
