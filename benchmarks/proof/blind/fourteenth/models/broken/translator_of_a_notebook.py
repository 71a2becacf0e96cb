r"""The transformer of a notebook on machine learning, an encoder and a decoder written by hand.

Source: https://github.com/ethen8181/machine-learning/issues/13
Fault: the multi-head attention computes the projection of the joined heads into linear_proj and
    then returns the joined heads (output) themselves; the projection is thrown away and its
    layer gets no gradient.
Cause: (linear_proj|proj|fc_out|output layer|\bout\b|\bo\b|final (linear|layer)
    |weight).{0,140}(unused|never|not (used|return|reach)|no grad|without|discard|thrown|ignored
    |none|dead|idle|lost|dropped|no effect)
    |(unused|never|not|no grad|discard|thrown|ignored|dead).{0,80}(linear_proj|proj|out_lin)
    |return.{0,60}(instead|wrong|output|before|without|rather|unprojected)
Place: linear_proj|out_linear|output|MultiHeadAttention|forward
"""

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):

    def __init__(self, hid_dim: int, n_heads: int):
        super().__init__()
        self.hid_dim = hid_dim
        self.n_heads = n_heads
        assert hid_dim % n_heads == 0

        self.query_weight = nn.Linear(hid_dim, hid_dim)
        self.key_weight = nn.Linear(hid_dim, hid_dim)
        self.value_weight = nn.Linear(hid_dim, hid_dim)
        self.linear_weight = nn.Linear(hid_dim, hid_dim)
        self.scale = (hid_dim // n_heads) ** 0.5

    def forward(self, query, key, value, mask=None):
        Q = self.query_weight(query)
        K = self.key_weight(key)
        V = self.value_weight(value)

        batch_size = Q.size(0)
        head_dim = self.hid_dim // self.n_heads
        # batch_size, n_heads, seq_len, head_dim
        Q = Q.view(batch_size, -1, self.n_heads, head_dim).permute(0, 2, 1, 3)
        K = K.view(batch_size, -1, self.n_heads, head_dim).permute(0, 2, 1, 3)
        V = V.view(batch_size, -1, self.n_heads, head_dim).permute(0, 2, 1, 3)

        energy = torch.matmul(Q, K.permute(0, 1, 3, 2)) / self.scale
        if mask is not None:
            energy = energy.masked_fill(mask == 0, -1e10)
        attention = torch.softmax(energy, dim=-1)

        output = torch.matmul(attention, V)
        output = output.permute(0, 2, 1, 3).contiguous()
        output = output.view(batch_size, -1, self.hid_dim)
        linear_proj = self.linear_weight(output)
        return output, attention  # here


class PositionwiseFeedforwardLayer(nn.Module):

    def __init__(self, hid_dim: int, pf_dim: int):
        super().__init__()
        self.fc1 = nn.Linear(hid_dim, pf_dim)
        self.fc2 = nn.Linear(pf_dim, hid_dim)

    def forward(self, tensor):
        return self.fc2(torch.relu(self.fc1(tensor)))


class EncoderLayer(nn.Module):

    def __init__(self, hid_dim, n_heads, pf_dim, dropout):
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(hid_dim)
        self.layer_norm2 = nn.LayerNorm(hid_dim)
        self.attention = MultiHeadAttention(hid_dim, n_heads)
        self.feedforward = PositionwiseFeedforwardLayer(hid_dim, pf_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, src, src_mask):
        _src, _ = self.attention(src, src, src, src_mask)
        src = self.layer_norm1(src + self.dropout(_src))
        src = self.layer_norm2(src + self.dropout(self.feedforward(src)))
        return src


class DecoderLayer(nn.Module):

    def __init__(self, hid_dim, n_heads, pf_dim, dropout):
        super().__init__()
        self.layer_norm1 = nn.LayerNorm(hid_dim)
        self.layer_norm2 = nn.LayerNorm(hid_dim)
        self.layer_norm3 = nn.LayerNorm(hid_dim)
        self.self_attention = MultiHeadAttention(hid_dim, n_heads)
        self.encoder_attention = MultiHeadAttention(hid_dim, n_heads)
        self.feedforward = PositionwiseFeedforwardLayer(hid_dim, pf_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, trg, enc_src, trg_mask, src_mask):
        _trg, _ = self.self_attention(trg, trg, trg, trg_mask)
        trg = self.layer_norm1(trg + self.dropout(_trg))
        _trg, attention = self.encoder_attention(trg, enc_src, enc_src, src_mask)
        trg = self.layer_norm2(trg + self.dropout(_trg))
        trg = self.layer_norm3(trg + self.dropout(self.feedforward(trg)))
        return trg, attention


class Transformer(nn.Module):

    def __init__(self, vocab, hid_dim=48, n_layers=2, n_heads=4, pf_dim=96, dropout=0.1,
                 max_length=40, pad_idx=0):
        super().__init__()
        self.pad_idx = pad_idx
        self.tok_embedding = nn.Embedding(vocab, hid_dim)
        self.pos_embedding = nn.Embedding(max_length, hid_dim)
        self.dropout = nn.Dropout(dropout)
        self.scale = hid_dim ** 0.5
        self.encoder = nn.ModuleList(
            [EncoderLayer(hid_dim, n_heads, pf_dim, dropout) for _ in range(n_layers)])
        self.decoder = nn.ModuleList(
            [DecoderLayer(hid_dim, n_heads, pf_dim, dropout) for _ in range(n_layers)])
        self.fc_out = nn.Linear(hid_dim, vocab)

    def embed(self, tokens):
        pos = torch.arange(0, tokens.shape[1]).unsqueeze(0)
        return self.dropout(self.tok_embedding(tokens) * self.scale + self.pos_embedding(pos))

    def forward(self, src, trg):
        src_mask = (src != self.pad_idx).unsqueeze(1).unsqueeze(2)
        trg_len = trg.shape[1]
        trg_mask = (trg != self.pad_idx).unsqueeze(1).unsqueeze(2)
        trg_mask = trg_mask & torch.tril(torch.ones((trg_len, trg_len))).bool()

        enc_src = self.embed(src)
        for layer in self.encoder:
            enc_src = layer(enc_src, src_mask)
        output = self.embed(trg)
        for layer in self.decoder:
            output, attention = layer(output, enc_src, trg_mask, src_mask)
        return self.fc_out(output)


def build():
    torch.manual_seed(0)
    return Transformer(50)


def example_inputs():
    torch.manual_seed(1)
    src = torch.randint(2, 50, (12, 11))
    src[6:, 8:] = 0
    trg = torch.randint(2, 50, (12, 10))
    trg[:, 0] = 1
    trg[4:, 9:] = 0
    return src, trg
