r"""Two blocks of a Swin transformer on a small map: windows, then shifted windows with a mask.

Source: https://github.com/microsoft/Swin-Transformer/issues/94
Healthy: the queries are scaled before the product, by head_dim ** -0.5; the mask of the shifted
    windows has -100 and not minus infinity; the table of relative positions is a parameter that is
    read by an index which is a buffer. The roll is undone after the attention.
"""
import torch
import torch.nn as nn


def window_partition(x, window_size):
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size, window_size, C)


def window_reverse(windows, window_size, H, W):
    B = int(windows.shape[0] / (H * W / window_size / window_size))
    x = windows.view(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


class WindowAttention(nn.Module):
    def __init__(self, dim, window_size, num_heads, qkv_bias=True, qk_scale=None):
        super().__init__()
        self.num_heads = num_heads
        head_dim = dim // num_heads
        self.scale = qk_scale or head_dim ** -0.5
        ws = window_size
        self.relative_position_bias_table = nn.Parameter(
            torch.zeros((2 * ws - 1) * (2 * ws - 1), num_heads))
        coords = torch.stack(torch.meshgrid(torch.arange(ws), torch.arange(ws), indexing='ij'))
        coords = coords.flatten(1)
        rel = (coords[:, :, None] - coords[:, None, :]).permute(1, 2, 0) + ws - 1
        self.register_buffer('relative_position_index', rel[..., 0] * (2 * ws - 1) + rel[..., 1])
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=.02)

    def forward(self, x, mask=None):
        B_, N, C = x.shape
        qkv = self.qkv(x).reshape(B_, N, 3, self.num_heads, C // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        attn = attn + bias.view(N, N, -1).permute(2, 0, 1).unsqueeze(0)
        if mask is not None:
            nW = mask.shape[0]
            attn = attn.view(B_ // nW, nW, self.num_heads, N, N) + mask.unsqueeze(1).unsqueeze(0)
            attn = attn.view(-1, self.num_heads, N, N)
        x = (attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(B_, N, C)
        return self.proj(x)


class SwinTransformerBlock(nn.Module):
    def __init__(self, dim, size, num_heads, window_size=4, shift_size=0, mlp_ratio=2):
        super().__init__()
        self.size, self.window_size, self.shift_size = size, window_size, shift_size
        self.norm1 = nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, window_size, num_heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(
            nn.Linear(dim, mlp_ratio * dim), nn.GELU(), nn.Linear(mlp_ratio * dim, dim))
        attn_mask = None
        if shift_size > 0:
            img_mask = torch.zeros((1, size, size, 1))
            parts = (slice(0, -window_size), slice(-window_size, -shift_size),
                     slice(-shift_size, None))
            cnt = 0
            for h in parts:
                for w in parts:
                    img_mask[:, h, w, :] = cnt
                    cnt += 1
            mask = window_partition(img_mask, window_size).view(-1, window_size * window_size)
            attn_mask = mask.unsqueeze(1) - mask.unsqueeze(2)
            attn_mask = attn_mask.masked_fill(attn_mask != 0, float(-100.0))
        self.register_buffer('attn_mask', attn_mask)

    def forward(self, x):
        H = W = self.size
        B, L, C = x.shape
        shortcut = x
        x = self.norm1(x).view(B, H, W, C)
        if self.shift_size > 0:
            x = torch.roll(x, shifts=(-self.shift_size, -self.shift_size), dims=(1, 2))
        x_windows = window_partition(x, self.window_size)
        x_windows = x_windows.view(-1, self.window_size * self.window_size, C)
        attn_windows = self.attn(x_windows, mask=self.attn_mask)
        attn_windows = attn_windows.view(-1, self.window_size, self.window_size, C)
        x = window_reverse(attn_windows, self.window_size, H, W)
        if self.shift_size > 0:
            x = torch.roll(x, shifts=(self.shift_size, self.shift_size), dims=(1, 2))
        x = shortcut + x.view(B, H * W, C)
        return x + self.mlp(self.norm2(x))


class SwinTiny(nn.Module):
    def __init__(self, img_size=16, patch=2, dim=32, num_heads=4, classes=3):
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, patch, stride=patch)
        self.patch_norm = nn.LayerNorm(dim)
        size = img_size // patch
        self.blocks = nn.Sequential(*[
            SwinTransformerBlock(dim, size, num_heads, shift_size=0 if i % 2 == 0 else 2)
            for i in range(2)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_norm(self.patch_embed(x).flatten(2).transpose(1, 2))
        x = self.norm(self.blocks(x))
        return self.head(x.transpose(1, 2).mean(-1))


def make_strokes(n=32, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=g)
    x = 0.3 * torch.randn(n, 1, size, size, generator=g)
    for i in range(n):
        r, c = torch.randint(0, size - 8, (2,), generator=g).tolist()
        for t in range(8):
            rr, cc = [(r, c + t), (r + t, c), (r + t, c + t)][int(y[i])]
            x[i, 0, rr, cc] += 1.5
    return x, y


def build():
    torch.manual_seed(0)
    return SwinTiny()


def example_inputs():
    return (make_strokes(8)[0],)
