r"""Names in a text, marked by a score for each pair of first and last word.

Source: https://github.com/xiangking/ark-nlp/issues/47
Fault: The cosines and sines are tiled as two copies after one another while the vectors are
    rotated in neighbouring pairs, so the two parts of a pair turn by different angles.
Cause: repeat.{0,100}(interleave|tile\w*|halves|twice|instead|wrong|order)|interleav\w*
    |(cos\w*|sin\w*|angle\w*|frequenc\w*|rotary|rope|rotat\w*).{0,140}(mismatch\w*|different (angle|frequenc)\w*|wrong|pair\w*|halves|order|tile\w*|align\w*|layout\w*)
    |(relative|distance).{0,60}(lost|broken|not)
Place: cos_pos|sin_pos|repeat\w*|\bqw2\b|\bkw2\b|rope|rotary|pointer|half_turn
"""

import torch
from torch import nn


def sinusoidal(length, dim, device):
    place = torch.arange(length, dtype=torch.float, device=device)
    index = torch.arange(dim // 2, dtype=torch.float, device=device)
    angle = place[:, None] * torch.pow(10000, -2 * index / dim)[None]
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[None]


def half_turn(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)


class GlobalPointer(nn.Module):
    def __init__(self, heads, head_size, hidden_size):
        super().__init__()
        self.heads, self.head_size = heads, head_size
        self.dense = nn.Linear(hidden_size, heads * head_size * 2)

    def forward(self, inputs, mask):
        n, length, _ = inputs.shape
        outputs = self.dense(inputs).view(n, length, self.heads, 2 * self.head_size)
        qw, kw = outputs[..., : self.head_size], outputs[..., self.head_size :]
        pos = sinusoidal(length, self.head_size, inputs.device)
        cos_pos = pos[..., None, 1::2].repeat(1, 1, 1, 2)  # here
        sin_pos = pos[..., None, ::2].repeat(1, 1, 1, 2)  # here
        qw = qw * cos_pos + half_turn(qw) * sin_pos
        kw = kw * cos_pos + half_turn(kw) * sin_pos
        logits = torch.einsum("bmhd,bnhd->bhmn", qw, kw) / self.head_size**0.5
        pad = mask[:, None, None, :] * mask[:, None, :, None]
        logits = logits * pad - (1 - pad) * 1e12
        below = torch.tril(torch.ones_like(logits), diagonal=-1)
        return logits - below * 1e12


class NameMarker(nn.Module):
    def __init__(self, vocab=120, width=32, heads=3, head_size=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.1)
        self.pointer = GlobalPointer(heads, head_size, width)

    def forward(self, tokens):
        hidden = self.dropout(self.lstm(self.embed(tokens))[0])
        return self.pointer(hidden, (tokens != 0).float())


def build():
    return NameMarker()


def example_inputs():
    tokens = torch.randint(1, 120, (3, 12))
    tokens[2, 8:] = 0
    return (tokens,)
