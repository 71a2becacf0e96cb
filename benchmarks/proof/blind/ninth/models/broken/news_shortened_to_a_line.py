r"""Writer of headlines with a recurrent encoder and a decoder that looks back at the news.

Source: https://github.com/JulesBelveze/text-summarizer/pull/8
Fault: The hidden state of the encoder is kept from one batch to the next, so a text is read with
    the state left by other texts.
Cause: (hidden|state).{0,140}(kept|keeps?|carr(y|ie)\w*|persist\w*|previous (batch|call|text
    |forward|example))|(hidden|state).{0,120}(never|not|n't).{0,20}(reset|re-?init\w*|cleared
    |zero\w*|fresh)|(leak\w*|across|between|left (over )?(by|from)).{0,60}(batch\w*|calls
    |texts|forward)|stale|stateful|(reset|re-?initiali[sz]\w*).{0,60}(hidden|state)
Place: hidden|state|encoder|forward|init_hidden
"""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, words, size, batch):
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(words, size)
        self.gru = nn.GRU(size, size, batch_first=True)
        self.init_hidden(batch)

    def init_hidden(self, batch):
        self.hidden = torch.zeros(1, batch, self.size)

    def forward(self, text):
        states, hidden = self.gru(self.embedding(text), self.hidden)
        self.hidden = hidden.detach()  # here
        return states, hidden


class Decoder(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.gru = nn.GRUCell(2 * size, size)
        self.query = nn.Linear(size, size, bias=False)
        self.out = nn.Linear(2 * size, words)

    def forward(self, word, state, memory):
        scores = torch.bmm(memory, self.query(state).unsqueeze(2)).squeeze(2)
        context = torch.bmm(scores.softmax(1).unsqueeze(1), memory).squeeze(1)
        state = self.gru(torch.cat([self.embedding(word), context], 1), state)
        return self.out(torch.cat([state, context], 1)), state


class Headlines(nn.Module):
    def __init__(self, words=200, size=48, batch=4):
        super().__init__()
        self.encoder, self.decoder = Encoder(words, size, batch), Decoder(words, size)

    def forward(self, news, line):
        memory, hidden = self.encoder(news)
        state, loss = hidden[0], 0
        for before, after in zip(line.unbind(1)[:-1], line.unbind(1)[1:]):
            scores, state = self.decoder(before, state, memory)
            loss = loss + F.cross_entropy(scores, after)
        return loss / (line.size(1) - 1)


def build():
    return Headlines()


def example_inputs():
    return torch.randint(0, 200, (4, 25)), torch.randint(0, 200, (4, 8))
