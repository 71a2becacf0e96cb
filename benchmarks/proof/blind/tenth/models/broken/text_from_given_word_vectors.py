r"""Conditional language model that can be started from ready word vectors.

Source: https://github.com/huggingface/transformers/issues/47741
Fault: The word vectors are scaled in place, so the caller's own tensor is changed and a second
    call with it gives another result.
Cause: in.?place|(caller\w*|given|input\w*|argument\w*|passed).{0,100}(chang\w*|modif\w*|overwrit\w*|mutat\w*|written|altered|scaled)
    |(modif\w*|mutat\w*|overwrit\w*|chang\w*|alter\w*|writ\w*|scal\w*).{0,80}(caller|its input|the input|argument|inputs_embeds)
    |(second|next|repeated|another) call.{0,60}(different|other|another|differs)|\*=
Place: inputs_embeds|mul_|\*=|embeds
"""

import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, rate):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, rate, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.dropout1, self.dropout2 = nn.Dropout(rate), nn.Dropout(rate)

    def forward(self, x, mask):
        y = self.norm1(x)
        y = self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        x = x + self.dropout1(y)
        return x + self.dropout2(self.ffn(self.norm2(x)))


class ControlledWriter(nn.Module):
    def __init__(self, vocab=90, width=40, heads=4, layers=2, length=64, rate=0.1):
        super().__init__()
        self.width = width
        self.w = nn.Embedding(vocab, width)
        nn.init.normal_(self.w.weight, std=0.02)
        place = torch.arange(length)[:, None]
        rates = 1 / 10000 ** (torch.arange(0, width, 2)[None] / width)
        codes = torch.cat((torch.sin(place * rates), torch.cos(place * rates)), 1)
        self.register_buffer("pos_encoding", codes)
        self.dropout = nn.Dropout(rate)
        self.h = nn.ModuleList(EncoderLayer(width, heads, 4 * width, rate) for _ in range(layers))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.lm_head = nn.Linear(width, vocab)
        self.lm_head.weight = self.w.weight

    def forward(self, inputs_embeds):
        length = inputs_embeds.shape[1]
        mask = torch.full((length, length), float("-inf"), device=inputs_embeds.device).triu(1)
        inputs_embeds *= self.width**0.5  # here
        x = self.dropout(inputs_embeds + self.pos_encoding[:length])
        for layer in self.h:
            x = layer(x, mask)
        return self.lm_head(self.norm(x))


def build():
    return ControlledWriter()


def example_inputs():
    return (0.02 * torch.randn(4, 10, 40),)
