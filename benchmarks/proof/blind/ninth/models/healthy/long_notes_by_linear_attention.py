r"""Model of long scores of notes with an attention whose cost grows linearly.

Source: https://github.com/lucidrains/linear-attention-transformer
Odd: The queries go through a softmax over their features and the keys through an exponential,
    and the sums over time replace the softmax over positions.
"""

import torch
from torch import nn


def causal_linear_attention(q, k, v, bucket, eps=1e-3):
    q = q.softmax(dim=-1)
    k = torch.exp(k).type_as(q)
    b, h, n, _d = k.shape
    q, k, v = (x.reshape(b, h, n // bucket, bucket, -1) for x in (q, k, v))
    k_sum = k.sum(-2).cumsum(-2)
    context = torch.einsum("bhund,bhune->bhude", k, v).cumsum(2)
    k_sum = nn.functional.pad(k_sum, (0, 0, 1, -1))
    context = nn.functional.pad(context, (0, 0, 0, 0, 1, -1))
    norm = 1 / (torch.einsum("bhud,bhund->bhun", k_sum, q) + eps)
    out = torch.einsum("bhude,bhund,bhun->bhune", context, q, norm)
    return out.reshape(b, h, n, -1)


def local_attention(q, k, v, bucket):
    b, h, n, d = q.shape
    q, k, v = (x.reshape(b, h, n // bucket, bucket, d) for x in (q, k, v))
    scores = torch.einsum("bhuid,bhujd->bhuij", q, k) * d**-0.5
    later = torch.ones(bucket, bucket, dtype=torch.bool, device=q.device).triu(1)
    weights = scores.masked_fill(later, -torch.finfo(scores.dtype).max).softmax(-1)
    return torch.einsum("bhuij,bhujd->bhuid", weights, v).reshape(b, h, n, d)


class MixedAttention(nn.Module):
    def __init__(self, size, heads, local, bucket):
        super().__init__()
        self.heads, self.local, self.bucket = heads, local, bucket
        self.to_qkv = nn.Linear(size, 3 * size, bias=False)
        self.to_out = nn.Linear(size, size)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.to_qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        near = local_attention(*(t[:, : self.local] for t in (q, k, v)), self.bucket)
        far = causal_linear_attention(*(t[:, self.local :] for t in (q, k, v)), self.bucket)
        return self.to_out(torch.cat([near, far], 1).transpose(1, 2).reshape(b, n, c))


class Notes(nn.Module):
    def __init__(self, notes=90, size=48, heads=4, local=2, bucket=16, layers=2, length=64):
        super().__init__()
        self.notes, self.places = nn.Embedding(notes, size), nn.Embedding(length, size)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            attention = MixedAttention(size, heads, local, bucket)
            mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))
            for part in (attention, mlp):
                self.layers.append(nn.Sequential(nn.LayerNorm(size), part))
        self.norm, self.out = nn.LayerNorm(size), nn.Linear(size, notes)

    def forward(self, score):
        x = self.notes(score) + self.places.weight[: score.size(1)]
        for layer in self.layers:
            x = x + layer(x)
        return self.out(self.norm(x))


def build():
    return Notes()


def example_inputs():
    return (torch.randint(0, 90, (2, 64)),)
