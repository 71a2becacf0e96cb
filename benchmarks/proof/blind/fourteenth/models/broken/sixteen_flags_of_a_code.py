r"""A reader of 48 symbols with sixteen yes-or-no outputs, carried over from Keras.

Source: https://discuss.pytorch.org/t/the-loss-in-pytorch-decreases-slower-than-in-keras/61598
Fault: the LSTM was made without batch_first, but gets batches with the samples in front; it runs
    over the samples of a batch as if they were time, and the state of one sample goes into the
    next, so that x[:, -1, :] sees only the last symbol of a sample.
Cause: batch_?first
    |(batch|sample).{0,80}(as|for|instead of|over|along|like).{0,20}(time|sequence|steps?)
    |(lstm|recurr|rnn|scan|runs?|state|hidden).{0,80}(over|across|along|between|through
    |from).{0,20}(batch|samples?|one sample)
    |(swap|exchang|mix|transpos|wrong|confus).{0,40}(batch|time|sequence|axis|axes|dim|layout|order)
    |(samples?|rows?|outputs?).{0,60}(depend|influence|leak|see).{0,40}(other|each other|another
    |earlier|previous)
Place: lstm|LSTM|x\[:, -1|forward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def hard_sigmoid(x):
    """
    Computes element-wise hard sigmoid of x.
    See e.g. https://github.com/Theano/Theano/blob/master/theano/tensor/nnet/sigm.py#L279
    """
    x = (0.2 * x) + 0.5
    x = F.threshold(-x, -1, -1)
    x = F.threshold(-x, 0, 0)
    return x


class LSTM(nn.Module):

    def __init__(self, embedding_dim, hidden_dim, vocab_size, output_size):
        super().__init__()

        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)  # here
        self.dropout = nn.Dropout(0.1)
        self.fc = nn.Linear(hidden_dim, output_size)
        self.init_weights()

    def init_weights(self):
        for name, param in self.lstm.named_parameters():
            if 'weight_ih' in name:
                nn.init.xavier_uniform_(param.data)
            elif 'weight_hh' in name:
                nn.init.orthogonal_(param.data)
            elif 'bias' in name:
                param.data.fill_(0)
        nn.init.xavier_uniform_(self.fc.weight)
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        x = self.embedding(x)
        x, _ = self.lstm(x, None)
        x = x[:, -1, :]
        x = self.dropout(x)
        x = self.fc(x)
        x = hard_sigmoid(x)
        return x


def build():
    torch.manual_seed(0)
    return LSTM(10, 50, 16, 16)


def example_inputs():
    torch.manual_seed(1)
    return (torch.randint(0, 16, (32, 48)),)
