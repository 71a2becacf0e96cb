r"""Causal language model from a script for fine-tuning.

Source: https://github.com/huggingface/transformers/blob/main/examples/pytorch/language-modeling/run_clm.py
Odd: The labels are the inputs themselves, since the model moves them by one inside of its forward.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
vocab, block_size = 20, 16
successors = torch.softmax(3 * torch.randn(vocab, vocab), 1)


def group_texts(count=32):
    ids = torch.randint(0, vocab, (count, 1))
    for _ in range(block_size - 1):
        ids = torch.cat([ids, torch.multinomial(successors[ids[:, -1]], 1)], 1)
    return {"input_ids": ids, "labels": ids.clone()}


class CausalLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(block_size, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, "gelu", batch_first=True)
        self.h = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, input_ids, labels):
        mask = nn.Transformer.generate_square_subsequent_mask(input_ids.size(1))
        x = self.wte(input_ids) + self.wpe.weight[: input_ids.size(1)]
        logits = self.lm_head(self.h(x, mask=mask))
        shift_logits, shift_labels = logits[:, :-1], labels[:, 1:]
        return F.cross_entropy(shift_logits.flatten(0, 1), shift_labels.flatten()), logits


model = CausalLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(100):
    loss, _ = model(**group_texts())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 25 == 0:
        print(f"step {step}: loss {loss.item():.3f}")
with torch.no_grad():
    eval_loss, _ = model(**group_texts(200))
entropy = -(successors * successors.log()).sum(1).mean().item()
print(f"perplexity {math.exp(eval_loss):.2f}, of the source {math.exp(entropy):.2f}")
