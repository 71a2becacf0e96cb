r"""A translator in the manner of the OpenNMT example, with input feeding and global attention.

Source: https://github.com/pytorch/examples/issues/88
Fault: inside of the loop over target words the recurrent cell is always called with the state
    that came from the encoder; the state it returns is put into another name and thrown away, so
    the decoder has no memory of its own and the perplexity stays high.
Cause: (hidden|state|memory|\bh\b).{0,80}(not|never|n't).{0,20}(updat|carr|pass|fed|used|advanc
    |propagat|read|kept|mov)
    |(same|initial|first|encoder.?s?|original|unchanged|constant|stale).{0,30}(hidden
    |state).{0,60}(every|each|all|again|step|loop|iteration|word|time)
    |(new|returned|next|resulting|output) (hidden|state|h\b).{0,60}(ignored|discard|thrown|unused
    |lost|dropped|never|not|overwritten)
    |(recurren|lstm|rnn|cell|decoder).{0,60}(from|with|in) the (same|initial|first
    |encoder).{0,20}state
Place: hidden|\bh\b|rnn|Decoder|forward
"""

import torch
import torch.nn as nn

PAD = 0
BOS = 2
EOS = 3


class GlobalAttention(nn.Module):
    def __init__(self, dim):
        super(GlobalAttention, self).__init__()
        self.linear_in = nn.Linear(dim, dim, bias=False)
        self.sm = nn.Softmax(dim=1)
        self.linear_out = nn.Linear(dim * 2, dim, bias=False)
        self.tanh = nn.Tanh()

    def forward(self, input, context):
        """
        input: batch x dim
        context: batch x sourceL x dim
        """
        targetT = self.linear_in(input).unsqueeze(2)  # batch x dim x 1

        # Get attention
        attn = torch.bmm(context, targetT).squeeze(2)  # batch x sourceL
        attn = self.sm(attn)
        attn3 = attn.view(attn.size(0), 1, attn.size(1))  # batch x 1 x sourceL

        weightedContext = torch.bmm(attn3, context).squeeze(1)  # batch x dim
        contextCombined = torch.cat((weightedContext, input), 1)

        contextOutput = self.tanh(self.linear_out(contextCombined))

        return contextOutput, attn


class Encoder(nn.Module):

    def __init__(self, vocab_size, word_vec_size, rnn_size, layers, dropout):
        super(Encoder, self).__init__()
        self.layers = layers
        self.hidden_size = rnn_size
        self.word_lut = nn.Embedding(vocab_size, word_vec_size, padding_idx=PAD)
        self.rnn = nn.LSTM(word_vec_size, rnn_size, num_layers=layers, dropout=dropout)

    def forward(self, input):
        emb = self.word_lut(input)
        outputs, hidden_t = self.rnn(emb)
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

        h_1 = torch.stack(h_1)
        c_1 = torch.stack(c_1)

        return input, (h_1, c_1)


class Decoder(nn.Module):

    def __init__(self, vocab_size, word_vec_size, rnn_size, layers, dropout, input_feed=True):
        super(Decoder, self).__init__()
        self.layers = layers
        self.input_feed = input_feed
        input_size = word_vec_size
        if self.input_feed:
            input_size += rnn_size

        self.word_lut = nn.Embedding(vocab_size, word_vec_size, padding_idx=PAD)
        self.rnn = StackedLSTM(layers, input_size, rnn_size, dropout)
        self.attn = GlobalAttention(rnn_size)
        self.dropout = nn.Dropout(dropout)
        self.hidden_size = rnn_size

    def forward(self, input, hidden, context, init_output):
        emb = self.word_lut(input)

        # n.b. you can increase performance if you compute W_ih * x for all
        # iterations in parallel, but that's only possible if
        # self.input_feed=False
        outputs = []
        output = init_output
        for emb_t in emb.split(1):
            emb_t = emb_t.squeeze(0)
            if self.input_feed:
                emb_t = torch.cat([emb_t, output], 1)

            output, h = self.rnn(emb_t, hidden)  # here
            output, attn = self.attn(output, context.transpose(0, 1))
            output = self.dropout(output)
            outputs += [output]

        outputs = torch.stack(outputs)
        return outputs, h, attn


class NMTModel(nn.Module):

    def __init__(self, encoder, decoder, generator):
        super(NMTModel, self).__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.generator = generator

    def make_init_decoder_output(self, context):
        batch_size = context.size(1)
        return context.new_zeros(batch_size, self.decoder.hidden_size)

    def forward(self, src, tgt):
        tgt_in = tgt[:-1]  # exclude last target from inputs
        enc_hidden, context = self.encoder(src)
        init_output = self.make_init_decoder_output(context)
        out, dec_hidden, _attn = self.decoder(tgt_in, enc_hidden, context, init_output)
        return self.generator(out)


def build():
    torch.manual_seed(0)
    encoder = Encoder(60, 32, 48, 2, 0.1)
    decoder = Decoder(60, 32, 48, 2, 0.1)
    generator = nn.Sequential(nn.Linear(48, 60), nn.LogSoftmax(dim=-1))
    return NMTModel(encoder, decoder, generator)


def example_inputs():
    torch.manual_seed(1)
    src = torch.randint(4, 60, (9, 16))
    tgt = torch.randint(4, 60, (11, 16))
    tgt[0] = BOS
    tgt[-1] = EOS
    return src, tgt
