r"""A recurrent model of the words of a small corpus, with the rate cut at no progress.

Source: https://github.com/pytorch/examples/pull/223
Fault: The default learning rate of 20 is far too large for this network.
Cause: learning rate.{0,80}(large|high|big|huge|too)|\blr\b.{0,60}(large|high|big|huge|too|20)
    |(update|step)s?.{0,60}(large|huge|big|ratio|size of)
    |(lower|reduce|smaller).{0,30}(learning rate|\blr\b)|diverg\w*.{0,80}(rate|\blr\b)
Place: \blr\b|learning.?rate|args
"""

import argparse
import math

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description="RNN language model")
parser.add_argument("--emsize", type=int, default=32)
parser.add_argument("--nhid", type=int, default=32)
parser.add_argument("--lr", type=float, default=20)  # here
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--bptt", type=int, default=12)
parser.add_argument("--seed", type=int, default=1111)
args = parser.parse_args([])
torch.manual_seed(args.seed)

NTOKEN, BATCH = 40, 20
table = torch.distributions.Dirichlet(torch.full((NTOKEN,), 0.05)).sample((NTOKEN,))


def corpus(length):
    words = [0]
    for _ in range(length - 1):
        words.append(torch.multinomial(table[words[-1]], 1).item())
    return torch.tensor(words)


def batchify(data, size):
    rows = len(data) // size
    return data[: rows * size].view(size, rows).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(NTOKEN, args.emsize)
        self.rnn = nn.RNN(args.emsize, args.nhid, nonlinearity="tanh")
        self.decoder = nn.Linear(args.nhid, NTOKEN)
        for weight in (self.encoder.weight, self.decoder.weight):
            nn.init.uniform_(weight, -0.1, 0.1)

    def forward(self, words, hidden):
        output, hidden = self.rnn(self.encoder(words), hidden)
        return self.decoder(output).view(-1, NTOKEN), hidden


train_data, val_data = batchify(corpus(8000), BATCH), batchify(corpus(2000), BATCH)
model = RNNModel()
criterion = nn.CrossEntropyLoss()


def evaluate(source):
    with torch.no_grad():
        output, _ = model(source[:-1], None)
        return criterion(output, source[1:].reshape(-1)).item()


lr, best = args.lr, None
for epoch in range(args.epochs):
    hidden = None
    for i in range(0, len(train_data) - 1, args.bptt):
        size = min(args.bptt, len(train_data) - 1 - i)
        data, targets = train_data[i : i + size], train_data[i + 1 : i + 1 + size].reshape(-1)
        hidden = hidden if hidden is None else hidden.detach()
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
    val_loss = evaluate(val_data)
    print(f"epoch {epoch + 1} lr {lr:g} valid {val_loss:.3f} ppl {math.exp(min(val_loss, 20)):.1f}")
    if best is None or val_loss < best:
        best = val_loss
    else:
        lr /= 4.0
