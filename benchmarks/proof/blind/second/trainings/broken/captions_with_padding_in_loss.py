r"""Trains a captioner on short captions that are padded with zero.

Source: https://github.com/mlfoundations/open_clip/pull/316
    https://github.com/FlagAI-Open/FlagAI/issues/522
Fault: the pad id is 0 but the loss ignores -100 only, so most of the loss is about predicting
    padding and the real words are learnt slowly.
Cause: \bpad|ignore_index
Place: ignore_index|caption_loss|\bPAD\b
"""

import torch
from torch import nn

torch.manual_seed(12)
PAD, VOCAB, LENGTH = 0, 30, 24


def make(n):
    image = torch.randint(1, 28, (n,))
    texts = torch.full((n, LENGTH), PAD)
    size = torch.randint(3, 7, (n,))
    for row, (first, k) in enumerate(zip(image.tolist(), size.tolist(), strict=True)):
        texts[row, :k] = (torch.arange(k) * 7 + first) % 28 + 1
        texts[row, k] = 29
    return nn.functional.one_hot(image, 28).float(), texts


class Captioner(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.visual = nn.Linear(28, dim)
        self.token = nn.Embedding(VOCAB, dim)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, image, text):
        hidden, _ = self.decoder(self.token(text), self.visual(image)[None])
        return self.out(hidden)


caption_loss = nn.CrossEntropyLoss(ignore_index=-100)  # here
model = Captioner()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(100):
    image, text = make(16)
    logits = model(image, text[:, :-1])
    loss = caption_loss(logits.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0 or step == 99:
        real = text[:, 1:] != PAD
        hits = (logits.argmax(-1) == text[:, 1:])[real].float().mean().item()
        print(f"step {step} loss {loss.item():.4f} accuracy of words {hits:.3f}")
