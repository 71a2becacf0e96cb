r"""TokenLearner in PyTorch: a picture becomes eight tokens, which then go through attention.

Source: https://github.com/rish-16/tokenlearner-pytorch/issues/1
Fault: nn.MultiheadAttention wants (tokens, batch, channels), but the tensor (batch, tokens,
    channels) is brought to that shape by view, which mixes tokens of different pictures, instead of
    by a transpose; so the answer for one picture depends on the others of its batch.
Cause: (view|reshap).*(transpos|permut|batch|sample|picture|image|mix|swap|order)
    |(transpos|permut|swap).*(missing|forgot|instead|view|reshap|needed|should)
    |(batch|sample|picture|image|row)s?\b.*(mix|scrambl|leak|depend|interleav|see each other)
    |(mix|scrambl|leak|interleav)\w*.*(batch|sample|picture|image)
Place: mhsa|fuse|tokens|view|forward|TokenLearner|AttentionBlock|blocks
"""
import torch
import torch.nn as nn


class SpatialAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(2, 1, kernel_size=(1, 1), stride=1),
            nn.BatchNorm2d(1),
        )

    def forward(self, x):
        B, H, W, C = x.shape
        x = x.view(B, H, W, C).permute(0, 3, 1, 2)
        mx = torch.max(x, 1)[0].unsqueeze(1)
        avg = torch.mean(x, 1).unsqueeze(1)
        combined = torch.cat([mx, avg], dim=1)
        fmap = self.conv(combined)
        weight_map = torch.sigmoid(fmap)
        out = (x * weight_map).mean(dim=(-2, -1))
        return out, x * weight_map


class TokenLearner(nn.Module):
    def __init__(self, S) -> None:
        super().__init__()
        self.S = S
        self.tokenizers = nn.ModuleList([SpatialAttention() for _ in range(S)])

    def forward(self, x):
        B, _, _, C = x.shape
        Z = []
        for i in range(self.S):
            Ai, _ = self.tokenizers[i](x)
            Z.append(Ai)
        return torch.stack(Z, dim=1)


class AttentionBlock(nn.Module):
    def __init__(self, channels, num_heads, num_tokens):
        super().__init__()
        self.num_tokens = num_tokens
        self.channels = channels
        self.norm1 = nn.LayerNorm(channels)
        self.mhsa = nn.MultiheadAttention(channels, num_heads)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = nn.Sequential(
            nn.Linear(channels, 2 * channels), nn.GELU(), nn.Linear(2 * channels, channels)
        )

    def forward(self, y):
        B = y.shape[0]
        z = self.norm1(y)
        z = z.view(self.num_tokens, B, self.channels)  # here
        z, _ = self.mhsa(z, z, z)
        z = z.reshape(B, self.num_tokens, self.channels)  # here
        y = y + z
        return y + self.mlp(self.norm2(y))


class TokenLearnerNet(nn.Module):
    def __init__(self, in_channels=3, width=24, num_tokens=8, depth=2, num_heads=4, classes=4):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(in_channels, width, 4, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
        )
        self.tokens = TokenLearner(num_tokens)
        self.blocks = nn.ModuleList(
            [AttentionBlock(width, num_heads, num_tokens) for _ in range(depth)]
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.stem(x)
        x = x.permute(0, 2, 3, 1)
        y = self.tokens(x)
        for block in self.blocks:
            y = block(y)
        y = self.norm(y).mean(dim=1)
        return self.head(y)


def make_pictures(n=16, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.3 * torch.randn(n, 3, size, size, generator=g)
    for i in range(n):
        r, c = torch.randint(0, size - 6, (2,), generator=g).tolist()
        if y[i] == 0:
            x[i, 0, r:r + 6, c:c + 6] += 1.5
        elif y[i] == 1:
            x[i, 1, r:r + 2, c:c + 6] += 1.5
        elif y[i] == 2:
            x[i, 2, r:r + 6, c:c + 2] += 1.5
        else:
            x[i, :, r:r + 3, c:c + 3] -= 1.5
    return x, y


def build():
    torch.manual_seed(0)
    return TokenLearnerNet()


def example_inputs():
    return (make_pictures(8)[0],)
