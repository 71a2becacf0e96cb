r"""One new word is learned in an otherwise fixed text encoder.

Source: https://github.com/huggingface/diffusers/pull/855
Fault: The gradients of the other words are set to zero, but weight decay moves these words anyway.
Cause: decay\w*|(other|frozen|fixed|zero)\w* .*(move|chang|shrink|drift|updat)\w*
    |(mov|chang|shrink|drift|updat)\w* .*(without|zero|no) grad\w*
Place: token_embedding\w*|weight_decay
"""

import torch
from torch import nn


class TextEncoder(nn.Module):
    def __init__(self, vocab=50, dim=24):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True).requires_grad_(False)

    def forward(self, ids):
        return self.rnn(self.token_embedding(ids))[0][:, -1]


torch.manual_seed(0)
encoder = TextEncoder()
placeholder = 49
prompts = torch.randint(0, 49, (64, 6))
concept = torch.randn(24) * 0.5
with torch.no_grad():
    saved = encoder.token_embedding.weight[placeholder].clone()
    encoder.token_embedding.weight[placeholder] = concept
    prompts[torch.arange(64), torch.randint(2, 6, (64,))] = placeholder
    wanted = encoder(prompts)
    encoder.token_embedding.weight[placeholder] = saved
before = encoder.token_embedding.weight.detach().clone()
weights = encoder.token_embedding.parameters()
optimizer = torch.optim.AdamW(weights, lr=0.05, weight_decay=0.1)  # here
for step in range(60):
    index = torch.randint(0, 64, (8,))
    loss = nn.functional.mse_loss(encoder(prompts[index]), wanted[index])
    optimizer.zero_grad()
    loss.backward()
    grads = encoder.token_embedding.weight.grad
    grads[torch.arange(50) != placeholder] = 0
    optimizer.step()
moved = (encoder.token_embedding.weight - before)[:49].abs().max()
print(f"loss {loss.item():.4f}, other words moved by {moved.item():.3f}")
