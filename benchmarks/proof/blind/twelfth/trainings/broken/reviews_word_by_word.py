r"""Hierarchical attention on made-up reviews: words make sentences, sentences make the review.

Source: https://github.com/pandeykartikey/Hierarchical-Attention-Network/issues/5
Fault: the GRU is not batch_first, its output is (steps, batch, features), yet the attention takes
    the softmax over dim 1, the batch; the weights of one review depend on the other ones and don't
    sum to one over its words.
Cause: softmax.{0,140}(dim|axis|batch|samples?|wrong|words?|steps?|time|sequence)
    |attention.{0,140}(over|across|along) (the )?(batch|samples?|other)|(other
    |different) samples?.{0,60}(mix|leak)|(weights?|attn).{0,80}(sum to one
    |normali[sz]ed).{0,60}(batch|samples?)|(depends? on|influenc\w*|mix\w*|leaks?).{0,50}(other
    |different|another).{0,10}(samples?|reviews?|rows?)|(samples?
    |rows?).{0,60}depends? on.{0,40}(batch|samples?|rows?)
Place: attn|softmax|dim|forward|WordRNN|SentenceRNN|wordattn|sentattn
"""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(3)
np.random.seed(3)
torch.manual_seed(3)

VOCAB = 120
STEPS, SENTS = 8, 4
GOOD = list(range(100, 110))
BAD = list(range(110, 120))


def make_reviews(n):
    x = np.random.randint(0, 100, size=(n, SENTS, STEPS))
    y = np.random.randint(0, 2, size=n)
    for i in range(n):
        for _ in range(2):
            s, w = np.random.randint(SENTS), np.random.randint(STEPS)
            x[i, s, w] = random.choice(GOOD if y[i] else BAD)
    return torch.from_numpy(x), torch.from_numpy(y)


def attention_mul(rnn_outputs, att_weights):
    return (rnn_outputs * att_weights).sum(0)


## The word RNN model for generating a sentence vector
class WordRNN(nn.Module):
    def __init__(self, vocab_size, embedsize, hid_size):
        super(WordRNN, self).__init__()
        self.hid_size = hid_size
        ## Word Encoder
        self.embed = nn.Embedding(vocab_size, embedsize)
        self.wordRNN = nn.GRU(embedsize, hid_size, bidirectional=True)
        ## Word Attention
        self.wordattn = nn.Linear(2 * hid_size, 2 * hid_size)
        self.attn_combine = nn.Linear(2 * hid_size, 1, bias=False)

    def forward(self, inp, hid_state):
        emb_out = self.embed(inp)
        out_state, hid_state = self.wordRNN(emb_out, hid_state)
        word_annotation = torch.tanh(self.wordattn(out_state))
        attn = F.softmax(self.attn_combine(word_annotation), dim=1)  # here
        sent = attention_mul(out_state, attn)
        return sent, hid_state


## The HAN model
class SentenceRNN(nn.Module):
    def __init__(self, vocab_size, embedsize, hid_size, c):
        super(SentenceRNN, self).__init__()
        self.hid_size = hid_size
        self.cls = c
        self.wordRNN = WordRNN(vocab_size, embedsize, hid_size)
        ## Sentence Encoder
        self.sentRNN = nn.GRU(2 * hid_size, hid_size, bidirectional=True)
        ## Sentence Attention
        self.sentattn = nn.Linear(2 * hid_size, 2 * hid_size)
        self.attn_combine = nn.Linear(2 * hid_size, 1, bias=False)
        self.doc_linear = nn.Linear(2 * hid_size, c)

    def forward(self, inp, hid_state_sent, hid_state_word):
        s = None
        ## Generating sentence vector through WordRNN
        for i in range(inp.size(1)):
            r, hid_state_word = self.wordRNN(inp[:, i].permute(1, 0), hid_state_word)
            r = r.unsqueeze(0)
            if s is None:
                s = r
            else:
                s = torch.cat((s, r), 0)
        out_state, hid_state = self.sentRNN(s, hid_state_sent)
        sent_annotation = torch.tanh(self.sentattn(out_state))
        attn = F.softmax(self.attn_combine(sent_annotation), dim=1)  # here
        doc = attention_mul(out_state, attn)
        d = self.doc_linear(doc)
        return F.log_softmax(d, dim=1), hid_state

    def init_hidden(self, batch_size):
        return torch.zeros(2, batch_size, self.hid_size)


def train_data(batch_size, review, targets, sent_attn_model, sent_optimizer, criterion):
    hid = sent_attn_model.init_hidden(batch_size)
    sent_optimizer.zero_grad()
    y_pred, _ = sent_attn_model(review, hid, hid)
    loss = criterion(y_pred, targets)
    acc = (y_pred.argmax(1) == targets).float().mean()
    loss.backward()
    sent_optimizer.step()
    return loss.item(), acc.item()


def check_accuracy(x, y, model, batch_size):
    correct = 0
    with torch.no_grad():
        for i in range(0, len(x), batch_size):
            hid = model.init_hidden(len(x[i:i + batch_size]))
            y_pred, _ = model(x[i:i + batch_size], hid, hid)
            correct += (y_pred.argmax(1) == y[i:i + batch_size]).sum().item()
    return correct / len(x)


x_train, y_train = make_reviews(1000)
x_test, y_test = make_reviews(400)
batch_size = 40
sent_attn = SentenceRNN(VOCAB, 32, 24, 2)
sent_optimizer = torch.optim.Adam(sent_attn.parameters(), lr=3e-3)
criterion = nn.NLLLoss()
for epoch in range(5):
    losses, accs = [], []
    order = torch.randperm(len(x_train))
    for i in range(0, len(x_train), batch_size):
        idx = order[i:i + batch_size]
        l, a = train_data(batch_size, x_train[idx], y_train[idx], sent_attn, sent_optimizer,
                          criterion)
        losses.append(l)
        accs.append(a)
    print("epoch %d loss %.4f train acc %.3f test acc %.3f" % (
        epoch, np.mean(losses), np.mean(accs),
        check_accuracy(x_test, y_test, sent_attn, batch_size)))
print("test acc one by one: %.3f" % check_accuracy(x_test, y_test, sent_attn, 1))
