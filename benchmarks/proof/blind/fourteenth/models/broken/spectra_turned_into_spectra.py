r"""A transformer encoder that turns a whole spectrogram into a second one of the same size.

Source: https://openillumi.com/en/en-pytorch-transformer-non-ar-seq2seq-mask-guide
Fault: the square mask of a language model was left in the forward pass, though all frames of the
    input are given at once; a frame may not look at later frames, and where the answer needs
    them the loss does not come down.
Cause: (causal|autoregressive|subsequent|triangular|look.?ahead|\bfuture\b)|(src_mask
    |mask).{0,100}(later|next|follow|block|hid|forbid|prevent|attend|see|upper|square|half|ahead)
    |(later|next|following) (frames?|steps?|positions?|tokens?).{0,60}(hidden|block|not|cannot
    |never|ignored|no influence|invisible|mask)|(cannot|can.?t|not|never|only).{0,40}(see|attend
    |look|use|read).{0,40}(later|future|next|following|past|previous|earlier|whole)
Place: src_mask|mask|_generate_square_subsequent_mask|forward|transformer_encoder
"""

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=500):
        super(PositionalEncoding, self).__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0).transpose(0, 1)
        self.register_buffer('pe', pe)

    def forward(self, x):
        return x + self.pe[:x.size(0), :]


class TransformerReconstruct(nn.Module):
    def __init__(self, feature_size=40, num_layers=1, dropout=0.1, nhead=10, output_dim=40):
        super(TransformerReconstruct, self).__init__()
        self.model_type = 'Transformer'

        self.src_mask = None
        self.pos_encoder = PositionalEncoding(feature_size)
        self.encoder_layer = nn.TransformerEncoderLayer(d_model=feature_size, nhead=nhead,
                                                        dropout=dropout)
        self.transformer_encoder = nn.TransformerEncoder(self.encoder_layer,
                                                         num_layers=num_layers)
        self.decoder = nn.Linear(feature_size, output_dim)
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        self.decoder.bias.data.zero_()
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def forward(self, src):
        # src: frames, batch, bins
        if self.src_mask is None or self.src_mask.size(0) != len(src):
            device = src.device
            mask = self._generate_square_subsequent_mask(len(src)).to(device)
            self.src_mask = mask

        src = self.pos_encoder(src)
        output = self.transformer_encoder(src, self.src_mask)  # here
        output = self.decoder(output)
        return output

    def _generate_square_subsequent_mask(self, sz):
        mask = (torch.triu(torch.ones(sz, sz)) == 1).transpose(0, 1)
        mask = mask.float().masked_fill(mask == 0, float('-inf')).masked_fill(mask == 1,
                                                                              float(0.0))
        return mask


def build():
    torch.manual_seed(0)
    return TransformerReconstruct(num_layers=2)


def example_inputs():
    torch.manual_seed(1)
    frames = torch.arange(30).view(30, 1, 1)
    bins = torch.arange(40).view(1, 1, 40)
    start = torch.rand(1, 8, 1) * 30
    slope = torch.randn(1, 8, 1) * 0.5
    src = torch.exp(-(bins - start - slope * frames) ** 2 / 8)
    return (src + 0.05 * torch.randn(30, 8, 40),)
