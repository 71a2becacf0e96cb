"""A trajectory planner that conditions its queries on the visual history.

Source: https://github.com/autowarefoundation/auto_e2e/pull/199
Odd: the projection of the history is zero, so the encoder below it has zero gradients at the first
    step; the projection itself gets one and opens the path (a no-op on purpose).
"""

import torch
from torch import nn


class HistoryEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, frames):
        out, _ = self.gru(frames)
        return self.norm(out[:, -1])


class TrajectoryPlanner(nn.Module):
    def __init__(self, dim=32, horizon=8):
        super().__init__()
        self.history = HistoryEncoder(dim)
        self.visual_history_proj = nn.Linear(dim, dim)
        nn.init.zeros_(self.visual_history_proj.weight)
        nn.init.zeros_(self.visual_history_proj.bias)
        self.queries = nn.Parameter(torch.randn(horizon, dim) * 0.02)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.ffn = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, 2))

    def forward(self, scene, frames):
        cond = self.visual_history_proj(self.history(frames))
        q = self.queries.expand(scene.size(0), -1, -1) + cond[:, None]
        x = q + self.attn(q, scene, scene)[0]
        return self.ffn(x).cumsum(1)


def build():
    return TrajectoryPlanner()


def example_inputs():
    return torch.randn(3, 12, 32), torch.randn(3, 5, 32)
