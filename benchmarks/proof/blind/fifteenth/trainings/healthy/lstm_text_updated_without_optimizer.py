r"""LSTM word model with truncated backpropagation and an annealed step written out by hand.

Source: https://github.com/pytorch/pytorch/issues/1271
Healthy: there is no optimizer at all; the loop moves the weights itself with p.data.add_, and the
    hidden state is detached between the chunks.
"""
import argparse
import math
import os
import random
import tempfile
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='RNN/LSTM language model')
parser.add_argument('--model', type=str, default='LSTM')
parser.add_argument('--emsize', type=int, default=32)
parser.add_argument('--nhid', type=int, default=64)
parser.add_argument('--nlayers', type=int, default=2)
parser.add_argument('--lr', type=float, default=10)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--epochs', type=int, default=6)
parser.add_argument('--batch-size', type=int, default=20)
parser.add_argument('--bptt', type=int, default=20)
parser.add_argument('--dropout', type=float, default=0.1)
parser.add_argument('--tied', action='store_true')
parser.add_argument('--seed', type=int, default=1111)
parser.add_argument('--log-interval', type=int, default=25)
args = parser.parse_args()
torch.manual_seed(args.seed)
random.seed(args.seed)
save = os.path.join(tempfile.mkdtemp(), 'model.pt')

###############################################################################
# Load data
###############################################################################
SUBJECTS = ['anna', 'ben', 'carl', 'dora', 'emil']
PLACES = {'anna': 'park', 'ben': 'shop', 'carl': 'lake', 'dora': 'school', 'emil': 'tower'}
VERBS = ['walks', 'runs', 'drives', 'returns']


def line():
    s = random.choice(SUBJECTS)
    words = [s, random.choice(VERBS)]
    if random.random() < 0.5:
        words += ['slowly']
    return words + ['to', 'the', PLACES[s], '<eos>']


words = [w for _ in range(3600) for w in line()]
vocab = sorted(set(words))
corpus = torch.tensor([vocab.index(w) for w in words])
ntokens = len(vocab)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


eval_batch_size = 10
n_train = int(0.85 * len(corpus))
train_data = batchify(corpus[:n_train], args.batch_size)
val_data = batchify(corpus[n_train:], eval_batch_size)


###############################################################################
# Build the model
###############################################################################
class RNNModel(nn.Module):
    def __init__(self, rnn_type, ntoken, ninp, nhid, nlayers, dropout=0.5, tie_weights=False):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = getattr(nn, rnn_type)(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError('When using the tied flag, nhid must be equal to emsize')
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.rnn_type = rnn_type
        self.nhid = nhid
        self.nlayers = nlayers

    def init_weights(self):
        initrange = 0.1
        self.encoder.weight.data.uniform_(-initrange, initrange)
        self.decoder.bias.data.fill_(0)
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output.view(output.size(0) * output.size(1), output.size(2)))
        return decoded.view(output.size(0), output.size(1), decoded.size(1)), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters()).data
        if self.rnn_type == 'LSTM':
            return (weight.new(self.nlayers, bsz, self.nhid).zero_(),
                    weight.new(self.nlayers, bsz, self.nhid).zero_())
        return weight.new(self.nlayers, bsz, self.nhid).zero_()


model = RNNModel(args.model, ntokens, args.emsize, args.nhid, args.nlayers, args.dropout,
                 args.tied)
criterion = nn.CrossEntropyLoss()


###############################################################################
# Training code
###############################################################################
def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    data = source[i:i + seq_len]
    target = source[i + 1:i + 1 + seq_len].view(-1)
    return data, target


def evaluate(data_source):
    model.eval()
    total_loss = 0
    hidden = model.init_hidden(eval_batch_size)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, args.bptt):
            data, targets = get_batch(data_source, i)
            output, hidden = model(data, hidden)
            output_flat = output.view(-1, ntokens)
            total_loss += len(data) * criterion(output_flat, targets).item()
            hidden = repackage_hidden(hidden)
    return total_loss / len(data_source)


def train():
    model.train()
    total_loss = 0
    start_time = time.time()
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        hidden = repackage_hidden(hidden)
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output.view(-1, ntokens), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad.data, alpha=-lr)

        total_loss += loss.item()
        if batch % args.log_interval == 0 and batch > 0:
            cur_loss = total_loss / args.log_interval
            elapsed = time.time() - start_time
            print('| epoch {:3d} | {:5d}/{:5d} batches | lr {:02.2f} | ms/batch {:5.2f} | '
                  'loss {:5.2f} | ppl {:8.2f}'.format(
                      epoch, batch, len(train_data) // args.bptt, lr,
                      elapsed * 1000 / args.log_interval, cur_loss, math.exp(cur_loss)))
            total_loss = 0
            start_time = time.time()


lr = args.lr
best_val_loss = None
for epoch in range(1, args.epochs + 1):
    train()
    val_loss = evaluate(val_data)
    print('| end of epoch {:3d} | valid loss {:5.2f} | valid ppl {:8.2f}'.format(
        epoch, val_loss, math.exp(val_loss)))
    if not best_val_loss or val_loss < best_val_loss:
        torch.save(model.state_dict(), save)
        best_val_loss = val_loss
    else:
        lr /= 4.0

model.load_state_dict(torch.load(save))
print('| End of training | best valid loss {:5.2f}'.format(evaluate(val_data)))
