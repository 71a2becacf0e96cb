r"""Autoencoder of padded molecule strings trained with token cross entropy.

Source: https://github.com/DaoyuanLi2816/Molecule-Generator/pull/20
Fault: Padding positions count in the loss, so most of the loss is about predicting the pad token.
Cause: pad\w*.*(loss|count|ignore|mask|target|label)|ignore_index
Place: cross_entropy|ignore_index|pad|loss
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
PAD = 0
strings = [torch.randint(1, 12, (int(n),)) for n in torch.randint(3, 8, (96,))]
strings.append(torch.randint(1, 12, (40,)))
tokens = pad_sequence(strings, batch_first=True, padding_value=PAD)


class StringAutoencoder(nn.Module):
    def __init__(self, vocab=12, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, 32, batch_first=True)
        self.decoder = nn.GRU(dim, 32, batch_first=True)
        self.out = nn.Linear(32, vocab)

    def forward(self, x):
        _, h = self.encoder(self.embed(x))
        shifted = nn.functional.pad(x, (1, 0))[:, :-1]
        return self.out(self.decoder(self.embed(shifted), h)[0])


model = StringAutoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(12):
    for index in torch.randperm(len(tokens)).split(24):
        batch = tokens[index]
        loss = nn.functional.cross_entropy(model(batch).transpose(1, 2), batch)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
real = tokens != PAD
correct = model(tokens).argmax(-1)[real] == tokens[real]
print(f"accuracy on real tokens {correct.float().mean().item():.3f}")
