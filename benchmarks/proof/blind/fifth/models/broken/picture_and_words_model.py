r"""Small model that reads features of a picture and then a padded question, and answers in classes.

Source: https://github.com/jingyaogong/minimind-v/issues/76
Fault: The attention gets no mask, so all tokens also attend to the padding of short questions.
Cause: pad\w*|attention mask|key_padding_mask|attn_mask
Place: \bscaled_dot_product_attention\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)  # here
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Layer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class QuestionModel(nn.Module):
    def __init__(self, vocab=90, dim=32, patches=49, answers=12):
        super().__init__()
        self.vision_proj = nn.Linear(patches, dim)
        self.embed_tokens = nn.Embedding(vocab, dim, padding_idx=0)
        self.position = nn.Parameter(torch.randn(1, 40, dim) * 0.02)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(2))
        self.norm = nn.LayerNorm(dim)
        self.answer = nn.Linear(dim, answers)

    def forward(self, picture, input_ids):
        x = torch.cat([self.vision_proj(picture), self.embed_tokens(input_ids)], dim=1)
        x = x + self.position[:, : x.size(1)]
        for layer in self.layers:
            x = layer(x)
        return self.answer(self.norm(x)[:, 0])


def build():
    return QuestionModel()


def example_inputs():
    ids = torch.randint(1, 90, (6, 14))
    ids = ids.masked_fill(torch.arange(14) >= torch.tensor([14, 6, 3, 9, 12, 4])[:, None], 0)
    return torch.randn(6, 4, 49), ids
