r"""AutoInt for click prediction: field embeddings that interact by multi-head self-attention.

Source: https://github.com/reczoo/FuxiCTR/issues/30
Fault: query, key and value are cut into heads by a plain view to (batch * heads, -1, dim), without
    the transpose of fields and heads, so that one "head" is made of slices of some fields only and
    a field attends to others only by where its pieces lie in memory.
Cause: (view|reshap).*(transpos|permut|head|field|mix|order|memory|scrambl)
    |(transpos|permut|swap).*(missing|forgot|before|without|left out|needed)
    |heads?.*(split|cut|divid).*(wrong|without|mix)
    |(head|field|token|position)s?\b.*(mix|scrambl|interleav|jumbl)
    |(mix|scrambl|interleav|jumbl)\w*.*(head|field|token|position)
Place: query|key|value|MultiHead|attention|layers|W_[qkv]|dot_product|view
"""
import torch
from torch import nn

FEATURES = {"user": 20, "item": 30, "hour": 6, "device": 4, "city": 8, "genre": 5}


class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout_rate=0.):
        super(ScaledDotProductAttention, self).__init__()
        self.dropout = nn.Dropout(dropout_rate) if dropout_rate > 0 else None

    def forward(self, Q, K, V, scale=None):
        scores = torch.matmul(Q, K.transpose(-1, -2))
        if scale:
            scores = scores / scale
        attention = scores.softmax(dim=-1)
        if self.dropout is not None:
            attention = self.dropout(attention)
        return torch.matmul(attention, V), attention


class MultiHeadAttention(nn.Module):
    def __init__(self, input_dim, attention_dim=None, num_heads=1, dropout_rate=0.,
                 use_residual=True, use_scale=False, layer_norm=False):
        super(MultiHeadAttention, self).__init__()
        if attention_dim is None:
            attention_dim = input_dim // num_heads
        self.attention_dim = attention_dim
        self.output_dim = num_heads * attention_dim
        self.num_heads = num_heads
        self.use_residual = use_residual
        self.scale = attention_dim ** 0.5 if use_scale else None
        self.W_q = nn.Linear(input_dim, self.output_dim, bias=False)
        self.W_k = nn.Linear(input_dim, self.output_dim, bias=False)
        self.W_v = nn.Linear(input_dim, self.output_dim, bias=False)
        if self.use_residual and input_dim != self.output_dim:
            self.W_res = nn.Linear(input_dim, self.output_dim, bias=False)
        else:
            self.W_res = None
        self.dot_product_attention = ScaledDotProductAttention(dropout_rate)
        self.layer_norm = nn.LayerNorm(self.output_dim) if layer_norm else None

    def forward(self, query, key, value):
        residual = query
        batch_size = query.size(0)
        num_fields = query.size(1)
        query = self.W_q(query)
        key = self.W_k(key)
        value = self.W_v(value)

        query = query.view(batch_size * self.num_heads, -1, self.attention_dim)  # here
        key = key.view(batch_size * self.num_heads, -1, self.attention_dim)  # here
        value = value.view(batch_size * self.num_heads, -1, self.attention_dim)  # here
        output, attention = self.dot_product_attention(query, key, value, scale=self.scale)
        output = output.view(batch_size, num_fields, self.output_dim)  # here

        if self.W_res is not None:
            residual = self.W_res(residual)
        if self.use_residual:
            output = output + residual
        if self.layer_norm is not None:
            output = self.layer_norm(output)
        return output.relu()


class EmbeddingLayer(nn.Module):
    def __init__(self, feature_map, embedding_dim):
        super().__init__()
        self.embedding_layer = nn.ModuleDict(
            {name: nn.Embedding(size, embedding_dim) for name, size in feature_map.items()}
        )
        for emb in self.embedding_layer.values():
            nn.init.normal_(emb.weight, std=0.1)

    def forward(self, X):
        feats = [emb(X[:, i]) for i, emb in enumerate(self.embedding_layer.values())]
        return torch.stack(feats, dim=1)


class AutoInt(nn.Module):
    def __init__(self, feature_map, embedding_dim=16, attention_layers=2, num_heads=2,
                 attention_dim=8, use_scale=True):
        super(AutoInt, self).__init__()
        self.embedding_layer = EmbeddingLayer(feature_map, embedding_dim)
        self.layers = nn.ModuleList(
            [MultiHeadAttention(embedding_dim if i == 0 else num_heads * attention_dim,
                                attention_dim=attention_dim, num_heads=num_heads,
                                use_scale=use_scale)
             for i in range(attention_layers)]
        )
        self.fc = nn.Linear(len(feature_map) * attention_dim * num_heads, 1)

    def forward(self, X, y):
        emb = self.embedding_layer(X)
        out = emb
        for layer in self.layers:
            out = layer(out, out, out)
        logit = self.fc(torch.flatten(out, start_dim=1)).squeeze(-1)
        return nn.functional.binary_cross_entropy_with_logits(logit, y)


def make_clicks(n=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    X = torch.stack([torch.randint(0, s, (n,), generator=g) for s in FEATURES.values()], dim=1)
    taste = (X[:, 0] * 7 + X[:, 1] * 3) % 5 == X[:, 5]
    late = (X[:, 2] > 3) & (X[:, 3] < 2)
    return X, (taste | late).float()


def build():
    torch.manual_seed(0)
    return AutoInt(FEATURES)


def example_inputs():
    return make_clicks(32)
