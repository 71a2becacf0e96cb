"""A joint-embedding world model with a variance term.

Source: https://github.com/lucas-maes/le-wm/issues/44
Odd: the target branch is not detached; the spread of the embeddings is kept by a regulariser.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LatentWorldModel(nn.Module):
    def __init__(self, obs=8, act=2, emb=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(obs, 32), nn.GELU(), nn.Linear(32, emb))
        self.predictor = nn.Sequential(nn.Linear(emb + act, 32), nn.GELU(), nn.Linear(32, emb))

    def forward(self, obs, action, next_obs):
        emb, tgt_emb = self.encoder(obs), self.encoder(next_obs)
        pred_emb = self.predictor(torch.cat([emb, action], dim=1))
        pred_loss = (pred_emb - tgt_emb).pow(2).mean()
        reg = F.relu(1 - torch.cat([emb, tgt_emb]).std(0)).mean()
        return {"loss": pred_loss + reg, "emb": emb}


def example_inputs():
    return (
        torch.randn(16, 8),
        torch.randn(16, 2),
        torch.randn(16, 8),
    )
