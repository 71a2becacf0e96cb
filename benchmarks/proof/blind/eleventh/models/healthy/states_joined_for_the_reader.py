r"""An encoder-decoder of early OpenNMT: two-way encoder, input feeding, general attention.

Source: https://github.com/OpenNMT/OpenNMT-py/issues/61
Healthy: the final states (layers * 2, batch, dim) are joined to (layers, batch, 2 * dim); layer
    and direction are split first and the transpose comes before the second view, so that each
    sentence keeps its own two directions. The directions of one layer lie next to each other.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 12
LENGTH = 6


class Encoder(nn.Module):
    def __init__(self, vocab, word_vec_size=24, rnn_size=32, layers=2, brnn=True, dropout=0.0):
        super(Encoder, self).__init__()
        self.layers = layers
        self.num_directions = 2 if brnn else 1
        assert rnn_size % self.num_directions == 0
        self.hidden_size = rnn_size // self.num_directions
        self.word_lut = nn.Embedding(vocab, word_vec_size)
        self.rnn = nn.LSTM(word_vec_size, self.hidden_size, num_layers=layers, dropout=dropout,
                           bidirectional=brnn)

    def forward(self, input, hidden=None):
        emb = self.word_lut(input)
        outputs, hidden_t = self.rnn(emb, hidden)
        return hidden_t, outputs


class StackedLSTM(nn.Module):
    def __init__(self, num_layers, input_size, rnn_size, dropout):
        super(StackedLSTM, self).__init__()
        self.dropout = nn.Dropout(dropout)
        self.num_layers = num_layers
        self.layers = nn.ModuleList()
        for i in range(num_layers):
            self.layers.append(nn.LSTMCell(input_size, rnn_size))
            input_size = rnn_size

    def forward(self, input, hidden):
        h_0, c_0 = hidden
        h_1, c_1 = [], []
        for i, layer in enumerate(self.layers):
            h_1_i, c_1_i = layer(input, (h_0[i], c_0[i]))
            input = h_1_i
            if i + 1 != self.num_layers:
                input = self.dropout(input)
            h_1 += [h_1_i]
            c_1 += [c_1_i]
        return input, (torch.stack(h_1), torch.stack(c_1))


class GlobalAttention(nn.Module):
    def __init__(self, dim):
        super(GlobalAttention, self).__init__()
        self.linear_in = nn.Linear(dim, dim, bias=False)
        self.linear_out = nn.Linear(dim * 2, dim, bias=False)

    def forward(self, input, context):
        """
        input: batch x dim
        context: batch x sourceL x dim
        """
        targetT = self.linear_in(input).unsqueeze(2)
        attn = F.softmax(torch.bmm(context, targetT).squeeze(2), dim=1)
        weightedContext = torch.bmm(attn.unsqueeze(1), context).squeeze(1)
        contextCombined = torch.cat((weightedContext, input), 1)
        return torch.tanh(self.linear_out(contextCombined)), attn


class Decoder(nn.Module):
    def __init__(self, vocab, word_vec_size=24, rnn_size=32, layers=2, input_feed=True):
        super(Decoder, self).__init__()
        self.input_feed = input_feed
        input_size = word_vec_size + (rnn_size if input_feed else 0)
        self.word_lut = nn.Embedding(vocab, word_vec_size)
        self.rnn = StackedLSTM(layers, input_size, rnn_size, 0.0)
        self.attn = GlobalAttention(rnn_size)

    def forward(self, input, hidden, context, init_output):
        emb = self.word_lut(input)
        outputs = []
        output = init_output
        for emb_t in emb.split(1):
            emb_t = emb_t.squeeze(0)
            if self.input_feed:
                emb_t = torch.cat([emb_t, output], 1)
            output, hidden = self.rnn(emb_t, hidden)
            output, attn = self.attn(output, context.transpose(0, 1))
            outputs += [output]
        return torch.stack(outputs), hidden, attn


class NMTModel(nn.Module):
    def __init__(self, encoder, decoder, generator):
        super(NMTModel, self).__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.generator = generator

    def make_init_decoder_output(self, context):
        batch_size = context.size(1)
        return context.new_zeros(batch_size, self.generator.in_features)

    def _fix_enc_hidden(self, h):
        #  the encoder hidden is  (layers*directions) x batch x dim
        #  we need to convert it to layers x batch x (directions*dim)
        if self.encoder.num_directions == 2:
            return h.view(h.size(0) // 2, 2, h.size(1), h.size(2)) \
                    .transpose(1, 2).contiguous() \
                    .view(h.size(0) // 2, h.size(1), h.size(2) * 2)
        else:
            return h

    def forward(self, src, tgt):
        enc_hidden, context = self.encoder(src)
        init_output = self.make_init_decoder_output(context)
        enc_hidden = (self._fix_enc_hidden(enc_hidden[0]), self._fix_enc_hidden(enc_hidden[1]))
        out, dec_hidden, _attn = self.decoder(tgt, enc_hidden, context, init_output)
        return self.generator(out)


def make_pairs(n=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    src = torch.randint(0, VOCAB, (LENGTH, n), generator=g)
    answer = ((src + 3) % VOCAB).flip(0)
    start = torch.full((1, n), VOCAB)
    return src, torch.cat([start, answer[:-1]]), answer


def build():
    torch.manual_seed(0)
    return NMTModel(Encoder(VOCAB), Decoder(VOCAB + 1), nn.Linear(32, VOCAB))


def example_inputs():
    src, tgt, _ = make_pairs(8)
    return src, tgt
