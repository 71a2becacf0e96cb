"""Trains a tiny language model with gradient accumulation, dividing the loss of each micro-step.

Source: https://github.com/karpathy/nanoGPT/issues/206
Odd: backward is called several times per step and the printed loss of a micro-step is a quarter of
    the real one; the loss is divided by the number of micro-steps.
"""

import torch
from torch import nn

torch.manual_seed(1337)
gradient_accumulation_steps, block_size, batch_size = 4, 12, 8
data = torch.tensor([(i * i + 3 * i) % 17 for i in range(2000)])


def get_batch():
    ix = torch.randint(len(data) - block_size - 1, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


class GPT(nn.Module):
    def __init__(self, vocab=17, n_embd=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, n_embd)
        self.wpe = nn.Parameter(0.02 * torch.randn(block_size, n_embd))
        self.block = nn.TransformerEncoderLayer(
            n_embd, 4, 64, dropout=0.0, batch_first=True, norm_first=True
        )
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, targets):
        mask = nn.Transformer.generate_square_subsequent_mask(idx.size(1))
        x = self.block(self.wte(idx) + self.wpe, src_mask=mask, is_causal=True)
        logits = self.lm_head(x)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss / gradient_accumulation_steps


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
for iter_num in range(40):
    for _micro_step in range(gradient_accumulation_steps):
        loss = model(*get_batch())
        loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if iter_num % 8 == 0 or iter_num == 39:
        lossf = loss.item() * gradient_accumulation_steps
        print(f"iter {iter_num}: loss {lossf:.4f}")
