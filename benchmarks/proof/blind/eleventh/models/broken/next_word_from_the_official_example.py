r"""A word language model with a transformer encoder, after the official example.

Source: https://github.com/pytorch/examples/issues/649
Fault: the mask is flipped: minus infinity stands below the diagonal, so that a word is hidden from
    its past and sees all that comes after it, among it the word that it has to predict.
Cause: mask.*(flip|invert|revers|upside|transpos|wrong|future|past)
    |mask.*(below|lower|triang|opposite|leak|later|next|ahead)
    |(future|later|next|following|ahead|right)\b.*(leak|see|visible|attend|look)
    |(future|later|next|following|ahead|right)\b.*(access|depend|target|position|token)
    |(leak|see|attend|look|access|depend)\w*.*(future|later|next|following|ahead)|not causal
    |causal(ity)?.*(broken|violat|wrong|flip|invert|not)|tril|triu
    |depend\w* on.*(after|later|following|next)
Place: mask|src_mask|_generate_square_subsequent_mask|attn
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

NTOKENS = 15


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=500):
        super(PositionalEncoding, self).__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0).transpose(0, 1)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + self.pe[:x.size(0), :]
        return self.dropout(x)


class TransformerModel(nn.Module):
    """Container module with an encoder, a recurrent or transformer module, and a decoder."""

    def __init__(self, ntoken, ninp, nhead, nhid, nlayers, dropout=0.1):
        super(TransformerModel, self).__init__()
        self.src_mask = None
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        encoder_layers = nn.TransformerEncoderLayer(ninp, nhead, nhid, dropout)
        self.transformer_encoder = nn.TransformerEncoder(encoder_layers, nlayers,
                                                         enable_nested_tensor=False)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.ninp = ninp
        self.decoder = nn.Linear(ninp, ntoken)
        self.init_weights()

    def _generate_square_subsequent_mask(self, sz):
        mask = torch.tril(torch.ones(sz, sz), -1)  # here
        return mask.masked_fill(mask == 1, float('-inf'))

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -initrange, initrange)

    def forward(self, src, has_mask=True):
        if has_mask:
            if self.src_mask is None or self.src_mask.size(0) != len(src):
                self.src_mask = self._generate_square_subsequent_mask(len(src)).to(src.device)
        else:
            self.src_mask = None

        src = self.encoder(src) * math.sqrt(self.ninp)
        src = self.pos_encoder(src)
        output = self.transformer_encoder(src, self.src_mask)
        output = self.decoder(output)
        return F.log_softmax(output, dim=-1)


def markov_text(length, seed=0):
    g = torch.Generator().manual_seed(5)
    follow = torch.stack([torch.randperm(NTOKENS, generator=g)[:3] for _ in range(NTOKENS)])
    g = torch.Generator().manual_seed(seed)
    word, out = 0, []
    for k in torch.randint(0, 3, (length,), generator=g).tolist():
        word = int(follow[word, k])
        out.append(word)
    return torch.tensor(out)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt=16):
    seq_len = min(bptt, len(source) - 1 - i)
    data = source[i:i + seq_len]
    target = source[i + 1:i + 1 + seq_len].view(-1)
    return data, target


def build():
    torch.manual_seed(0)
    return TransformerModel(NTOKENS, 32, 2, 64, 2, dropout=0.1)


def example_inputs():
    source = batchify(markov_text(400), 8)
    return (get_batch(source, 0)[0],)
