r"""Trains a causal model on sequences of counting numbers.

Source: https://github.com/huggingface/transformers/pull/37830
Fault: Logits and labels are shifted in the model and again in the loss function, so it learns the
    token after the next one; the loss falls but the next token is always wrong.
Cause: shift.*(twice|double|again|already)|(twice|double).*shift|next.next|off by one
"""

import torch
import torch.nn.functional as F
from torch import nn


def for_causal_lm_loss(logits, labels, vocab_size):
    shift_logits = logits[..., :-1, :].contiguous().view(-1, vocab_size)
    shift_labels = labels[..., 1:].contiguous().view(-1)
    return F.cross_entropy(shift_logits, shift_labels)


class JetForCausalLM(nn.Module):
    def __init__(self, vocab_size=20, dim=32):
        super().__init__()
        self.vocab_size = vocab_size
        self.embed_tokens = nn.Embedding(vocab_size, dim)
        self.model = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab_size)

    def forward(self, input_ids, labels=None):
        logits = self.lm_head(self.model(self.embed_tokens(input_ids))[0])
        loss = None
        if labels is not None:
            shift_logits = logits[..., :-1, :].contiguous()
            shift_labels = labels[..., 1:].contiguous()
            loss = for_causal_lm_loss(shift_logits, shift_labels, self.vocab_size)  # here
        return loss, logits


torch.manual_seed(0)
model = JetForCausalLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(120):
    start, stride = torch.randint(0, 20, (32, 1)), torch.randint(1, 4, (32, 1))
    input_ids = (start + stride * torch.arange(10)) % 20
    loss, logits = model(input_ids, labels=input_ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 24 == 23:
        hit = (logits[:, 2:-1].argmax(-1) == input_ids[:, 3:]).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} next token right {hit:.3f}")
