r"""Trains a small decoder on sequences of random tokens, as a test of a port.

Source: https://github.com/huggingface/transformers/issues/48745
Fault: The attention has no causal mask; each position sees its label, so the loss on random tokens
    falls far below the entropy log(16) = 2.77 that is possible.
Cause: causal|future|leak|is_causal|sees? (the )?(next|label|answer)|look.?ahead
"""

import torch
import torch.nn.functional as F
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*qkv)  # here
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class TinyForCausalLM(nn.Module):
    def __init__(self, vocab=16, length=12, dim=32):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(length, dim)
        self.layers = nn.Sequential(DecoderLayer(dim), DecoderLayer(dim))
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids):
        h = self.wte(input_ids) + self.wpe.weight[: input_ids.shape[1]]
        logits = self.lm_head(self.layers(h))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())


torch.manual_seed(0)
model = TinyForCausalLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(160):
    loss = model(torch.randint(0, 16, (48, 12)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step} loss {loss.item():.4f}")
