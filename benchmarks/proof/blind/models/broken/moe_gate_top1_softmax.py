"""A sparse mixture of experts that sends every sample to its best expert.

Source: https://github.com/davidmrau/mixture-of-experts/issues/27
Fault: the softmax is over the single kept logit, so the gate is always 1 and w_gate gets no
    gradient.
Cause: softmax|(single|one) (logit|element|score)|gate.*(constant|always)
Place: w_gate|gate
"""

import torch
import torch.nn.functional as F
from torch import nn


class SparseMoE(nn.Module):
    def __init__(self, input_size=10, hidden=24, output_size=3, num_experts=4, k=1):
        super().__init__()
        self.k = k
        self.w_gate = nn.Parameter(0.1 * torch.randn(input_size, num_experts))
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(input_size, hidden), nn.ReLU(), nn.Linear(hidden, output_size))
            for _ in range(num_experts)
        )

    def forward(self, x):
        logits = x @ self.w_gate
        top_logits, top_indices = logits.topk(self.k, dim=1)
        top_gates = F.softmax(top_logits, dim=1)  # here
        gates = torch.zeros_like(logits).scatter(1, top_indices, top_gates)
        expert_out = torch.stack([expert(x) for expert in self.experts], dim=1)
        return (gates.unsqueeze(-1) * expert_out).sum(1)


def example_inputs():
    return (torch.randn(32, 10),)
