"""Trains a recurrent language model on one long text, cut into windows.

Source: https://github.com/yikangshen/Ordered-Neurons/issues/13
    https://github.com/pytorch/examples/issues/103
Odd: the hidden state is not reset but detached and passed to the next batch, and the data is not
    shuffled; the text is one sequence and this is truncated backpropagation through time.
"""

import torch
from torch import nn

torch.manual_seed(1111)


class RNNModel(nn.Module):
    def __init__(self, ntoken=12, ninp=16, nhid=48):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, data, hidden):
        output, hidden = self.rnn(self.encoder(data), hidden)
        return self.decoder(output), hidden


def batchify(data, bsz):
    nbatch = data.numel() // bsz
    return data[: nbatch * bsz].view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    return h.detach() if torch.is_tensor(h) else tuple(repackage_hidden(v) for v in h)


text = torch.cat([torch.arange(12).repeat(3), torch.tensor([5, 5, 1, 9])]).repeat(60)
train_data = batchify(text, 8)
model = RNNModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
bptt = 10
for epoch in range(3):
    hidden = (torch.zeros(1, 8, 48), torch.zeros(1, 8, 48))
    for i in range(0, train_data.size(0) - 1, bptt):
        seq_len = min(bptt, len(train_data) - 1 - i)
        data, target = train_data[i : i + seq_len], train_data[i + 1 : i + 1 + seq_len]
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = nn.functional.cross_entropy(output.flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        if i % 100 == 0:
            print(f"epoch {epoch} position {i} loss {loss.item():.3f}")
