r"""Recurrent language model on a made-up text, with autocast, a grad scaler and clipping.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/9599
Fault: the gradients are clipped right after backward(), while they still carry the loss scale;
    the step then divides the clipped gradients by the scale and hardly moves anything.
Cause: unscale
    |clip.{0,120}(scale|scaling|scaled|before)
    |(scale|scaling|scaled).{0,120}clip
    |(gradient|grad|step|update)s?.{0,100}(scale factor|loss scale|scaler)
Place: clip_grad_norm_|clip|unscale_|scaler|max_norm|GradScaler
"""
import argparse
import math
import random
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='recurrent language model with amp')
parser.add_argument('--emsize', type=int, default=32)
parser.add_argument('--nhid', type=int, default=64)
parser.add_argument('--lr', type=float, default=2.0)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--epochs', type=int, default=6)
parser.add_argument('--batch_size', type=int, default=20)
parser.add_argument('--bptt', type=int, default=20)
parser.add_argument('--dropout', type=float, default=0.1)
parser.add_argument('--seed', type=int, default=1111)
parser.add_argument('--log-interval', type=int, default=25)
args = parser.parse_args()

torch.manual_seed(args.seed)
random.seed(args.seed)
device = torch.device("cpu")


class Dictionary(object):
    def __init__(self):
        self.word2idx = {}
        self.idx2word = []

    def add_word(self, word):
        if word not in self.word2idx:
            self.idx2word.append(word)
            self.word2idx[word] = len(self.idx2word) - 1
        return self.word2idx[word]

    def __len__(self):
        return len(self.idx2word)


class Corpus(object):
    NOUNS = ['dog', 'cat', 'king', 'queen', 'bird', 'fish', 'boat', 'house']
    VERBS = ['sees', 'likes', 'finds', 'leaves', 'paints']
    ADJ = ['old', 'small', 'red', 'quiet', 'happy']

    def __init__(self):
        self.dictionary = Dictionary()
        self.train = self.tokenize(2600)
        self.valid = self.tokenize(300)

    def sentence(self):
        s = random.choice(self.NOUNS)
        k = self.NOUNS.index(s)
        words = ['the', self.ADJ[k % 5], s, random.choice(self.VERBS), 'the']
        words.append(self.NOUNS[(k + random.choice([1, 2])) % 8])
        if random.random() < 0.3:
            words += ['and', 'sleeps']
        return words + ['<eos>']

    def tokenize(self, sentences):
        ids = []
        for _ in range(sentences):
            ids += [self.dictionary.add_word(w) for w in self.sentence()]
        return torch.tensor(ids)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, dropout):
        super(RNNModel, self).__init__()
        self.ntoken = ntoken
        self.nhid = nhid
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.GRU(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return decoded.view(-1, self.ntoken), hidden

    def init_hidden(self, bsz):
        return torch.zeros(1, bsz, self.nhid)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


corpus = Corpus()
ntokens = len(corpus.dictionary)
train_data = batchify(corpus.train, args.batch_size)
val_data = batchify(corpus.valid, 10)
model = RNNModel(ntokens, args.emsize, args.nhid, args.dropout).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
scaler = torch.amp.GradScaler('cpu')
print('tokens {}, batches {}'.format(ntokens, len(train_data) // args.bptt))


def evaluate(data_source):
    model.eval()
    total_loss = 0.
    hidden = model.init_hidden(10)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, args.bptt):
            data, targets = get_batch(data_source, i)
            output, hidden = model(data, hidden)
            total_loss += len(data) * criterion(output, targets).item()
    return total_loss / (len(data_source) - 1)


def train(epoch):
    model.train()
    total_loss = 0.
    start_time = time.time()
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        optimizer.zero_grad()
        hidden = hidden.detach()
        with torch.autocast('cpu', dtype=torch.bfloat16):
            output, hidden = model(data, hidden)
            loss = criterion(output.float(), targets)
        hidden = hidden.float()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)  # here
        scaler.step(optimizer)
        scaler.update()
        total_loss += loss.item()
        if batch % args.log_interval == 0 and batch > 0:
            cur_loss = total_loss / args.log_interval
            print('| epoch {:3d} | {:5d} batches | ms/batch {:5.2f} | scale {:.0f} | '
                  'loss {:5.3f} | ppl {:7.2f}'.format(
                      epoch, batch, (time.time() - start_time) * 1000 / args.log_interval,
                      scaler.get_scale(), cur_loss, math.exp(cur_loss)))
            total_loss = 0
            start_time = time.time()


for epoch in range(1, args.epochs + 1):
    train(epoch)
    val_loss = evaluate(val_data)
    print('| end of epoch {:3d} | valid loss {:5.3f} | valid ppl {:8.2f}'.format(
        epoch, val_loss, math.exp(val_loss)))
