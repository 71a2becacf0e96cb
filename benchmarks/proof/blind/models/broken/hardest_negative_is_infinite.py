r"""A triplet loss with in-batch hardest negatives for patches of a series.

Source: https://github.com/jinnnju/PaAno/issues/1
Fault: the diagonal becomes +inf in distance, the max picks it and the hinge is zero for all
    samples.
Cause: \binf|diagonal|always zero|\bmask|hinge|relu|margin
Place: diagonal|neg|dist|sim
"""

import torch
import torch.nn.functional as F
from torch import nn


class PatchTriplet(nn.Module):
    def __init__(self, patch=12, emb=8, margin=0.5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(patch, 32), nn.GELU(), nn.Linear(32, emb))
        self.margin = margin

    def forward(self, anchors, positives):
        a = F.normalize(self.encoder(anchors), dim=1)
        p = F.normalize(self.encoder(positives), dim=1)
        sim_ap = a @ p.T
        pos_dists = 1 - sim_ap.diagonal()
        masked = sim_ap.masked_fill(torch.eye(len(a), dtype=torch.bool), float("-inf"))  # here
        neg_dists = 1 - masked
        hard_neg, _ = neg_dists.max(dim=1)
        loss = F.relu(pos_dists - hard_neg + self.margin).mean()
        return {"loss": loss, "sim": sim_ap}


def example_inputs():
    return (
        torch.randn(8, 12),
        torch.randn(8, 12),
    )
