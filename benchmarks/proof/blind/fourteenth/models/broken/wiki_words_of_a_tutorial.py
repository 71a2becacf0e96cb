r"""The language model of the tutorial on nn.Transformer: an encoder that names the next word.

Source: https://github.com/pytorch/tutorials/issues/2478
Fault: the encoder is called without a causal mask; each position attends to the words that come
    after it, so that the next word is in its input. The perplexity gets far too low and the
    model cannot continue a text.
Cause: (no|without|missing|lack|never|not).{0,60}(mask|causal)
    |(mask|causal).{0,60}(missing|none|not|absent|never|lack|optional|omitted)
    |(attend|look|see|access|leak|read|depend|peek|influenc).{0,60}(future|later|next|after|ahead
    |subsequent|follow)
    |(future|later|next|subsequent|following).{0,60}(leak|visible|seen|attend|influence|change
    |affect|reach|known)
    |bidirectional|not causal|non.?causal
Place: src_mask|mask|transformer_encoder|TransformerEncoder|forward
"""

import math

import torch
from torch import nn, Tensor
from torch.nn import TransformerEncoder, TransformerEncoderLayer


class PositionalEncoding(nn.Module):

    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)

        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer('pe', pe)

    def forward(self, x: Tensor) -> Tensor:
        """
        Arguments:
            x: Tensor, shape ``[seq_len, batch_size, embedding_dim]``
        """
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class TransformerModel(nn.Module):

    def __init__(self, ntoken: int, d_model: int, nhead: int, d_hid: int,
                 nlayers: int, dropout: float = 0.5):
        super().__init__()
        self.model_type = 'Transformer'
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        encoder_layers = TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = TransformerEncoder(encoder_layers, nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.criterion = nn.CrossEntropyLoss()

        self.init_weights()

    def init_weights(self) -> None:
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src: Tensor, targets: Tensor, src_mask: Tensor = None) -> Tensor:
        """
        Arguments:
            src: Tensor, shape ``[seq_len, batch_size]``
            targets: Tensor, shape ``[seq_len * batch_size]``
            src_mask: Tensor, shape ``[seq_len, seq_len]``

        Returns:
            the loss of the next words
        """
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        output = self.transformer_encoder(src, src_mask)  # here
        output = self.linear(output)
        ntokens = output.size(-1)
        return self.criterion(output.view(-1, ntokens), targets)


ntokens = 80  # size of vocabulary
emsize = 32  # embedding dimension
d_hid = 64  # dimension of the feedforward network model in ``nn.TransformerEncoder``
nlayers = 2  # number of ``nn.TransformerEncoderLayer`` in ``nn.TransformerEncoder``
nhead = 2  # number of heads in ``nn.MultiheadAttention``
dropout = 0.2  # dropout probability
bptt = 24


def get_batch(source: Tensor, i: int):
    seq_len = min(bptt, len(source) - 1 - i)
    data = source[i:i + seq_len]
    target = source[i + 1:i + 1 + seq_len].reshape(-1)
    return data, target


def build():
    torch.manual_seed(0)
    return TransformerModel(ntokens, emsize, nhead, d_hid, nlayers, dropout)


def example_inputs():
    torch.manual_seed(1)
    follow = torch.randint(0, ntokens, (ntokens, 3))
    words = [torch.randint(0, ntokens, (12,))]
    for _ in range(40):
        words.append(follow[words[-1], torch.randint(0, 3, (12,))])
    return get_batch(torch.stack(words), 0)
