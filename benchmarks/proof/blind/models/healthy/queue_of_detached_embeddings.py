"""Prototypes and a queue of embeddings of former batches.

Source: https://github.com/facebookresearch/swav/issues/48
Odd: the embeddings are detached for the queue only; the loss uses the attached ones.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SwavLite(nn.Module):
    def __init__(self, dim=12, out=8, n_proto=6, queue=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, out))
        self.prototypes = nn.Linear(out, n_proto, bias=False)
        self.register_buffer("queue", F.normalize(torch.randn(queue, out), dim=1))

    @torch.no_grad()
    def codes(self, scores):
        q = torch.exp(scores / 0.5)
        for _ in range(3):
            q = q / q.sum(0, keepdim=True)
            q = q / q.sum(1, keepdim=True)
        return q

    def forward(self, x1, x2):
        z1, z2 = (F.normalize(self.net(x), dim=1) for x in (x1, x2))
        embedding = z1.detach()
        queue_scores = self.prototypes(self.queue)
        s1, s2 = self.prototypes(z1), self.prototypes(z2)
        q = self.codes(torch.cat([queue_scores, s1]).detach())[-len(z1) :]
        if self.training:
            self.queue = torch.cat([embedding, self.queue])[: len(self.queue)]
        return {"loss": -(q * F.log_softmax(s2 / 0.1, dim=1)).sum(1).mean(), "z": z1}


def example_inputs():
    return (
        torch.randn(8, 12),
        torch.randn(8, 12),
    )
