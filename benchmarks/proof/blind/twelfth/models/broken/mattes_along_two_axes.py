r"""An image matting net with blocks that attend along stripes of rows and of columns.

Source: https://github.com/aipixel/AEMatter/issues/3
Fault: The stripes are arranged as (batch * stripes, pixels, channels) but nn.MultiheadAttention is
    left at batch_first=False, so it attends over the stripes of all pictures of the batch and not
    over the pixels of a stripe.
Cause: batch[ _]first|(attend|attention|sequence)\w*.{0,140}(batch|samples|pictures|images|stripes
    |windows|rows of the batch|first dim|wrong (dim|axis))
    |(samples|images|pictures|batch)\b.{0,100}(mix|leak|attend|each other|depend|sequence)
    |depend\w* .{0,40}(other|another|rest of the) (samples?|examples?|images?|pictures?|rows?|batch)
    |mix\w* .{0,40}(samples|examples|images|rows|batch)
    |(one|a|each) (sample|example|row)\b.{0,60}(other|leak)
Place: MultiheadAttention|self_attn\w*|AEALblock|MHA|attn\w*
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class AEALblock(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=64, dropout=0.0, width=2):
        super(AEALblock, self).__init__()
        self.width = width
        self.self_attn1 = nn.MultiheadAttention(d_model // 2, nhead // 2, dropout=dropout)  # here
        self.self_attn2 = nn.MultiheadAttention(d_model // 2, nhead // 2, dropout=dropout)  # here
        self.linear1 = nn.Conv2d(d_model, dim_feedforward, 1)
        self.linear2 = nn.Conv2d(dim_feedforward, d_model, 1)
        self.norm1 = nn.GroupNorm(4, d_model)
        self.norm2 = nn.GroupNorm(4, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, src):
        b, c, h, w = src.shape
        h1, w1 = h // self.width, w // self.width

        # horizontal stripes: b c (h1 h2) w -> (b h1) (h2 w) c
        x1 = src[:, 0:c // 2]
        x1_ = x1.reshape(b, c // 2, h1, self.width, w).permute(0, 2, 3, 4, 1)
        x1_ = x1_.reshape(b * h1, self.width * w, c // 2)

        # vertical stripes: b c h (w1 w2) -> (b w1) (h w2) c
        x2 = src[:, c // 2:]
        x2_ = x2.reshape(b, c // 2, h, w1, self.width).permute(0, 3, 2, 4, 1)
        x2_ = x2_.reshape(b * w1, h * self.width, c // 2)

        x1_ = self.self_attn1(x1_, x1_, x1_)[0]
        x2_ = self.self_attn2(x2_, x2_, x2_)[0]

        x1_ = x1_.reshape(b, h1, self.width, w, c // 2).permute(0, 4, 1, 2, 3)
        x1_ = x1_.reshape(b, c // 2, h, w)
        x2_ = x2_.reshape(b, w1, h, self.width, c // 2).permute(0, 4, 2, 1, 3)
        x2_ = x2_.reshape(b, c // 2, h, w)

        src2 = torch.cat([x1_, x2_], 1)
        src = self.norm1(src + self.dropout(src2))
        src2 = self.linear2(F.gelu(self.linear1(src)))
        return self.norm2(src + self.dropout(src2))


class AEMatter(nn.Module):
    def __init__(self, dim=32):
        super(AEMatter, self).__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(6, dim, 3, stride=2, padding=1), nn.GroupNorm(4, dim), nn.LeakyReLU(0.1),
            nn.Conv2d(dim, dim, 3, stride=2, padding=1), nn.GroupNorm(4, dim), nn.LeakyReLU(0.1))
        self.blocks = nn.Sequential(AEALblock(dim, 4), AEALblock(dim, 4))
        self.up1 = nn.Sequential(nn.Conv2d(dim, dim, 3, padding=1), nn.LeakyReLU(0.1))
        self.up2 = nn.Sequential(nn.Conv2d(dim + 6, dim // 2, 3, padding=1), nn.LeakyReLU(0.1))
        self.convo = nn.Conv2d(dim // 2, 1, 3, padding=1)

    def forward(self, image, trimap):
        x = torch.cat([image, trimap], 1)
        y = self.stem(x)
        y = self.blocks(y)
        y = self.up1(F.interpolate(y, scale_factor=2, mode='bilinear', align_corners=False))
        y = F.interpolate(y, scale_factor=2, mode='bilinear', align_corners=False)
        y = self.up2(torch.cat([y, x], 1))
        alpha = (torch.tanh(self.convo(y)) + 1) / 2
        known_fg, known_bg = trimap[:, 2:3], trimap[:, 0:1]
        return alpha * (1 - known_fg) * (1 - known_bg) + known_fg


def build():
    torch.manual_seed(0)
    return AEMatter()


def example_inputs():
    torch.manual_seed(1)
    image = torch.rand(3, 3, 32, 32)
    t = torch.ones(3, 32, 32, dtype=torch.long)
    t[:, 10:20, 10:20] = 2
    t[:, :4] = 0
    return image, F.one_hot(t, 3).permute(0, 3, 1, 2).float()
