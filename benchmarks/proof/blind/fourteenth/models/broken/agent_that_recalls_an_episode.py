r"""The memory transformer of an agent: the last observation asks the earlier ones of the episode.

Source: https://github.com/MarcoMeter/episodic-transformer-memory-ppo/pull/22
Fault: values, keys and queries are cut into heads first and then go through one small projection
    each, that has the width of a head; all heads share the same weights, and a head sees only
    its slice of the features.
Cause: (share|shared|sharing|same|single|one|common|identical|tied).{0,80}(heads?|project|weight
    |linear|head_size)
    |(heads?).{0,100}(share|shared|same|identical|only (its|a|one)|slice|not mix|before|own)
    |(split|cut|reshape|divid|view).{0,60}(before|first|instead|prior|ahead).{0,40}
    |(project|linear|queries|keys|values).{0,100}(after|behind).{0,20}(split|cut|reshap)
    |(project|linear).{0,60}(head_size|width of (a|one) head|head.?dim|per.?head|too (small|narrow))
Place: values|keys|queries|head_size|reshape|MultiHeadAttention|forward
"""

import numpy as np
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    """Multi Head Attention without dropout inspired by
    https://github.com/aladdinpersson/Machine-Learning-Collection"""

    def __init__(self, embed_dim, num_heads):
        """
        Arguments:
            embed_dim {int} -- Size of the embedding dimension
            num_heads {int} -- Number of attention heads
        """
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_size = embed_dim // num_heads

        assert self.head_size * num_heads == embed_dim, "Embedding dimension needs to be divisible"

        self.values = nn.Linear(self.head_size, self.head_size, bias=False)  # here
        self.keys = nn.Linear(self.head_size, self.head_size, bias=False)  # here
        self.queries = nn.Linear(self.head_size, self.head_size, bias=False)  # here
        self.fc_out = nn.Linear(self.num_heads * self.head_size, embed_dim)

    def forward(self, values, keys, query, mask):
        """
        Arguments:
            values {torch.tensor} -- Value in shape of (N, L, D)
            keys {torch.tensor} -- Keys in shape of (N, L, D)
            query {torch.tensor} -- Query in shape of (N, L, D)
            mask {torch.tensor} -- Attention mask in shape of (N, L)
        """
        # Get number of training examples and sequence lengths
        N = query.shape[0]
        value_len, key_len, query_len = values.shape[1], keys.shape[1], query.shape[1]

        # Split the embedding into self.num_heads different pieces
        values = values.reshape(N, value_len, self.num_heads, self.head_size)
        keys = keys.reshape(N, key_len, self.num_heads, self.head_size)
        query = query.reshape(N, query_len, self.num_heads, self.head_size)

        values = self.values(values)  # (N, value_len, heads, head_dim)
        keys = self.keys(keys)  # (N, key_len, heads, head_dim)
        queries = self.queries(query)  # (N, query_len, heads, heads_dim)

        # Einsum does matrix mult. for query*keys for each training example
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])

        # Mask padded indices so their attention weights become 0
        if mask is not None:
            energy = energy.masked_fill(mask.unsqueeze(1).unsqueeze(1) == 0, float("-1e20"))

        # Normalize energy values and apply softmax to retreive the attention scores
        attention = torch.softmax(energy / (self.embed_dim ** (1 / 2)), dim=3)

        # Scale values by attention weights
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(
            N, query_len, self.num_heads * self.head_size
        )
        return self.fc_out(out), attention


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, layer_norm="pre"):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.layer_norm = layer_norm
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        if layer_norm == "pre":
            self.norm_kv = nn.LayerNorm(embed_dim)
        self.fc = nn.Sequential(nn.Linear(embed_dim, embed_dim), nn.ReLU())

    def forward(self, value, key, query, mask):
        if self.layer_norm == "pre":
            query_ = self.norm1(query)
            value = self.norm_kv(value)
            key = value
        else:
            query_ = query

        attention, attention_weights = self.attention(value, key, query_, mask)
        h = attention + query
        h_ = self.norm2(h)
        forward = self.fc(h_)
        return forward + h, attention_weights


class SinusoidalPosition(nn.Module):
    """Relative positional encoding"""

    def __init__(self, dim, min_timescale=2., max_timescale=1e4):
        super().__init__()
        freqs = torch.arange(0, dim, min_timescale)
        inv_freqs = max_timescale ** (-freqs / dim)
        self.register_buffer("inv_freqs", inv_freqs)

    def forward(self, seq_len):
        seq = torch.arange(seq_len - 1, -1, -1.)
        sinusoidal_inp = seq.view(-1, 1) * self.inv_freqs.view(1, -1)
        return torch.cat((sinusoidal_inp.sin(), sinusoidal_inp.cos()), dim=-1)


class ActorCriticModel(nn.Module):
    def __init__(self, obs_size=10, embed_dim=48, num_blocks=2, num_heads=4, n_actions=3):
        super().__init__()
        self.lin_hidden = nn.Linear(obs_size, embed_dim)
        nn.init.orthogonal_(self.lin_hidden.weight, np.sqrt(2))
        self.activation = nn.ReLU()
        self.linear_embedding = nn.Linear(embed_dim, embed_dim)
        self.pos_embedding = SinusoidalPosition(dim=embed_dim)
        self.transformer_blocks = nn.ModuleList([
            TransformerBlock(embed_dim, num_heads) for _ in range(num_blocks)])
        self.policy = nn.Linear(embed_dim, n_actions)
        nn.init.orthogonal_(self.policy.weight, np.sqrt(0.01))
        self.value = nn.Linear(embed_dim, 1)

    def forward(self, obs, memory, memory_mask):
        h = self.activation(self.lin_hidden(obs))
        h = self.activation(self.linear_embedding(h))
        memories = self.activation(self.lin_hidden(memory))
        memories = memories + self.pos_embedding(memories.size(1))
        for block in self.transformer_blocks:
            h, attention_weights = block(memories, memories, h.unsqueeze(1), memory_mask)
            h = h.squeeze(1)
        return torch.cat([self.policy(h), self.value(h)], dim=1)


def build():
    torch.manual_seed(0)
    return ActorCriticModel()


def example_inputs():
    torch.manual_seed(1)
    lengths = torch.randint(3, 17, (20,))
    mask = (torch.arange(16) >= 16 - lengths[:, None]).float()
    return torch.randn(20, 10), torch.randn(20, 16, 10), mask
