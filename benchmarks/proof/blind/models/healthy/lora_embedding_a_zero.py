"""An embedding with LoRA where A is the zero matrix instead of B.

Source: https://github.com/microsoft/LoRA/issues/76
    https://github.com/microsoft/LoRA/issues/121
Odd: the roles of A and B look exchanged; one zero factor is enough and B is random.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LoRAEmbedding(nn.Module):
    def __init__(self, vocab=20, dim=16, r=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.embed.weight.requires_grad = False
        self.lora_A = nn.Parameter(torch.zeros(r, vocab))
        self.lora_B = nn.Parameter(torch.randn(dim, r))
        self.head = nn.Linear(dim, 4)

    def forward(self, ids):
        after_a = F.embedding(ids, self.lora_A.T)
        h = self.embed(ids) + after_a @ self.lora_B.T
        return self.head(h.mean(1))


def example_inputs():
    return (torch.randint(0, 20, (8, 5)),)
