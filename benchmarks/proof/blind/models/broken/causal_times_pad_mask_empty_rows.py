r"""A decoder layer with a causal mask and a padding mask of the target.

Source: https://github.com/hyunwoongko/transformer/pull/40
    https://github.com/dmlc/dgl/issues/2657
Fault: the pad mask has its axis on the queries, rows of padded queries are all -inf and become
    NaN.
Cause: mask.*(quer|key|row|axis|dim|broadcast|shape)|(every|all|whole|full).*(mask|-?inf\b)
Place: mask|pad
"""

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self, vocab=12, d_model=16, n_head=2, pad_idx=0):
        super().__init__()
        self.pad_idx, self.n_head = pad_idx, n_head
        self.emb = nn.Embedding(vocab, d_model)
        self.w_qkv = nn.Linear(d_model, 3 * d_model)
        self.w_concat = nn.Linear(d_model, d_model)
        self.linear = nn.Linear(d_model, vocab)

    def make_trg_mask(self, trg):
        trg_pad_mask = (trg != self.pad_idx).unsqueeze(1).unsqueeze(3)  # here
        trg_len = trg.shape[1]
        trg_sub_mask = torch.tril(torch.ones(trg_len, trg_len)).bool()
        return trg_pad_mask & trg_sub_mask

    def forward(self, trg):
        mask = self.make_trg_mask(trg)
        x = self.emb(trg)
        b, t, c = x.shape
        q, k, v = (
            z.view(b, t, self.n_head, -1).transpose(1, 2) for z in self.w_qkv(x).chunk(3, dim=-1)
        )
        score = (q @ k.transpose(2, 3)) / (c // self.n_head) ** 0.5
        score = score.masked_fill(~mask, float("-inf")).softmax(-1)
        out = (score @ v).transpose(1, 2).reshape(b, t, c)
        return self.linear(x + self.w_concat(out))


def example_inputs():
    return (torch.tensor([[5, 7, 0, 0], [3, 4, 8, 2], [6, 2, 9, 0]]),)
