r"""Language model with fused attention that writes long texts.

Source: https://github.com/NVIDIA/Megatron-LM/pull/411
Fault: The first call in evaluation mode sets the dropout rate of the attention to zero on the
    module itself, and it stays zero when training goes on.
Cause: (dropout\w*|rate|dropout_p).{0,140}(stays?|remain\w*|for ?ever|permanent\w*|overwrit\w*|never (restored|set back|reset)|lost|persist\w*|to zero|0\.0|after (the )?(eval|valid))
    |(eval\w*|validation).{0,140}(overwrit\w*|set\w*|change\w*|zero\w*|permanent\w*|mutat\w*|for ?ever|dropout)|(mutat\w*|overwrit\w*).{0,60}(state|attribute|self)
Place: dropout_p|FusedAttention|core_attention|attention_dropout
"""

import torch
from torch import nn
from torch.nn import functional as F


class FusedAttention(nn.Module):
    def __init__(self, causal=True, attention_dropout=0.1):
        super().__init__()
        self.causal = causal
        self.dropout_p = attention_dropout

    def forward(self, q, k, v):
        if not self.training:
            self.dropout_p = 0.0  # here
        return F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout_p, is_causal=self.causal
        )


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.core_attention = FusedAttention(attention_dropout=dropout)
        self.dense = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        n, length, width = x.shape
        mixed = self.query_key_value(self.norm1(x)).view(n, length, 3, self.heads, -1)
        q, k, v = mixed.permute(2, 0, 3, 1, 4)
        context = self.core_attention(q, k, v).transpose(1, 2).reshape(n, length, width)
        x = x + self.dropout(self.dense(context))
        return x + self.dropout(self.mlp(self.norm2(x)))


class TextWriter(nn.Module):
    def __init__(self, vocab=80, width=48, heads=4, layers=3, length=32, dropout=0.1):
        super().__init__()
        self.words, self.places = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.words(tokens) + self.places(places))
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.words.weight)


def build():
    return TextWriter()


def example_inputs():
    return (torch.randint(0, 80, (4, 24)),)
