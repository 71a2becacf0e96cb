r"""A tagger of names with transformer layers whose order of steps is given by short strings.

Source: https://github.com/LeeSureman/Flat-Lattice-Transformer/issues/34
Fault: the layer that does "add, dropout, norm" sees one tensor only, so that "add" adds the output
    of the sublayer to itself; there is no residual connection anywhere.
Cause: residual|shortcut|skip|(add|plus|\+).*(itself|twice|same|double|input)
    |(itself|twice|doubl).*(add|output|input)|\badd\b.*(not|wrong|never).*(input|residual|sublayer)
Place: Layer_Process|layer_(pre|post)?process|output|\badd\b|inp|process
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 40
LABELS = 3


class Layer_Process(nn.Module):
    def __init__(self, process_sequence, hidden_size, dropout=0.0):
        super().__init__()
        self.process_sequence = process_sequence.lower()
        self.hidden_size = hidden_size
        if 'd' in self.process_sequence:
            self.dropout = nn.Dropout(dropout)
        if 'n' in self.process_sequence:
            self.layer_norm = nn.LayerNorm(self.hidden_size)

    def forward(self, inp):
        output = inp
        for op in self.process_sequence:
            if op == 'a':
                output = output + inp  # here
            elif op == 'd':
                output = self.dropout(output)
            elif op == 'n':
                output = self.layer_norm(output)
        return output


class Positionwise_FeedForward(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.w = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.activate = nn.ReLU()

    def forward(self, inp):
        output = inp
        for i, layer in enumerate(self.w):
            if i > 0:
                output = self.activate(output)
            output = layer(output)
        return output


class MultiHead_Attention_rel(nn.Module):
    def __init__(self, hidden_size, num_heads, max_seq_len=64):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_heads = num_heads
        self.per_head_size = hidden_size // num_heads
        self.max_seq_len = max_seq_len
        self.w_k = nn.Linear(hidden_size, hidden_size)
        self.w_q = nn.Linear(hidden_size, hidden_size)
        self.w_v = nn.Linear(hidden_size, hidden_size)
        self.rel_bias = nn.Embedding(2 * max_seq_len + 1, num_heads)
        nn.init.zeros_(self.rel_bias.weight)

    def forward(self, x, seq_mask):
        batch, seq_len, _ = x.shape
        q, k, v = [w(x).view(batch, seq_len, self.num_heads, -1).transpose(1, 2)
                   for w in (self.w_q, self.w_k, self.w_v)]
        pos = torch.arange(seq_len)
        rel = pos[None, :] - pos[:, None] + self.max_seq_len
        score = q @ k.transpose(-1, -2) / math.sqrt(self.per_head_size)
        score = score + self.rel_bias(rel).permute(2, 0, 1).unsqueeze(0)
        score = score.masked_fill(~seq_mask[:, None, None, :], -1e15)
        out = F.softmax(score, dim=-1) @ v
        return out.transpose(1, 2).reshape(batch, seq_len, self.hidden_size)


class Transformer_Encoder_Layer(nn.Module):
    def __init__(self, hidden_size, num_heads, ff_size, pre='', post='an', dropout=0.0):
        super().__init__()
        self.layer_preprocess = Layer_Process(pre, hidden_size, dropout)
        self.attn = MultiHead_Attention_rel(hidden_size, num_heads)
        self.attn_out = nn.Linear(hidden_size, hidden_size)
        self.layer_postprocess = Layer_Process(post, hidden_size, dropout)
        self.ff_preprocess = Layer_Process(pre, hidden_size, dropout)
        self.ff = Positionwise_FeedForward([hidden_size, ff_size, hidden_size])
        self.ff_postprocess = Layer_Process(post, hidden_size, dropout)

    def forward(self, inp, seq_mask):
        output = self.layer_preprocess(inp)
        output = self.attn_out(self.attn(output, seq_mask))
        output = self.layer_postprocess(output)
        output = self.ff_preprocess(output)
        output = self.ff(output)
        output = self.ff_postprocess(output)
        return output


class Lattice_Transformer_SeqLabel(nn.Module):
    def __init__(self, vocab=VOCAB, hidden_size=32, num_heads=4, num_layers=4, labels=LABELS):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden_size, padding_idx=0)
        self.encoder = nn.ModuleList(
            [Transformer_Encoder_Layer(hidden_size, num_heads, 64) for _ in range(num_layers)])
        self.output = nn.Linear(hidden_size, labels)
        self.loss_func = nn.CrossEntropyLoss(ignore_index=-100)

    def scores(self, lattice):
        seq_mask = lattice > 0
        h = self.embed(lattice)
        for layer in self.encoder:
            h = layer(h, seq_mask)
        return self.output(h)

    def forward(self, lattice, target):
        pred = self.scores(lattice)
        return self.loss_func(pred.transpose(1, 2), target)


def make_sentences(n=16, length=14, seed=0):
    g = torch.Generator().manual_seed(seed)
    words = torch.randint(6, VOCAB, (n, length), generator=g)
    lens = torch.randint(8, length + 1, (n,), generator=g)
    target = torch.zeros(n, length, dtype=torch.long)
    for i in range(n):
        for t in range(0, int(lens[i]) - 3, 4):
            title = int(torch.randint(1, 6, (1,), generator=g))
            words[i, t] = title
            target[i, t + 1:t + 3] = 1 if title < 4 else 2
        words[i, lens[i]:] = 0
        target[i, lens[i]:] = -100
    return words, target


def build():
    torch.manual_seed(0)
    return Lattice_Transformer_SeqLabel()


def example_inputs():
    return make_sentences(8)
