r"""A vision transformer, that reads a small digit as sixteen pieces behind a class token.

Source: https://github.com/UdbhavPrasad072300/Transformer-Implementations/issues/5
Fault: the picture is reshaped into 16 rows of numbers without any exchange of axes; a token is
    then a run of consecutive pixels in the order of memory (strips over the whole width), and
    not a square patch of the picture.
Cause: (reshape|view|flatten).{0,120}(patch|without|permut|transpos|mix|order|memory|scrambl|not
    |square|spatial|row|strip|instead|contiguous)
    |(patch|token|piece).{0,100}(not (a )?square|strip|run of|consecutive|scanline|rows?|scrambl
    |not (the )?(real|local|spatial)|raster|memory|not patches|order)
    |(missing|no|without|lack).{0,20}(permut|transpos|unfold)
Place: reshape|view|embedding|patch|forward|ViT
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, dropout=0.1):
        super(MultiHeadAttention, self).__init__()

        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.d_k = hidden_size // num_heads

        self.fc_q = nn.Linear(hidden_size, hidden_size)
        self.fc_k = nn.Linear(hidden_size, hidden_size)
        self.fc_v = nn.Linear(hidden_size, hidden_size)
        self.fc_o = nn.Linear(hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        batch_size = query.size(0)

        Q = self.fc_q(query).view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)
        K = self.fc_k(key).view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)
        V = self.fc_v(value).view(batch_size, -1, self.num_heads, self.d_k).transpose(1, 2)

        energy = torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(self.d_k)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, -1e10)

        attention = self.dropout(F.softmax(energy, dim=-1))
        x = torch.matmul(attention, V)
        x = x.transpose(1, 2).contiguous().view(batch_size, -1, self.hidden_size)
        return self.fc_o(x)


class VisionEncoder(nn.Module):
    def __init__(self, embed_size, num_heads, hidden_size, dropout=0.1):
        super(VisionEncoder, self).__init__()

        self.norm1 = nn.LayerNorm(embed_size)
        self.norm2 = nn.LayerNorm(embed_size)

        self.attention = MultiHeadAttention(embed_size, num_heads, dropout)

        self.mlp = nn.Sequential(
            nn.Linear(embed_size, hidden_size),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, embed_size),
            nn.Dropout(dropout)
        )

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y)
        x = x + self.mlp(self.norm2(x))
        return x


class ViT(nn.Module):
    def __init__(self, image_size, channel_size, patch_size, embed_size, num_heads, classes,
                 num_layers, hidden_size, dropout=0.1):
        super(ViT, self).__init__()

        self.p = patch_size
        self.image_size = image_size
        self.embed_size = embed_size
        self.num_patches = (image_size // patch_size) ** 2
        self.patch_size = channel_size * (patch_size ** 2)
        self.num_heads = num_heads
        self.classes = classes
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.dropout1 = nn.Dropout(dropout)

        self.embeddings = nn.Linear(self.patch_size, self.embed_size)
        self.class_token = nn.Parameter(torch.randn(1, 1, self.embed_size))
        self.positional_encoding = nn.Parameter(
            torch.randn(1, self.num_patches + 1, self.embed_size))

        self.encoders = nn.ModuleList([])
        for layer in range(self.num_layers):
            self.encoders.append(VisionEncoder(self.embed_size, self.num_heads,
                                               self.hidden_size, dropout))

        self.norm = nn.LayerNorm(self.embed_size)

        self.classifier = nn.Sequential(
            nn.Linear(self.embed_size, self.classes)
        )

    def forward(self, x):
        b, c, h, w = x.size()

        x = x.reshape(b, int((h / self.p) * (w / self.p)), c * self.p * self.p)  # here
        x = self.embeddings(x)

        b, n, e = x.size()

        class_token = self.class_token.expand(b, 1, e)
        x = torch.cat((x, class_token), dim=1)
        x = self.dropout1(x + self.positional_encoding)

        for encoder in self.encoders:
            x = encoder(x)

        x = x[:, -1, :]

        x = F.log_softmax(self.classifier(self.norm(x)), dim=-1)

        return x


def build():
    torch.manual_seed(0)
    return ViT(image_size=28, channel_size=1, patch_size=7, embed_size=64, num_heads=4,
               classes=10, num_layers=2, hidden_size=96)


def example_inputs():
    torch.manual_seed(1)
    x = 0.1 * torch.randn(16, 1, 28, 28)
    for i in range(16):
        r, c = torch.randint(0, 22, (2,)).tolist()
        x[i, 0, r:r + 6, c:c + 6] += 1.0
    return (x,)
