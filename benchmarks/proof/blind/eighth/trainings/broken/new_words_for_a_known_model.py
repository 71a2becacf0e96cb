r"""Fine-tuning of a small language model after new words were added to its vocabulary.

Source: https://github.com/huggingface/transformers/pull/3532
Fault: The optimizer gets the parameters before the embedding is replaced by a larger one, so it
    trains the old matrix, which is no longer used.
Cause: (embedding|head|wte)\w*.{0,100}(not in|optimi[sz]er|replac|resiz|never (updat|chang|train)
    |not updat|unchanged|old|stale|frozen)|optimi[sz]er.{0,100}(before|old|stale|embedding
    |no longer|missing|replac|other object|does not (hold|contain|have|know))|resiz\w+
Place: resize_token_embeddings|wte|embedding\w*|optimizer|lm_head
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(137)
KNOWN, NEW, LENGTH = 20, 20, 12


class TinyLM(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.ln = nn.LayerNorm(dim)

    def forward(self, ids):
        return self.ln(self.rnn(self.wte(ids))[0]) @ self.wte.weight.T

    def resize_token_embeddings(self, vocab):
        old = self.wte.weight.data
        self.wte = nn.Embedding(vocab, old.shape[1])
        nn.init.normal_(self.wte.weight, std=0.02)
        self.wte.weight.data[: len(old)] = old


def text(words, count=32):
    step = torch.tensor([1, 3, 7])[torch.randint(0, 3, (count, 1))]
    start = torch.randint(0, len(words), (count, 1))
    return words[(start + step * torch.arange(LENGTH)) % len(words)]


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


def train(model, optimizer, words, steps):
    for global_step in range(steps):
        loss = lm_loss(model, text(words))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if global_step % 30 == 0:
            print(f"step {global_step} loss {loss.item():.4f}")
    return loss.item()


old_words, new_words = torch.arange(KNOWN), torch.arange(KNOWN, KNOWN + NEW)
model = TinyLM(KNOWN)
print("pretraining")
train(model, torch.optim.Adam(model.parameters(), lr=1e-2), old_words, 120)

print("fine-tuning with the new words")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)  # here
model.resize_token_embeddings(KNOWN + NEW)
train(model, optimizer, new_words, 150)
with torch.no_grad():
    loss = lm_loss(model, text(new_words, 300))
print(f"perplexity on texts with the new words {loss.exp().item():.2f}")
