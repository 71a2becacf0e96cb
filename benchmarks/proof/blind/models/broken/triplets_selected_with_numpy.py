r"""A FaceNet loss that keeps the hard triplets of a batch.

Source: https://github.com/liorshk/facenet_pytorch/issues/6
Fault: the triplets go through data and numpy, which cuts the graph: the triplet loss trains
    nothing.
Cause: numpy|\.data\b|detach|(cut|break|leave|outside).*graph|not connected
Place: out_selected|hard|numpy|data
"""

import torch
import torch.nn.functional as F
from torch import nn


class FaceNet(nn.Module):
    def __init__(self, in_dim=10, emb=8, classes=5, margin=0.5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(in_dim, 32), nn.ReLU())
        self.fc = nn.Linear(32, emb)
        self.classifier = nn.Linear(32, classes)
        self.margin = margin

    def select(self, out, keep):
        return torch.from_numpy(out.cpu().data.numpy()[keep.numpy()])  # here

    def forward(self, data_a, data_p, data_n, label):
        h = self.trunk(data_a)
        out_a, out_p, out_n = (
            F.normalize(self.fc(z)) for z in (h, *map(self.trunk, (data_p, data_n)))
        )
        d_p, d_n = (out_a - out_p).norm(dim=1), (out_a - out_n).norm(dim=1)
        hard = (d_n - d_p < self.margin).detach()
        a, p, n = (self.select(z, hard) for z in (out_a, out_p, out_n))
        triplet = F.triplet_margin_loss(a, p, n, margin=self.margin)
        loss = triplet + F.cross_entropy(self.classifier(h), label)
        return {"loss": loss, "triplet": triplet}


def example_inputs():
    return (
        torch.randn(8, 10),
        torch.randn(8, 10),
        torch.randn(8, 10),
        torch.randint(0, 5, (8,)),
    )
