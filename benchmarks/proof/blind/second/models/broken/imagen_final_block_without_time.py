r"""The end of a diffusion U-Net: blocks that are shifted and scaled by the time.

Source: https://github.com/lucidrains/imagen-pytorch/issues/75
Fault: the last block is built with a time projection but called without the time, so its time_mlp
    never gets a gradient.
Cause: time\w*\b.*\b(missing|not passed|none|omitted|unused|not
    given|never)|time_mlp|(missing|without|forgot)\b.*\btime
Place: final_res_block|time_mlp
"""

import torch
from torch import nn


class ResnetBlock(nn.Module):
    def __init__(self, i, o, time_cond_dim=None):
        super().__init__()
        self.time_mlp = None
        if time_cond_dim is not None:
            self.time_mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_cond_dim, 2 * o))
        self.block1 = nn.Conv2d(i, o, 3, padding=1)
        self.norm = nn.GroupNorm(4, o)
        self.block2 = nn.Conv2d(o, o, 3, padding=1)
        self.res_conv = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, time_emb=None):
        h = self.norm(self.block1(x))
        if self.time_mlp is not None and time_emb is not None:
            scale, shift = self.time_mlp(time_emb)[..., None, None].chunk(2, 1)
            h = h * (scale + 1) + shift
        return self.block2(nn.functional.silu(h)) + self.res_conv(x)


class Unet(nn.Module):
    def __init__(self, dim=16, time_cond_dim=32):
        super().__init__()
        self.to_time = nn.Sequential(nn.Linear(1, time_cond_dim), nn.SiLU())
        self.init_conv = nn.Conv2d(3, dim, 3, padding=1)
        self.down = ResnetBlock(dim, 2 * dim, time_cond_dim)
        self.mid = ResnetBlock(2 * dim, dim, time_cond_dim)
        self.final_res_block = ResnetBlock(2 * dim, dim, time_cond_dim)
        self.final_conv = nn.Conv2d(dim, 3, 1)

    def forward(self, x, time):
        t = self.to_time(time[:, None])
        x = self.init_conv(x)
        skip = x
        x = self.mid(self.down(nn.functional.avg_pool2d(x, 2), t), t)
        x = torch.cat([nn.functional.interpolate(x, scale_factor=2), skip], 1)
        return self.final_conv(self.final_res_block(x))  # here


def build():
    return Unet()


def example_inputs():
    return torch.randn(2, 3, 16, 16), torch.rand(2)
