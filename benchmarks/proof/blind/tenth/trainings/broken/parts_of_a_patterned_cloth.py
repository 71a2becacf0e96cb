r"""Pieces of cloth whose parts are marked pixel by pixel, with attention beside a convolution.

Source: https://github.com/leaderj1001/Attention-Augmented-Conv2d/issues/21
Fault: The output of the attention has the pixels before the channels and is reshaped to channels,
    height and width without a permutation, so the values of pixels and channels are mixed up.
Cause: (reshape|view).{0,100}(permut|transpos|scrambl|mix|order|wrong|layout|interleav|channel)
    |(permut|transpos).{0,80}(missing|without|before|forgot|need|lack|omit|instead)|(scrambl|mix
    |jumbl|shuffl|confus).{0,60}(channel|pixel|spatial|position)
Place: attn_out|reshape|permute|AugmentedConv|forward|dv
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(64)
SIZE, DK, DV, HEADS = 8, 16, 16, 4


class AugmentedConv(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.qkv_conv = nn.Conv2d(channels, 2 * DK + DV, 1)
        self.place = nn.Parameter(0.1 * torch.randn(1, channels, SIZE, SIZE))

    def forward(self, x):
        batch, _, height, width = x.shape
        qkv = self.qkv_conv(x + self.place).flatten(2)
        q, k, v = qkv.split([DK, DK, DV], dim=1)
        q, k, v = (u.reshape(batch, HEADS, -1, height * width) for u in (q, k, v))
        weights = F.softmax((q * (DK // HEADS) ** -0.5).transpose(2, 3) @ k, dim=-1)
        attn_out = weights @ v.transpose(2, 3)
        attn_out = attn_out.reshape(batch, HEADS, DV // HEADS, height, width)  # here
        return attn_out.reshape(batch, DV, height, width)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 16, 1)
        self.attention = AugmentedConv(16)
        self.head = nn.Sequential(nn.ReLU(), nn.Conv2d(16, 32, 1), nn.ReLU(), nn.Conv2d(32, 2, 1))

    def forward(self, x):
        return self.head(self.attention(F.relu(self.stem(x))))


def cloth(count):
    colour = torch.randint(0, 2, (count, SIZE, SIZE))
    main = (torch.rand(count) < 0.5).long()
    bright = torch.where(main == 1, 2.0, -2.0)[:, None, None].expand(-1, SIZE, SIZE)
    shade = torch.where(torch.rand(count, SIZE, SIZE) < 0.3, bright, torch.zeros(()))
    part = colour ^ main[:, None, None]
    return torch.stack([colour * 2.0 - 1, shade], 1), part


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
for step in range(150):
    x, part = cloth(48)
    logits = net(x)
    loss = F.cross_entropy(logits, part)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        right = (logits.argmax(1) == part).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} pixels right {right:.3f}")
