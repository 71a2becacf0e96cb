r"""A transformer encoder for speech frames with a subsampling convolution and relu feed-forwards.

Source: https://github.com/espnet/espnet/issues/1278
Fault: One EncoderLayer is built and the loop in forward calls it in each of the twelve steps, so
    the twelve layers share one set of weights in place of having their own.
Cause: (same|shared?|sharing|identical)\b.{0,40}(layer|block|weights|parameters|module|encoder)
    |(layer|block|module|encoders?)\b.{0,60}(reused?|shared?|twelve times|12 times|repeated\w*
    |several times|again and again|many times|each step|in a loop|more than once|called \d+)
    |ModuleList|weight[ -](sharing|tying)|(one|single) (set|copy) of (weights|parameters)
Place: encoders|EncoderLayer
"""

import math

import torch
import torch.nn as nn


class MultiHeadedAttention(nn.Module):
    def __init__(self, n_head, n_feat, dropout_rate):
        super(MultiHeadedAttention, self).__init__()
        assert n_feat % n_head == 0
        self.d_k = n_feat // n_head
        self.h = n_head
        self.linear_q = nn.Linear(n_feat, n_feat)
        self.linear_k = nn.Linear(n_feat, n_feat)
        self.linear_v = nn.Linear(n_feat, n_feat)
        self.linear_out = nn.Linear(n_feat, n_feat)
        self.dropout = nn.Dropout(p=dropout_rate)

    def forward(self, query, key, value, mask):
        n_batch = query.size(0)
        q = self.linear_q(query).view(n_batch, -1, self.h, self.d_k).transpose(1, 2)
        k = self.linear_k(key).view(n_batch, -1, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(value).view(n_batch, -1, self.h, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1).eq(0), -1e4)
        attn = torch.softmax(scores, dim=-1)
        x = torch.matmul(self.dropout(attn), v)
        x = x.transpose(1, 2).contiguous().view(n_batch, -1, self.h * self.d_k)
        return self.linear_out(x)


class PositionwiseFeedForward(nn.Module):
    def __init__(self, idim, hidden_units, dropout_rate):
        super(PositionwiseFeedForward, self).__init__()
        self.w_1 = nn.Linear(idim, hidden_units)
        self.w_2 = nn.Linear(hidden_units, idim)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x):
        return self.w_2(self.dropout(torch.relu(self.w_1(x))))


class EncoderLayer(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout_rate):
        super(EncoderLayer, self).__init__()
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.norm1 = nn.LayerNorm(size)
        self.norm2 = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout_rate)

    def forward(self, x, mask):
        residual = x
        x = self.norm1(x)
        x = residual + self.dropout(self.self_attn(x, x, x, mask))
        residual = x
        x = self.norm2(x)
        x = residual + self.dropout(self.feed_forward(x))
        return x, mask


class Encoder(nn.Module):
    def __init__(self, idim, attention_dim=32, attention_heads=4, linear_units=64, num_blocks=12,
                 dropout_rate=0.1, odim=20):
        super(Encoder, self).__init__()
        self.num_blocks = num_blocks
        self.embed = nn.Sequential(
            nn.Conv1d(idim, attention_dim, 3, stride=2, padding=1), nn.ReLU())
        self.pos = nn.Parameter(torch.randn(1, 200, attention_dim) * 0.02)
        self.encoders = EncoderLayer(
            attention_dim,
            MultiHeadedAttention(attention_heads, attention_dim, dropout_rate),
            PositionwiseFeedForward(attention_dim, linear_units, dropout_rate),
            dropout_rate,
        )
        self.after_norm = nn.LayerNorm(attention_dim)
        self.output = nn.Linear(attention_dim, odim)

    def forward(self, xs, masks):
        xs = self.embed(xs.transpose(1, 2)).transpose(1, 2)
        xs = xs + self.pos[:, :xs.size(1)]
        masks = masks[:, :, ::2]
        for i in range(self.num_blocks):
            xs, masks = self.encoders(xs, masks)  # here
        xs = self.after_norm(xs)
        return torch.log_softmax(self.output(xs), dim=-1)


def build():
    torch.manual_seed(0)
    return Encoder(idim=16)


def example_inputs():
    torch.manual_seed(1)
    xs = torch.randn(4, 40, 16)
    masks = torch.ones(4, 1, 40, dtype=torch.bool)
    masks[2, :, 30:] = False
    masks[3, :, 20:] = False
    return xs, masks
