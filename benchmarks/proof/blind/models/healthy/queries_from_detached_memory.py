"""Selection of the best encoder features as content of the queries.

Source: https://github.com/Peterande/D-FINE/issues/121
Odd: top-k content is detached before the decoder; the memory still trains through cross
    attention.
"""

import torch
from torch import nn


class TwoStageDecoder(nn.Module):
    def __init__(self, dim=16, k=4, classes=5):
        super().__init__()
        self.encoder = nn.Linear(dim, dim)
        self.enc_score = nn.Linear(dim, classes)
        self.decoder = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.dec_score = nn.Linear(dim, classes)
        self.k = k

    def forward(self, feats):
        memory = torch.tanh(self.encoder(feats))
        enc_logits = self.enc_score(memory)
        index = enc_logits.max(-1).values.topk(self.k, dim=1).indices
        content = memory.gather(1, index.unsqueeze(-1).expand(-1, -1, memory.size(-1)))
        content = content.detach()
        out, _ = self.decoder(content, memory, memory)
        return self.dec_score(out + content), enc_logits


def example_inputs():
    return (torch.randn(4, 12, 16),)
