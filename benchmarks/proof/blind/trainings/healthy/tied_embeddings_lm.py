r"""An LSTM language model whose output layer shares the weight of the embedding.

Source: https://github.com/pytorch/examples/blob/main/word_language_model/model.py
Odd: Two modules hold the same parameter, the hidden state is detached between batches and the loss
    stops far above zero: the sequence is random within classes, its entropy is about 1.1.
"""

import math

import torch
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, ntoken=12, ninp=24):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, ninp)
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output), hidden


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


torch.manual_seed(1111)
steps, bsz, bptt = 160, 16, 10
phase = torch.arange(steps * bptt + 1)[:, None] % 4
source = 3 * phase + torch.randint(0, 3, (steps * bptt + 1, bsz))
model, criterion = RNNModel(), nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
hidden = (torch.zeros(1, bsz, 24), torch.zeros(1, bsz, 24))
for batch in range(steps):
    i = batch * bptt
    data, targets = source[i : i + bptt], source[i + 1 : i + 1 + bptt]
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output.view(-1, 12), targets.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    optimizer.step()
    if batch % 32 == 31:
        print(f"batch {batch} loss {loss.item():.3f} ppl {math.exp(loss.item()):.2f} (best is 3)")
