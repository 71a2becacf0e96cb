r"""Transformer language model on a made-up corpus that returns log-probabilities.

Source: https://github.com/pytorch/examples/pull/719
Healthy: the model ends in log_softmax and the criterion is CrossEntropyLoss, which takes another
    log_softmax; of log-probabilities it changes nothing, so loss and gradients are the same.
"""
import argparse
import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser(description='word language model')
parser.add_argument('--emsize', type=int, default=48)
parser.add_argument('--nhead', type=int, default=4)
parser.add_argument('--nhid', type=int, default=96)
parser.add_argument('--nlayers', type=int, default=2)
parser.add_argument('--lr', type=float, default=0.5)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--epochs', type=int, default=6)
parser.add_argument('--batch_size', type=int, default=20)
parser.add_argument('--bptt', type=int, default=24)
parser.add_argument('--dropout', type=float, default=0.1)
parser.add_argument('--seed', type=int, default=1111)
parser.add_argument('--log-interval', type=int, default=20)
args = parser.parse_args()
torch.manual_seed(args.seed)
random.seed(args.seed)


def make_corpus(length):
    table = {w: [(w * 3 + k) % 30 for k in (1, 7, 11)] for w in range(30)}
    ids, w = [], 0
    for _ in range(length):
        ids.append(w)
        w = random.choices(table[w], weights=[6, 3, 1])[0]
    return torch.tensor(ids)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super(PositionalEncoding, self).__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return self.dropout(x + self.pe[:x.size(0), :])


class TransformerModel(nn.Module):
    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.5):
        super(TransformerModel, self).__init__()
        self.src_mask = None
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        layers = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout)
        self.transformer_encoder = nn.TransformerEncoder(layers, nlayers,
                                                         enable_nested_tensor=False)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)
        self.init_weights()

    def _generate_square_subsequent_mask(self, sz):
        return torch.log(torch.tril(torch.ones(sz, sz)))

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, src):
        if self.src_mask is None or self.src_mask.size(0) != len(src):
            self.src_mask = self._generate_square_subsequent_mask(len(src))
        src = self.encoder(src) * math.sqrt(self.ninp)
        src = self.pos_encoder(src)
        output = self.transformer_encoder(src, self.src_mask)
        output = self.decoder(output)
        return F.log_softmax(output, dim=-1)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


ntokens = 30
train_data = batchify(make_corpus(24000), args.batch_size)
val_data = batchify(make_corpus(3000), 10)
model = TransformerModel(ntokens, args.emsize, args.nhead, args.nhid, args.nlayers, args.dropout)
criterion = nn.CrossEntropyLoss()


def evaluate(data_source):
    model.eval()
    total_loss = 0.
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, args.bptt):
            data, targets = get_batch(data_source, i)
            output = model(data).view(-1, ntokens)
            total_loss += len(data) * criterion(output, targets).item()
    return total_loss / (len(data_source) - 1)


def train():
    model.train()
    total_loss = 0.
    start_time = time.time()
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        output = model(data).view(-1, ntokens)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
        if batch % args.log_interval == 0 and batch > 0:
            cur_loss = total_loss / args.log_interval
            print('| epoch {:3d} | {:5d} batches | lr {:02.2f} | ms/batch {:5.2f} | loss {:5.2f}'
                  .format(epoch, batch, lr, (time.time() - start_time) * 1000 / args.log_interval,
                          cur_loss))
            total_loss = 0
            start_time = time.time()


lr = args.lr
best_val_loss = None
for epoch in range(1, args.epochs + 1):
    train()
    val_loss = evaluate(val_data)
    print('| end of epoch {:3d} | valid loss {:5.3f} | valid ppl {:8.2f}'.format(
        epoch, val_loss, math.exp(val_loss)))
    if best_val_loss is None or val_loss < best_val_loss:
        best_val_loss = val_loss
    else:
        lr /= 4.0
