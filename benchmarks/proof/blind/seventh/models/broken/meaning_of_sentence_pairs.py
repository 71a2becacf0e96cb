r"""Entailment of two sentences with a recurrent encoder and a mean over the words.

Source: https://github.com/facebookresearch/InferSent/issues/51
Fault: The outputs are put back in the order of the batch, but the lengths by which the sums are
    divided stay in the sorted order.
Cause: (length\w*|sent_len).{0,120}(sorted|order|unsort|mismatch|another|other|wrong|restor
    |original)
    |(sort\w*|unsort\w*|order|permut\w*|indices).{0,120}(length|sent_len|divid|\bmean\b|normali)
    |divid\w*.{0,60}(wrong|other|sorted|mismatch).{0,30}length
Place: sent_len|lengths?|idx_\w*sort
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=100, dim=24, hidden=32, pool_type="mean"):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, bidirectional=True, batch_first=True)
        self.pool_type = pool_type

    def forward(self, words, sent_len):
        sent_len, idx_sort = sent_len.sort(descending=True)  # here
        idx_unsort = idx_sort.argsort()
        x = self.embed(words.index_select(0, idx_sort))
        packed = pack_padded_sequence(x, sent_len, batch_first=True)
        output = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        output = output.index_select(0, idx_unsort)
        if self.pool_type == "mean":
            return output.sum(1) / sent_len[:, None].float()
        return output.max(1).values


class Entailment(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.encoder = SentenceEncoder()
        self.classifier = nn.Sequential(
            nn.Linear(4 * 64, 64), nn.Tanh(), nn.Dropout(0.1), nn.Linear(64, classes)
        )

    def forward(self, first, first_len, second, second_len):
        u, v = self.encoder(first, first_len), self.encoder(second, second_len)
        return self.classifier(torch.cat([u, v, (u - v).abs(), u * v], dim=1))


def build():
    return Entailment()


def padded(lengths):
    words = torch.randint(1, 100, (len(lengths), int(lengths.max())))
    return words.masked_fill(torch.arange(words.shape[1]) >= lengths[:, None], 0)


def example_inputs():
    a, b = torch.tensor([3, 12, 7, 5, 10, 4]), torch.tensor([9, 2, 6, 8, 3, 11])
    return padded(a), a, padded(b), b
