r"""A batch seq2seq model with the attention of Bahdanau, written for translation.

Source: https://github.com/AuCson/PyTorch-Batch-Attention-Seq2seq/issues/3
Fault: the energy is linear: there is no tanh between the layer attn and the vector v, so that the
    decoder's hidden state adds the same number to every time step and the softmax takes it away;
    the alignment is the same at each step of the decoder.
Cause: (tanh|non-?linear|activation).*(missing|forgot|no\b|without|lack|absent|between|need)
    |(missing|forgot|no|without|lack|absent)\w* .*(tanh|non-?linear|activation)
    |(linear|affine).*(collapse|one|single|only|energy|score)
    |(hidden|decoder|query|state).*(cancel|no (effect|influence))
    |(hidden|decoder|query|state).*(drops? out|constant|does not (affect|matter))
    |(attention|alignment|energy|score)s?.*(independent of).*(hidden|decoder|state|query)
    |(attention|alignment|energy|score)s?.*(does not depend|ignores?).*(hidden|decoder|state|query)
    |shift.*softmax|softmax.*(shift|cancel)|(attention|alignment|weight)s?.*(not|never) depend
Place: attn|energy|score|\bv\b|Attn
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 14
LENGTH = 7


class Encoder(nn.Module):
    def __init__(self, input_size, embed_size, hidden_size, n_layers=1):
        super(Encoder, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, embed_size)
        self.gru = nn.GRU(embed_size, hidden_size, n_layers, bidirectional=True)

    def forward(self, input_seqs, hidden=None):
        embedded = self.embedding(input_seqs)
        outputs, hidden = self.gru(embedded, hidden)
        outputs = outputs[:, :, :self.hidden_size] + outputs[:, :, self.hidden_size:]
        return outputs, hidden


class Attn(nn.Module):
    def __init__(self, method, hidden_size):
        super(Attn, self).__init__()
        self.method = method
        self.hidden_size = hidden_size
        self.attn = nn.Linear(self.hidden_size * 2, hidden_size)
        self.v = nn.Parameter(torch.rand(hidden_size))
        stdv = 1. / math.sqrt(self.v.size(0))
        self.v.data.normal_(mean=0, std=stdv)

    def forward(self, hidden, encoder_outputs):
        max_len = encoder_outputs.size(0)
        H = hidden.repeat(max_len, 1, 1).transpose(0, 1)
        encoder_outputs = encoder_outputs.transpose(0, 1)  # [B*T*H]
        attn_energies = self.score(H, encoder_outputs)
        return F.softmax(attn_energies, dim=1).unsqueeze(1)  # [B*1*T]

    def score(self, hidden, encoder_outputs):
        energy = self.attn(torch.cat([hidden, encoder_outputs], 2))  # here
        energy = energy.transpose(2, 1)
        v = self.v.repeat(encoder_outputs.data.shape[0], 1).unsqueeze(1)  # [B*1*H]
        energy = torch.bmm(v, energy)  # [B*1*T]
        return energy.squeeze(1)


class BahdanauAttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, embed_size, output_size, n_layers=1, dropout_p=0.1):
        super(BahdanauAttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, embed_size)
        self.dropout = nn.Dropout(dropout_p)
        self.attn = Attn('concat', hidden_size)
        self.gru = nn.GRU(hidden_size + embed_size, hidden_size, n_layers)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, word_input, last_hidden, encoder_outputs):
        word_embedded = self.embedding(word_input).view(1, word_input.size(0), -1)
        word_embedded = self.dropout(word_embedded)
        attn_weights = self.attn(last_hidden[-1], encoder_outputs)
        context = attn_weights.bmm(encoder_outputs.transpose(0, 1)).transpose(0, 1)
        rnn_input = torch.cat((word_embedded, context), 2)
        output, hidden = self.gru(rnn_input, last_hidden)
        output = output.squeeze(0)
        return self.out(output), hidden


class Seq2Seq(nn.Module):
    def __init__(self, vocab=VOCAB, embed_size=24, hidden_size=32):
        super().__init__()
        self.encoder = Encoder(vocab, embed_size, hidden_size)
        self.decoder = BahdanauAttnDecoderRNN(hidden_size, embed_size, vocab + 1)

    def forward(self, src, trg):
        # src = [T, B], trg = [T, B] with the start word first
        encoder_outputs, hidden = self.encoder(src)
        hidden = hidden[:1]
        outputs = []
        for t in range(trg.size(0)):
            output, hidden = self.decoder(trg[t], hidden, encoder_outputs)
            outputs.append(output)
        return torch.stack(outputs)


def make_batch(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    src = torch.randint(0, VOCAB, (LENGTH, n), generator=g)
    answer = torch.cat([src[0::2], src[1::2]])
    start = torch.full((1, n), VOCAB)
    return src, torch.cat([start, answer[:-1]]), answer


def build():
    torch.manual_seed(0)
    return Seq2Seq()


def example_inputs():
    src, trg, _ = make_batch(6)
    return src, trg
