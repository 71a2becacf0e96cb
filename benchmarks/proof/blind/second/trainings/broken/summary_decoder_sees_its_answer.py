r"""Trains a code summariser whose decoder is fed with the reference.

Source: https://github.com/code-gen/cscg/issues/4
    https://github.com/Kyubyong/transformer/issues/94
Fault: the decoder's input at step t is the token it must output at step t (no shift), so it learns
    to copy, the loss goes to zero and the source is ignored.
Cause: \bshift|same
    token|\bleak|\bcop(y|ies|ied)\b|teacher.?forcing|input\b.*\b(target|label|answer)s?\b|previous
    token
Place: dec_input|\banno\b
"""

import torch
from torch import nn

torch.manual_seed(8)
VOCAB, LENGTH, SOS = 24, 8, 0


class Seq2Seq(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.encoder = nn.LSTM(dim, dim, batch_first=True)
        self.decoder = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, code, anno):
        _, state = self.encoder(self.embed(code))
        hidden, _ = self.decoder(self.embed(anno), state)
        return self.out(hidden)

    @torch.no_grad()
    def generate(self, code):
        _, state = self.encoder(self.embed(code))
        token = torch.full((len(code), 1), SOS)
        words = []
        for _ in range(LENGTH):
            hidden, state = self.decoder(self.embed(token), state)
            token = self.out(hidden).argmax(-1)
            words.append(token)
        return torch.cat(words, 1)


def make(n):
    code = torch.randint(1, VOCAB, (n, LENGTH))
    return code, code.flip(1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    code, anno = make(32)
    dec_input = anno  # here
    logits = model(code, dec_input)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), anno.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0 or step == 59:
        exact = (model.generate(code) == anno).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} tokens right when generating {exact:.3f}")
