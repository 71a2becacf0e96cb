r"""A transformer encoder from scratch that says for each token how often it occurs.

Source: https://github.com/jsbaan/transformer-from-scratch/pull/6
Fault: after the attention the values have the shape (batch, heads, length, dim) and are reshaped
    to (batch, length, heads * dim) without swapping heads and length first, so that the output of
    one token is put together from pieces of other tokens.
Cause: (reshap|view|flatten).*(permut|transpos|head|token|position|order|mix|scrambl)
    |(permut|transpos|swap).*(missing|forgot|before|without|left out)
    |(head|token|position|time)s?\b.*(mix|scrambl|interleav|jumbl|shuffl)
    |(mix|scrambl|interleav|jumbl|shuffl)\w*.*(head|token|position|time)
Place: multi_?head|attention|values|o_proj|MultiHeadAttention|mha|qkv|encoder_blocks|reshape
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

VOCAB_SIZE = 6
HIDDEN_DIM = 32
FF_DIM = 64
NUM_HEADS = 4
NUM_LAYERS = 2
MAX_LEN = 9


class SinusoidEncoding(nn.Module):
    def __init__(self, hidden_dim, max_len=5000):
        super().__init__()
        pos_embed = torch.zeros(max_len, hidden_dim)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(
            torch.arange(0, hidden_dim, 2).float() * (-math.log(10000.0) / hidden_dim)
        )
        pos_embed[:, 0::2] = torch.sin(position * div_term)
        pos_embed[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pos_embed", pos_embed.unsqueeze(0), persistent=False)

    def forward(self, x):
        return x + self.pos_embed[:, : x.size(1)]


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden_dim=256, num_heads=4):
        super().__init__()
        assert hidden_dim % num_heads == 0
        self.qkv_dim = hidden_dim // num_heads
        self.num_heads = num_heads
        self.qkv_proj = nn.Linear(hidden_dim, 3 * num_heads * self.qkv_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * self.qkv_dim, hidden_dim, bias=False)
        self._reset_parameters()

    def _reset_parameters(self):
        nn.init.xavier_uniform_(self.qkv_proj.weight)
        nn.init.xavier_uniform_(self.o_proj.weight)

    def forward(self, x, src_padding_mask=None):
        batch_size, sequence_length, hidden_dim = x.size()
        qkv = self.qkv_proj(x)
        qkv = qkv.reshape(batch_size, sequence_length, self.num_heads, 3 * self.qkv_dim)
        qkv = qkv.permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        values, attn = self.scaled_dot_product(q, k, v, src_padding_mask)
        values = values.reshape(batch_size, sequence_length, hidden_dim)  # here
        return self.o_proj(values)

    def scaled_dot_product(self, q, k, v, src_padding_mask=None):
        attn_logits = torch.matmul(q, torch.transpose(k, -2, -1)) / math.sqrt(q.size(-1))
        if src_padding_mask is not None:
            attn_logits = attn_logits.masked_fill(
                src_padding_mask[:, None, None, :] == 0, float("-inf")
            )
        attention = F.softmax(attn_logits, dim=-1)
        return torch.matmul(attention, v), attention


class EncoderBlock(nn.Module):
    def __init__(self, hidden_dim, ff_dim, num_heads, dropout_p):
        super().__init__()
        self.self_mha = MultiHeadAttention(hidden_dim, num_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, hidden_dim)
        )
        self.dropout1 = nn.Dropout(p=dropout_p)
        self.dropout2 = nn.Dropout(p=dropout_p)
        self.layer_norm1 = nn.LayerNorm(hidden_dim)
        self.layer_norm2 = nn.LayerNorm(hidden_dim)

    def forward(self, x, src_padding_mask=None):
        output = self.dropout1(self.self_mha(x, src_padding_mask=src_padding_mask))
        x = self.layer_norm1(x + output)
        output = self.dropout2(self.feed_forward(x))
        return self.layer_norm2(x + output)


class TransformerEncoder(nn.Module):
    def __init__(self, vocab_size, hidden_dim, ff_dim, num_heads, num_layers, dropout_p=0.0):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.embed = nn.Embedding(vocab_size, hidden_dim)
        self.positional_encoding = SinusoidEncoding(hidden_dim, max_len=64)
        self.encoder_blocks = nn.ModuleList(
            [EncoderBlock(hidden_dim, ff_dim, num_heads, dropout_p) for _ in range(num_layers)]
        )
        self.output_layer = nn.Linear(hidden_dim, MAX_LEN + 1)

    def forward(self, input_ids):
        x = self.embed(input_ids) * math.sqrt(self.hidden_dim)
        x = self.positional_encoding(x)
        for block in self.encoder_blocks:
            x = block(x)
        return self.output_layer(x)


def make_batch(n=16, seed=0):
    gen = torch.Generator().manual_seed(seed)
    src = torch.randint(0, VOCAB_SIZE, (n, MAX_LEN), generator=gen)
    return src, (src[:, :, None] == src[:, None]).sum(dim=-1)


def build():
    torch.manual_seed(0)
    return TransformerEncoder(VOCAB_SIZE, HIDDEN_DIM, FF_DIM, NUM_HEADS, NUM_LAYERS)


def example_inputs():
    src, _ = make_batch(8)
    return (src,)
