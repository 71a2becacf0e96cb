r"""A bag of words for short reviews, whose table is drawn from a normal distribution of its own.

Source: https://github.com/pytorch/pytorch/issues/6411
Fault: the table has a padding index, but all its rows are drawn anew after it was made; the padding
    row is not zero any more and, having no gradient, stays so, and adds the same random vector to
    a review as many times as it is short.
Cause: pad.{0,140}(zero|overwrit|init|random|drawn|non.?zero|norm|again|reset|row|vector|influence
    |add|affect|count|contribut|change|not)
    |(overwrit|re.?init|init|drawn|normal_).{0,100}(pad)
Place: embedding|Embedding|weight|init|normal_|WeightNormalizedEmbedding
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def Embedding(num_embeddings, embedding_dim, padding_idx):
    m = nn.Embedding(num_embeddings, embedding_dim, padding_idx=padding_idx)
    m.weight.data.normal_(0, 0.5)  # here
    return m


def Linear(in_features, out_features, dropout=0.):
    m = nn.Linear(in_features, out_features)
    m.weight.data.normal_(mean=0, std=((1 - dropout) / in_features) ** 0.5)
    m.bias.data.zero_()
    return nn.utils.parametrizations.weight_norm(m)


class BagOfWords(nn.Module):
    def __init__(self, dictionary_size, embed_dim=48, hidden=64, num_classes=2, dropout=0.1,
                 pad=1):
        super().__init__()
        self.pad = pad
        self.dropout = dropout
        self.embed_tokens = Embedding(dictionary_size, embed_dim, pad)
        self.fc1 = Linear(embed_dim, hidden, dropout=dropout)
        self.fc2 = Linear(hidden, num_classes)

    def forward(self, src_tokens, src_lengths):
        x = self.embed_tokens(src_tokens)
        x = F.dropout(x, p=self.dropout, training=self.training)

        # sum over the words of a review, divided by their number
        x = x.sum(dim=1) / src_lengths.unsqueeze(1).float()

        x = torch.relu(self.fc1(x))
        x = F.dropout(x, p=self.dropout, training=self.training)
        return self.fc2(x)


def collate(samples, pad_idx):
    """Puts token lists of different lengths into one tensor, padding on the right."""
    lengths = torch.tensor([len(s) for s in samples])
    tokens = torch.full((len(samples), int(lengths.max())), pad_idx)
    for i, s in enumerate(samples):
        tokens[i, :len(s)] = s
    return tokens, lengths


def build():
    torch.manual_seed(0)
    return BagOfWords(150)


def example_inputs():
    torch.manual_seed(1)
    samples = []
    for i in range(24):
        n = 60 if i == 0 else int(torch.randint(3, 15, (1,)))
        samples.append(torch.randint(2, 150, (n,)))
    return collate(samples, 1)
