r"""Low-rank adapters in frozen blocks that are recomputed in the backward pass.

Source: https://github.com/locuslab/open-unlearning/issues/178
Fault: The input of the first block needs no gradient, so recomputation cuts the graph and no
    adapter in the blocks is trained.
Cause: checkpoint\w*|recompute|(lora|adapter)\w*.*(no|never|without|not|zero)
    |(no|never|without|not|zero) .*(lora|adapter)\w*|inputs? .*requires?_grad
Place: lora_[ab]|checkpoint|blocks
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class LoRALinear(nn.Module):
    def __init__(self, dim, rank=4):
        super().__init__()
        self.base = nn.Linear(dim, dim).requires_grad_(False)
        self.lora_a = nn.Linear(dim, rank, bias=False)
        self.lora_b = nn.Linear(rank, dim, bias=False)
        nn.init.zeros_(self.lora_b.weight)

    def forward(self, x):
        return self.base(x) + 2 * self.lora_b(self.lora_a(x))


class Model(nn.Module):
    def __init__(self, vocab=30, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim).requires_grad_(False)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim, elementwise_affine=False), LoRALinear(dim), nn.GELU())
            for _ in range(3)
        )
        self.score = nn.Linear(dim, 4)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = x + checkpoint(block, x, use_reentrant=True)  # here
        return self.score(x.mean(1))


torch.manual_seed(0)
ids = torch.randint(0, 30, (320, 10))
labels = (ids.float().mean(1) * 4 / 30).long()
model = Model()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
for epoch in range(6):
    for index in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(ids[index]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
