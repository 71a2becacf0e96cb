r"""Language model that goes over to averaged weights when the validation stalls.

Source: https://github.com/salesforce/awd-lstm-lm/blob/master/main.py
Odd: The optimizer is replaced in the middle, and averaged weights are put in for evaluation.
"""

import torch
from torch import nn
from torch.nn import functional as F


class RNNModel(nn.Module):
    def __init__(self, ntoken=16, ninp=32):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, ninp)
        self.decoder = nn.Linear(ninp, ntoken)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)

    def forward(self, tokens):
        return self.decoder(self.rnn(self.encoder(tokens))[0])


torch.manual_seed(0)
follow = torch.randperm(16)
tokens = torch.empty(600, 20, dtype=torch.long)
tokens[0] = torch.arange(20) % 16
for i in range(1, 600):
    jump = torch.rand(20) < 0.15
    tokens[i] = torch.where(jump, torch.randint(0, 16, (20,)), follow[tokens[i - 1]])
train_data, val_data = tokens[:500], tokens[500:]
model = RNNModel()


def loss_of(data):
    return F.cross_entropy(model(data[:-1]).flatten(0, 1), data[1:].flatten())


optimizer = torch.optim.SGD(model.parameters(), lr=10.0)
best_val_loss = []
for epoch in range(8):
    for i in range(0, 500, 50):
        loss = loss_of(train_data[i : i + 50])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
    averaged = "t0" in optimizer.param_groups[0]
    if averaged:
        kept = [p.data.clone() for p in model.parameters()]
        for p in model.parameters():
            p.data = optimizer.state[p]["ax"].clone()
    with torch.no_grad():
        val_loss = loss_of(val_data).item()
    if averaged:
        for p, data in zip(model.parameters(), kept, strict=True):
            p.data = data
    elif len(best_val_loss) > 3 and val_loss > min(best_val_loss[:-2]) - 0.05:
        optimizer = torch.optim.ASGD(model.parameters(), lr=10.0, t0=0, lambd=0.0)
    best_val_loss.append(val_loss)
    print(f"epoch {epoch} averaged {averaged} validation loss {val_loss:.4f}")
