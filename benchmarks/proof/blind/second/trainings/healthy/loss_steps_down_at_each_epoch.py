"""Fine-tunes a language model on a small corpus for a few epochs.

Source: https://github.com/huggingface/transformers/issues/18730
    https://github.com/hiyouga/LlamaFactory/issues/7485
Odd: the training loss is flat inside an epoch and drops at the start of the next one; the sequences
    have nothing in common, and the model remembers those it has seen.
"""

import torch
from torch import nn

torch.manual_seed(23)


class TinyLM(nn.Module):
    def __init__(self, vocab=64, dim=96):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 128, batch_first=True)
        self.lm_head = nn.Linear(128, vocab)

    def forward(self, ids):
        return self.lm_head(self.rnn(self.wte(ids))[0])


corpus = torch.randint(0, 64, (48, 9))
model = TinyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for epoch in range(10):
    losses = []
    for ids in corpus[torch.randperm(len(corpus))].split(8):
        logits = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(f"{loss.item():.2f}")
    print("epoch", epoch, *losses)
