r"""A sentence encoder of a teaching notebook: transformer layers, then a mean over the last states.

Source: https://github.com/jsboige/CoursIA/issues/15045
Fault: The mean over the last hidden states includes the padding positions, so the vector of a
    sentence depends on how much padding its neighbours in the batch bring.
Cause: (pad\w*|attention[ _]mask|mask\w*).{0,140}(mean|pool\w*|averag\w*|length|divid\w*|sum)
    |(mean|pool\w*|averag\w*).{0,140}(pad\w*|mask\w*|length)
    |(depends?|changes?|vari\w*) .{0,40}(longest|padd\w*|neighbou?rs|other sentences)
Place: mean|pool\w*|embed\w*|last_hidden_state|encode
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class Embeddings(nn.Module):
    def __init__(self, vocab_size, dim, max_len, dropout):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, dim, padding_idx=PAD)
        self.position_embeddings = nn.Embedding(max_len, dim)
        self.LayerNorm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids):
        pos = torch.arange(input_ids.size(1), device=input_ids.device).unsqueeze(0)
        x = self.word_embeddings(input_ids) + self.position_embeddings(pos)
        return self.dropout(self.LayerNorm(x))


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads = heads
        self.d = dim // heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.dense = nn.Linear(dim, dim)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.heads, self.d).transpose(1, 2)

    def forward(self, x, attention_mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.d)
        scores = scores.masked_fill(attention_mask[:, None, None, :] == 0, -1e9)
        ctx = self.dropout(scores.softmax(-1)) @ v
        ctx = ctx.transpose(1, 2).reshape(x.size(0), x.size(1), -1)
        return self.dense(ctx)


class Layer(nn.Module):
    def __init__(self, dim, heads, ff, dropout):
        super().__init__()
        self.attention = SelfAttention(dim, heads, dropout)
        self.norm1 = nn.LayerNorm(dim)
        self.intermediate = nn.Linear(dim, ff)
        self.output = nn.Linear(ff, dim)
        self.norm2 = nn.LayerNorm(dim)

    def forward(self, x, attention_mask):
        x = self.norm1(x + self.attention(x, attention_mask))
        return self.norm2(x + self.output(F.gelu(self.intermediate(x))))


class SentenceEncoder(nn.Module):
    def __init__(self, vocab_size=200, dim=48, heads=4, ff=96, layers=2, max_len=64, dropout=0.1):
        super().__init__()
        self.embeddings = Embeddings(vocab_size, dim, max_len, dropout)
        self.layers = nn.ModuleList([Layer(dim, heads, ff, dropout) for _ in range(layers)])

    def encode(self, input_ids, attention_mask):
        o = self.embeddings(input_ids)
        for layer in self.layers:
            o = layer(o, attention_mask)
        last_hidden_state = o
        embedding = last_hidden_state.mean(dim=1)  # here
        return F.normalize(embedding, dim=-1)

    def forward(self, ids_a, mask_a, ids_b, mask_b):
        a = self.encode(ids_a, mask_a)
        b = self.encode(ids_b, mask_b)
        return a @ b.t() / 0.05


def build():
    torch.manual_seed(0)
    return SentenceEncoder()


def example_inputs():
    torch.manual_seed(1)

    def batch(lengths, width):
        ids = torch.randint(1, 200, (len(lengths), width))
        mask = (torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]).long()
        return ids * mask, mask

    a, ma = batch([12, 5, 7, 3], 12)
    b, mb = batch([4, 9, 16, 6], 16)
    return a, ma, b, mb
