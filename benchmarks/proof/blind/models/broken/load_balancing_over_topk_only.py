r"""A Mixtral style layer with an auxiliary loss that should balance the experts.

Source: https://github.com/huggingface/transformers/issues/28093
    https://github.com/huggingface/transformers/issues/28021
Fault: the auxiliary loss uses weights renormalised over the top-k, whose sum is a constant.
Cause: aux\w*.*constant|constant.*aux|top.?k|all experts|renormali|softmax|balanc\w+ loss.*constant
Place: aux|router_prob|routing_weights|load_balanc
"""

import torch
import torch.nn.functional as F
from torch import nn


class MixtralMoE(nn.Module):
    def __init__(self, dim=12, hidden=16, num_experts=4, top_k=2, coef=0.02):
        super().__init__()
        self.top_k, self.coef = top_k, coef
        self.gate = nn.Linear(dim, num_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, dim))
            for _ in range(num_experts)
        )

    def load_balancing_loss(self, gate_logits):
        routing_weights, selected = gate_logits.topk(self.top_k, dim=-1)
        routing_weights = routing_weights.softmax(dim=-1)  # here
        tokens_per_expert = F.one_hot(selected, gate_logits.size(-1)).float().mean(0)
        router_prob = routing_weights.sum(-1).mean()
        return (tokens_per_expert.sum(0).mean() * router_prob) * gate_logits.size(-1)

    def forward(self, hidden_states):
        x = hidden_states.flatten(0, 1)
        logits = self.gate(x)
        weights, selected = logits.softmax(-1).topk(self.top_k, dim=-1)
        weights = torch.zeros_like(logits).scatter(1, selected, weights / weights.sum(-1, True))
        out = sum(w[:, None] * e(x) for w, e in zip(weights.T, self.experts, strict=True))
        aux = self.load_balancing_loss(logits)
        recon = F.mse_loss(out.view_as(hidden_states), hidden_states)
        return {"loss": recon + self.coef * aux, "aux_loss": aux}


def example_inputs():
    return (torch.randn(4, 6, 12),)
