r"""Chance that a customer comes back, from past visits and how many days ago each of them was.

Source: https://docs.pytorch.org/docs/stable/generated/torch.zeros_like.html
Fault: zeros_like takes the integer type of the days, so the sines and cosines written into it are
    cut to whole numbers, nearly all of them zero, and the model is blind for the time.
Cause: (integer|int64|\bint\b|\blong\b|dtype|whole number|data type)
    |(truncat|cut|round|cast).{0,80}(sin|cos|code|encod|value|fraction|zero)
    |zeros_like.{0,80}(type|int|long|days)
    |(time|day|age).{0,20}(code|encoding).{0,60}(zero|constant|all 0)
Place: code|zeros_like|age_code|days|sin|cos
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

KINDS, VISITS, DIM = 10, 8, 32


class ReturnModel(nn.Module):
    def __init__(self, dim=DIM):
        super().__init__()
        self.kind = nn.Embedding(KINDS, dim)
        self.register_buffer("speed", 100.0 ** (-torch.arange(dim // 2) / (dim // 2)))
        self.each = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 1))

    def age_code(self, days):
        angle = days.unsqueeze(-1) * self.speed
        code = torch.zeros_like(days).unsqueeze(-1).repeat(1, 1, 2 * len(self.speed))  # here
        code[..., 0::2] = torch.sin(angle)
        code[..., 1::2] = torch.cos(angle)
        return code

    def forward(self, kinds, days, returned):
        visits = self.each(self.kind(kinds) + self.age_code(days))
        logit = self.head(visits.mean(1)).squeeze(-1)
        return F.binary_cross_entropy_with_logits(logit, returned)


def make_customers(n, seed):
    g = torch.Generator().manual_seed(seed)
    kinds = torch.randint(0, KINDS, (n, VISITS), generator=g)
    days = torch.randint(1, 60, (n, VISITS), generator=g)
    recent = (days < 15).float().sum(1)
    returned = (recent + 0.3 * torch.randn(n, generator=g) > 1.9).float()
    return kinds, days, returned


def build():
    torch.manual_seed(0)
    return ReturnModel()


def example_inputs():
    return make_customers(128, seed=42)
