r"""An LSTM translator with an encoder that reads both ways, its states joined for the decoder.

Source: https://github.com/facebookresearch/fairseq/issues/239
Fault: the final states (layers * 2, batch, hidden) are joined by a view to (layers, batch,
    2 * hidden) without bringing the two directions next to each other first, so that the state of
    one sentence is made of the states of two other sentences of the batch.
Cause: (view|reshap).*(transpos|permut|batch|sample|sentence|direction|mix|order|memory)
    |(transpos|permut|swap).*(missing|forgot|before|without|first|need)
    |(batch|sample|sentence|row|sequence)s?\b.*(mix|scrambl|leak)
    |(batch|sample|sentence|row|sequence)s?\b.*(depend|interleav|each other|another)
    |(mix|scrambl|leak|interleav)\w*.*(batch|sample|sentence|direction|row)
Place: combine_bidir|encoder|final_hiddens|final_cells|outs|view
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0
VOCAB = 13
LENGTH = 6


def LSTM(input_size, hidden_size, **kwargs):
    m = nn.LSTM(input_size, hidden_size, **kwargs)
    for name, param in m.named_parameters():
        if 'weight' in name or 'bias' in name:
            param.data.uniform_(-0.1, 0.1)
    return m


class LSTMEncoder(nn.Module):
    """LSTM encoder."""
    def __init__(self, num_embeddings, embed_dim=32, hidden_size=32, num_layers=1,
                 bidirectional=True, dropout=0.0):
        super().__init__()
        self.num_layers = num_layers
        self.bidirectional = bidirectional
        self.hidden_size = hidden_size
        self.dropout = dropout
        self.embed_tokens = nn.Embedding(num_embeddings, embed_dim, padding_idx=PAD)
        self.lstm = LSTM(embed_dim, hidden_size, num_layers=num_layers,
                         bidirectional=bidirectional)
        self.output_units = hidden_size
        if bidirectional:
            self.output_units *= 2

    def forward(self, src_tokens):
        bsz, seqlen = src_tokens.size()
        x = self.embed_tokens(src_tokens)
        x = F.dropout(x, p=self.dropout, training=self.training)
        x = x.transpose(0, 1)  # B x T x C -> T x B x C

        x, (final_hiddens, final_cells) = self.lstm(x)

        if self.bidirectional:
            def combine_bidir(outs):
                return outs.view(self.num_layers, bsz, -1)  # here

            final_hiddens = combine_bidir(final_hiddens)
            final_cells = combine_bidir(final_cells)
        return x, final_hiddens, final_cells


class LSTMDecoder(nn.Module):
    """LSTM decoder, without attention."""
    def __init__(self, num_embeddings, embed_dim, hidden_size, encoder_units, num_layers=1):
        super().__init__()
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.embed_tokens = nn.Embedding(num_embeddings, embed_dim)
        self.encoder_hidden_proj = nn.Linear(encoder_units, hidden_size)
        self.encoder_cell_proj = nn.Linear(encoder_units, hidden_size)
        self.layers = nn.ModuleList([
            nn.LSTMCell(embed_dim if layer == 0 else hidden_size, hidden_size)
            for layer in range(num_layers)
        ])
        self.fc_out = nn.Linear(hidden_size, num_embeddings)

    def forward(self, prev_output_tokens, encoder_out):
        _, final_hiddens, final_cells = encoder_out
        x = self.embed_tokens(prev_output_tokens).transpose(0, 1)
        hiddens = [self.encoder_hidden_proj(final_hiddens[i]) for i in range(self.num_layers)]
        cells = [self.encoder_cell_proj(final_cells[i]) for i in range(self.num_layers)]
        outs = []
        for j in range(x.size(0)):
            input = x[j]
            for i, rnn in enumerate(self.layers):
                hidden, cell = rnn(input, (hiddens[i], cells[i]))
                input = hidden
                hiddens[i], cells[i] = hidden, cell
            outs.append(hidden)
        x = torch.stack(outs, dim=0).transpose(1, 0)
        return self.fc_out(x)


class LSTMModel(nn.Module):
    def __init__(self, vocab=VOCAB, embed_dim=32, hidden=48):
        super().__init__()
        self.encoder = LSTMEncoder(vocab, embed_dim, hidden)
        self.decoder = LSTMDecoder(vocab + 1, embed_dim, hidden, self.encoder.output_units)

    def forward(self, src_tokens, prev_output_tokens):
        return self.decoder(prev_output_tokens, self.encoder(src_tokens))


def make_letters(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    src = torch.randint(1, VOCAB, (n, LENGTH), generator=g)
    trg = (src + 1 - 1) % (VOCAB - 1) + 1
    trg = trg[:, :4].flip(1)
    bos = torch.full((n, 1), VOCAB)
    return src, torch.cat([bos, trg[:, :-1]], dim=1), trg


def build():
    torch.manual_seed(0)
    return LSTMModel()


def example_inputs():
    src, prev, _ = make_letters(8)
    return src, prev
