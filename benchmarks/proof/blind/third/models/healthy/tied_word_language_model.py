r"""Causal language model with one matrix for word vectors and output scores.

Source: https://github.com/huggingface/transformers/issues/11903
Odd: The output layer has the very weight of the embedding; sharing is intended.
"""

import torch
from torch import nn


class TiedLM(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(40, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.1, batch_first=True, norm_first=True)
        self.h = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.ln_f = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        nn.init.normal_(self.wte.weight, std=0.02)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens):
        n = tokens.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        x = self.wte(tokens) + self.wpe(torch.arange(n))
        return self.lm_head(self.ln_f(self.h(x, mask=mask, is_causal=True)))


def build():
    return TiedLM()


def example_inputs():
    return torch.randint(0, 60, (3, 12))
