r"""A pre-norm language model with rotary position embeddings and gated feed-forward layers.

Source: https://github.com/mlfoundations/open_lm/issues/4
Fault: The rotary embedding takes dim -2 for the sequence, but queries and keys have the shape
    (batch, sequence, heads, head dim) there: the angle depends on the head, not on the position.
Cause: (rotary|rope|rotat\w*|angle|positional? (embedding|encoding)|position\w*).{0,160}(head
    |wrong (dim|axis)|sequence dim|instead of (the )?(sequence|time|position)|transpos|permut|swap
    |not .{0,20}(position|sequence|order))|heads? .{0,80}(rotary|position|angle|sequence)
    |order of (the )?(tokens|inputs|positions|sequence)|(permut|shuffl)\w+ .{0,30}(token|input|key)
Place: RotaryWithCast|RotaryEmbedding|pos_embed|seq_dim\w*|_update_cos_sin_tables
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary_pos_emb(x, cos, sin):
    cos = cos[:, :, :x.shape[-2], :]
    sin = sin[:, :, :x.shape[-2], :]
    return (x * cos) + (rotate_half(x) * sin)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim_model):
        super().__init__()
        inv_freq = 1.0 / (10000 ** (torch.arange(0, dim_model, 2).float() / dim_model))
        self.register_buffer("inv_freq", inv_freq)

    def _update_cos_sin_tables(self, x, seq_dimension=-2):
        seq_len = x.shape[seq_dimension]
        t = torch.arange(seq_len, device=x.device, dtype=self.inv_freq.dtype)
        freqs = torch.einsum("i,j->ij", t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1).to(x.device)
        return emb.cos()[None, None, :, :], emb.sin()[None, None, :, :]

    def forward(self, q, k):
        cos, sin = self._update_cos_sin_tables(k, seq_dimension=-2)
        return apply_rotary_pos_emb(q, cos, sin), apply_rotary_pos_emb(k, cos, sin)


class RotaryWithCast(RotaryEmbedding):
    def forward(self, q, k, v):
        q, k = super().forward(q, k)  # here
        return q.to(v.dtype), k.to(v.dtype), v


class CustomAttn(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.in_proj = nn.Linear(dim, 3 * dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.pos_embed = RotaryWithCast(self.head_dim)

    def forward(self, x, is_causal=True):
        batchsize, seqlen, _ = x.shape
        queries, keys, vals = self.in_proj(x).chunk(3, dim=-1)
        queries = queries.view(batchsize, seqlen, self.n_heads, self.head_dim)
        keys = keys.view(batchsize, seqlen, self.n_heads, self.head_dim)
        vals = vals.view(batchsize, seqlen, self.n_heads, self.head_dim)
        queries, keys, vals = self.pos_embed(queries, keys, vals)

        output = F.scaled_dot_product_attention(
            queries.transpose(1, 2), keys.transpose(1, 2), vals.transpose(1, 2),
            is_causal=is_causal)
        output = output.transpose(1, 2).reshape(batchsize, seqlen, -1)
        return self.out_proj(output)


class Block(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.attention = CustomAttn(dim, n_heads)
        hidden = 4 * ((int(2 * 4 * dim / 3) + 3) // 4)
        self.w12 = nn.Linear(dim, 2 * hidden, bias=False)
        self.w3 = nn.Linear(hidden, dim, bias=False)
        self.attention_norm = nn.LayerNorm(dim)
        self.ffn_norm = nn.LayerNorm(dim)

    def feed_forward(self, x):
        a, b = self.w12(x).chunk(2, dim=-1)
        return self.w3(F.silu(a) * b)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x), is_causal=True)
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self, vocab_size=64, dim=48, n_heads=4, n_layers=2):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList([Block(dim, n_heads) for _ in range(n_layers)])
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)
        nn.init.trunc_normal_(self.tok_embeddings.weight, std=dim ** -0.5)

    def forward(self, input, labels=None):
        x = self.tok_embeddings(input)
        for layer in self.layers:
            x = layer(x)
        output = self.output(self.norm(x))
        if labels is None:
            return output
        return F.cross_entropy(output.flatten(0, 1), labels.flatten())


def build():
    torch.manual_seed(0)
    return Transformer()


def example_inputs():
    torch.manual_seed(1)
    seq = torch.randint(0, 64, (4, 21))
    return seq[:, :-1].contiguous(), seq[:, 1:].contiguous()
