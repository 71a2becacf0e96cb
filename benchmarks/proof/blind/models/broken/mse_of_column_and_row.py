r"""A forecaster of one step ahead that returns its own loss.

Source: https://github.com/pytorch/pytorch/issues/16045
    https://github.com/jsboige/CoursIA/pull/926
Fault: predictions (B, 1) against targets (B) broadcast to (B, B), so it learns the mean of
    targets.
Cause: broadcast|shape|squeeze|\(B, ?B\)|size
Place: pred|target|mse|labels|y_batch
"""

import torch
import torch.nn.functional as F
from torch import nn


class PatchForecaster(nn.Module):
    def __init__(self, seq_len=12, n_feat=3, d=16, pred_len=1):
        super().__init__()
        self.proj = nn.Linear(n_feat, d)
        self.mix = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, pred_len)

    def forward(self, x, y_batch):
        h, _ = self.mix(F.gelu(self.proj(x)))
        pred = self.head(h[:, -1])
        loss = (pred - y_batch).pow(2).mean()  # here
        return {"loss": loss, "pred": pred}


def example_inputs():
    return (
        torch.randn(32, 12, 3),
        torch.randn(32),
    )
