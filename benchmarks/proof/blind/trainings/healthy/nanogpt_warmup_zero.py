r"""A character model with linear warm-up from zero and cosine decay, set by hand.

Source: https://github.com/karpathy/nanoGPT/issues/443
    https://github.com/karpathy/nanoGPT/blob/master/train.py
Odd: The first step has a learning rate of exactly zero and the last ones almost none; one idle
    step out of 150 does no harm.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1337)
text = "to be or not to be that is the question " * 12
stoi = {ch: i for i, ch in enumerate(sorted(set(text)))}
data = torch.tensor([stoi[c] for c in text])
block_size, learning_rate, warmup_iters, max_iters = 8, 1e-2, 15, 150


def get_batch(n=32):
    ix = torch.randint(len(data) - block_size - 1, (n,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * it / warmup_iters
    ratio = (it - warmup_iters) / (max_iters - warmup_iters)
    return 0.5 * (1.0 + math.cos(math.pi * ratio)) * learning_rate


class GPT(nn.Module):
    def __init__(self, vocab_size, n_embd=24):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.ln = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe.weight
        q, k, v = self.c_attn(self.ln(x)).chunk(3, dim=-1)
        x = x + self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return self.lm_head(x)


model = GPT(len(stoi))
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
for iter_num in range(max_iters):
    lr = get_lr(iter_num)
    for param_group in optimizer.param_groups:
        param_group["lr"] = lr
    X, Y = get_batch()
    loss = F.cross_entropy(model(X).flatten(0, 1), Y.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if iter_num % 30 == 0 or iter_num == max_iters - 1:
        print(f"iter {iter_num}: loss {loss.item():.4f}, lr {lr:.2e}")
