"""Instruction tuning with a loss averaged per document and then over the batch.

Source: https://github.com/pytorch/pytorch/issues/70348
    https://github.com/OpenRLHF/OpenRLHF/pull/583
Fault: a document whose labels are all -100 has an empty mean: the loss that is reported is NaN.
Cause: ignore_index|-100|empty|(all|every|only).*(ignored|masked)|0 ?/ ?0|no (valid|remaining)
Place: loss|labels|cross_entropy
"""

import torch
import torch.nn.functional as F
from torch import nn


class TinyCausalLM(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids, labels):
        hidden, _ = self.rnn(self.embed(input_ids))
        logits = self.lm_head(hidden)
        per_doc = [
            F.cross_entropy(lo, la, ignore_index=-100)  # here
            for lo, la in zip(logits, labels, strict=True)
        ]
        return {"loss": torch.stack(per_doc).mean(), "logits": logits}


def example_inputs():
    return (
        torch.randint(0, 20, (3, 6)),
        torch.tensor([[-100, 3, 4, 5, 2, 1], [-100] * 6, [7, 8, 1, 2, 3, 4]]),
    )
