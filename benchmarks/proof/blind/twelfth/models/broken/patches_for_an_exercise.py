r"""The vision transformer of a set of coding exercises, with a hand-written patch embedding.

Source: https://github.com/duoan/TorchCode/issues/21
Fault: The image (B, C, H, W) is cut into patches with a bare view(B, num_patches, -1): a row of it
    is a run of whole lines of one channel and no square patch with all channels.
Cause: (view|reshape)\w*.{0,140}(patch|permut|transpos|memory|order|scrambl|mix|square|neighbou?r
    |lines?|rows?|channel|layout|wrong|spatial)|patch\w*.{0,100}(view|reshap|not square|strips?
    |lines|runs? of|consecutive|contiguous|scrambl|mixed)
    |(missing|without|no|lacks|needs) (a |any )?(permut|transpos)
Place: PatchEmbed\w*|view|patches?|x_new
"""

import torch
import torch.nn as nn


class PatchEmbedding(nn.Module):
    def __init__(self, img_size, patch_size, in_channels, embed_dim):
        super().__init__()
        assert img_size % patch_size == 0
        self.img_size = img_size
        self.patch_size = patch_size
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Linear(in_channels * patch_size * patch_size, embed_dim)

    def forward(self, x):
        B, C, H, W = x.shape
        x_new = x.view(B, self.num_patches, -1)  # here
        patch_embedding = self.proj(x_new)
        return patch_embedding


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)

    def forward(self, x):
        B, N, D = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q @ k.transpose(-2, -1)) / self.head_dim ** 0.5
        attn = attn.softmax(dim=-1)
        out = (attn @ v).transpose(1, 2).reshape(B, N, D)
        return self.out(out)


class ViTBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, mlp_ratio=2):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.attn = MultiHeadSelfAttention(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(
            nn.Linear(embed_dim, embed_dim * mlp_ratio),
            nn.GELU(),
            nn.Linear(embed_dim * mlp_ratio, embed_dim),
        )

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return x


class ViT(nn.Module):
    def __init__(self, img_size=16, patch_size=4, in_channels=3, embed_dim=48, depth=2,
                 num_heads=4, num_classes=10):
        super().__init__()
        self.patch_embed = PatchEmbedding(img_size, patch_size, in_channels, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(
            torch.randn(1, self.patch_embed.num_patches + 1, embed_dim) * 0.02)
        self.blocks = nn.ModuleList([ViTBlock(embed_dim, num_heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(embed_dim)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        x = self.patch_embed(x)
        cls = self.cls_token.expand(x.size(0), -1, -1)
        x = torch.cat([cls, x], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def build():
    torch.manual_seed(0)
    return ViT()


def example_inputs():
    torch.manual_seed(1)
    return (torch.rand(8, 3, 16, 16),)
