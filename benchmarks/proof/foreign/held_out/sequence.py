"""Sequence models as people publish them; none declares an input."""

import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class CNNLSTM(nn.Module):
    """frames go through a small CNN, the features through an LSTM"""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 5, 2)
        self.conv2 = nn.Conv2d(8, 16, 5, 2)
        self.lstm = nn.LSTM(16 * 13 * 13, 32, batch_first=True)
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        batch_size, timesteps, C, H, W = x.size()
        c_in = x.view(batch_size * timesteps, C, H, W)
        c_out = F.relu(self.conv2(F.relu(self.conv1(c_in))))
        r_in = c_out.view(batch_size, timesteps, -1)
        r_out, _ = self.lstm(r_in)
        return self.fc(r_out[:, -1])


class Chomp1d(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x[:, :, : -self.n].contiguous()


class TCN(nn.Module):
    def __init__(self, input_size=5, channels=(8, 8, 8), kernel_size=3, output_size=2):
        super().__init__()
        layers, prev = [], input_size
        for i, c in enumerate(channels):
            d = 2**i
            pad = (kernel_size - 1) * d
            layers += [
                nn.Conv1d(prev, c, kernel_size, padding=pad, dilation=d),
                Chomp1d(pad),
                nn.ReLU(),
            ]
            prev = c
        self.tcn = nn.Sequential(*layers)
        self.linear = nn.Linear(prev, output_size)

    def forward(self, inputs):
        """Inputs have to have dimension (N, C_in, L_in)"""
        y1 = self.tcn(inputs)
        return self.linear(y1[:, :, -1])


class WaveNet(nn.Module):
    def __init__(self, classes=64, residual=8, skip=8, blocks=2, layers=5):
        super().__init__()
        self.causal = nn.Conv1d(classes, residual, 2)
        self.filters, self.gates = nn.ModuleList(), nn.ModuleList()
        self.residuals, self.skips = nn.ModuleList(), nn.ModuleList()
        for _ in range(blocks):
            for i in range(layers):
                self.filters.append(nn.Conv1d(residual, residual, 2, dilation=2**i))
                self.gates.append(nn.Conv1d(residual, residual, 2, dilation=2**i))
                self.residuals.append(nn.Conv1d(residual, residual, 1))
                self.skips.append(nn.Conv1d(residual, skip, 1))
        self.end = nn.Conv1d(skip, classes, 1)

    def forward(self, x):
        x = self.causal(x)
        skip = 0
        for f, g, r, s in zip(self.filters, self.gates, self.residuals, self.skips):
            h = torch.tanh(f(x)) * torch.sigmoid(g(x))
            out = s(h)
            if isinstance(skip, torch.Tensor):
                skip = skip[:, :, -out.size(2) :]
            skip = skip + out
            x = r(h) + x[:, :, -h.size(2) :]
        return self.end(F.relu(skip))


class Encoder(nn.Module):
    def __init__(self, vocab=40, emb=8, hid=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, bidirectional=True)
        self.fc = nn.Linear(hid * 2, hid)

    def forward(self, src):
        # src = [src len, batch size]
        outputs, hidden = self.rnn(self.embedding(src))
        hidden = torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))
        return outputs, hidden


class Attention(nn.Module):
    def __init__(self, hid=16):
        super().__init__()
        self.attn = nn.Linear(hid * 3, hid)
        self.v = nn.Linear(hid, 1, bias=False)

    def forward(self, hidden, encoder_outputs):
        src_len = encoder_outputs.shape[0]
        hidden = hidden.unsqueeze(1).repeat(1, src_len, 1)
        encoder_outputs = encoder_outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        return F.softmax(self.v(energy).squeeze(2), dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab=50, emb=8, hid=16):
        super().__init__()
        self.output_dim = vocab
        self.attention = Attention(hid)
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(hid * 2 + emb, hid)
        self.fc_out = nn.Linear(hid * 3 + emb, vocab)

    def forward(self, input, hidden, encoder_outputs):
        input = input.unsqueeze(0)
        embedded = self.embedding(input)
        a = self.attention(hidden, encoder_outputs).unsqueeze(1)
        weighted = torch.bmm(a, encoder_outputs.permute(1, 0, 2)).permute(1, 0, 2)
        output, hidden = self.rnn(torch.cat((embedded, weighted), dim=2), hidden.unsqueeze(0))
        out = self.fc_out(torch.cat((output[0], weighted[0], embedded[0]), dim=1))
        return out, hidden.squeeze(0)


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = Decoder()

    def forward(self, src, trg, teacher_forcing_ratio=0.5):
        batch_size = src.shape[1]
        trg_len = trg.shape[0]
        outputs = torch.zeros(trg_len, batch_size, self.decoder.output_dim)
        encoder_outputs, hidden = self.encoder(src)
        input = trg[0, :]
        for t in range(1, trg_len):
            output, hidden = self.decoder(input, hidden, encoder_outputs)
            outputs[t] = output
            top1 = output.argmax(1)
            input = trg[t] if random.random() < teacher_forcing_ratio else top1
        return outputs


class CharRNN(nn.Module):
    """one step at a time, as in the tutorial that generates names"""

    def __init__(self, n_categories=18, input_size=59, hidden_size=32, output_size=59):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(n_categories + input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(n_categories + input_size + hidden_size, output_size)
        self.o2o = nn.Linear(hidden_size + output_size, output_size)
        self.dropout = nn.Dropout(0.1)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, category, input, hidden):
        input_combined = torch.cat((category, input, hidden), 1)
        hidden = self.i2h(input_combined)
        output = self.i2o(input_combined)
        output = self.o2o(torch.cat((hidden, output), 1))
        return self.softmax(self.dropout(output)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


class WordLanguageModel(nn.Module):
    def __init__(self, ntoken=100, ninp=16, nhid=24, nlayers=2):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers)
        self.decoder = nn.Linear(nhid, ntoken)
        self.ntoken = ntoken

    def forward(self, input, hidden):
        emb = self.encoder(input)
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(output).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden


class LSTMTagger(nn.Module):
    def __init__(self, embedding_dim=6, hidden_dim=6, vocab_size=9, tagset_size=3):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim)
        self.hidden2tag = nn.Linear(hidden_dim, tagset_size)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds.view(len(sentence), 1, -1))
        tag_space = self.hidden2tag(lstm_out.view(len(sentence), -1))
        return F.log_softmax(tag_space, dim=1)


class StockLSTM(nn.Module):
    def __init__(self, input_dim=1, hidden_dim=16, num_layers=2, output_dim=1):
        super().__init__()
        self.hidden_dim, self.num_layers = hidden_dim, num_layers
        self.lstm = nn.LSTM(input_dim, hidden_dim, num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        h0 = torch.zeros(self.num_layers, x.size(0), self.hidden_dim).requires_grad_()
        c0 = torch.zeros(self.num_layers, x.size(0), self.hidden_dim).requires_grad_()
        out, (hn, cn) = self.lstm(x, (h0.detach(), c0.detach()))
        return self.fc(out[:, -1, :])


class LSTMCellStack(nn.Module):
    def __init__(self, n_in=7, n_hidden=10):
        super().__init__()
        self.cell1 = nn.LSTMCell(n_in, n_hidden)
        self.cell2 = nn.LSTMCell(n_hidden, n_hidden)
        self.out = nn.Linear(n_hidden, 1)

    def forward(self, x, states):
        (h1, c1), (h2, c2) = states
        h1, c1 = self.cell1(x, (h1, c1))
        h2, c2 = self.cell2(h1, (h2, c2))
        return self.out(h2), ((h1, c1), (h2, c2))


class SequencePredictor(nn.Module):
    """predicts a sine wave: from examples/time_sequence_prediction"""

    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 51)
        self.lstm2 = nn.LSTMCell(51, 51)
        self.linear = nn.Linear(51, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 51)
        c_t = torch.zeros(input.size(0), 51)
        h_t2 = torch.zeros(input.size(0), 51)
        c_t2 = torch.zeros(input.size(0), 51)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


class EchoState(nn.Module):
    def __init__(self, n_in=3, n_res=40, n_out=2, leak=0.3):
        super().__init__()
        self.register_buffer("w_in", torch.randn(n_res, n_in) * 0.1)
        self.register_buffer("w_res", torch.randn(n_res, n_res) * 0.05)
        self.leak = leak
        self.readout = nn.Linear(n_res + n_in, n_out)

    def forward(self, u, state=None):
        T, N, _ = u.shape
        if state is None:
            state = u.new_zeros(N, self.w_res.shape[0])
        ys = []
        for t in range(T):
            pre = u[t] @ self.w_in.T + state @ self.w_res.T
            state = (1 - self.leak) * state + self.leak * torch.tanh(pre)
            ys.append(self.readout(torch.cat([u[t], state], -1)))
        return torch.stack(ys), state


class PointerNetwork(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.encoder = nn.LSTM(dim, hidden, batch_first=True)
        self.decoder = nn.LSTMCell(dim, hidden)
        self.w1 = nn.Linear(hidden, hidden)
        self.w2 = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, 1)
        self.start = nn.Parameter(torch.zeros(dim))

    def forward(self, points):
        B, L, D = points.shape
        enc, (h, c) = self.encoder(points)
        h, c = h[0], c[0]
        inp = self.start.expand(B, D)
        mask = torch.zeros(B, L)
        probs = []
        for _ in range(L):
            h, c = self.decoder(inp, (h, c))
            score = self.v(torch.tanh(self.w1(enc) + self.w2(h).unsqueeze(1))).squeeze(-1)
            p = F.log_softmax(score + mask * -1e9, -1)
            probs.append(p)
            idx = p.argmax(-1)
            mask = mask.scatter(1, idx.unsqueeze(1), 1.0)
            inp = points[torch.arange(B), idx]
        return torch.stack(probs, 1)


class MemN2N(nn.Module):
    def __init__(self, vocab=30, dim=12, hops=3, sentence_size=6, memory_size=10):
        super().__init__()
        self.A = nn.ModuleList([nn.Embedding(vocab, dim, padding_idx=0) for _ in range(hops + 1)])
        self.TA = nn.Parameter(torch.randn(memory_size, dim))
        self.register_buffer("encoding", torch.ones(sentence_size, dim))
        self.hops = hops

    def forward(self, story, query):
        u = (self.A[0](query) * self.encoding).sum(1)
        for hop in range(self.hops):
            m = (self.A[hop](story) * self.encoding).sum(2) + self.TA
            prob = F.softmax((m * u.unsqueeze(1)).sum(-1), -1)
            c = (self.A[hop + 1](story) * self.encoding).sum(2)
            u = u + (c * prob.unsqueeze(-1)).sum(1)
        return u @ self.A[self.hops].weight.t()


class TextCNN(nn.Module):
    def __init__(self, vocab_size=200, embed_dim=16, n_class=2):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.convs = nn.ModuleList([nn.Conv2d(1, 8, (k, embed_dim)) for k in (3, 7, 25)])
        self.fc = nn.Linear(24, n_class)

    def forward(self, x):
        x = self.embed(x).unsqueeze(1)
        x = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        x = [F.max_pool1d(i, i.size(2)).squeeze(2) for i in x]
        return self.fc(torch.cat(x, 1))


class CharCNN(nn.Module):
    """Zhang et al. 2015: 70 characters, length 1014"""

    def __init__(self, num_features=70, num_classes=4):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(num_features, 16, 7), nn.ReLU(), nn.MaxPool1d(3, 3))
        self.conv2 = nn.Sequential(nn.Conv1d(16, 16, 7), nn.ReLU(), nn.MaxPool1d(3, 3))
        self.conv3 = nn.Sequential(nn.Conv1d(16, 16, 3), nn.ReLU())
        self.conv4 = nn.Sequential(nn.Conv1d(16, 16, 3), nn.ReLU())
        self.conv5 = nn.Sequential(nn.Conv1d(16, 16, 3), nn.ReLU())
        self.conv6 = nn.Sequential(nn.Conv1d(16, 16, 3), nn.ReLU(), nn.MaxPool1d(3, 3))
        self.fc1 = nn.Sequential(nn.Linear(16 * 34, 32), nn.ReLU(), nn.Dropout(0.5))
        self.fc3 = nn.Linear(32, num_classes)

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3, self.conv4, self.conv5, self.conv6):
            x = conv(x)
        x = x.view(x.size(0), -1)
        return F.log_softmax(self.fc3(self.fc1(x)), dim=1)


class MiniBert(nn.Module):
    def __init__(self, vocab=100, dim=16, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.seg = nn.Embedding(2, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.mlm = nn.Linear(dim, vocab)

    def forward(self, input_ids, token_type_ids, attention_mask):
        pos = torch.arange(input_ids.size(1), device=input_ids.device)
        x = self.tok(input_ids) + self.pos(pos) + self.seg(token_type_ids)
        x = self.encoder(x, src_key_padding_mask=attention_mask == 0)
        return self.mlm(x)


class TransformerMT(nn.Module):
    def __init__(self, src_vocab=60, tgt_vocab=70, emb=16):
        super().__init__()
        self.transformer = nn.Transformer(emb, 4, 1, 1, 32)
        self.generator = nn.Linear(emb, tgt_vocab)
        self.src_tok_emb = nn.Embedding(src_vocab, emb)
        self.tgt_tok_emb = nn.Embedding(tgt_vocab, emb)

    def forward(
        self,
        src,
        trg,
        src_mask,
        tgt_mask,
        src_padding_mask,
        tgt_padding_mask,
        memory_key_padding_mask,
    ):
        src_emb = self.src_tok_emb(src.long()) * math.sqrt(16)
        tgt_emb = self.tgt_tok_emb(trg.long()) * math.sqrt(16)
        outs = self.transformer(
            src_emb,
            tgt_emb,
            src_mask,
            tgt_mask,
            None,
            src_padding_mask,
            tgt_padding_mask,
            memory_key_padding_mask,
        )
        return self.generator(outs)


class GPTBlockSize(nn.Module):
    def __init__(self, vocab_size=65, block_size=16, n_embd=24):
        super().__init__()
        self.block_size = block_size
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.register_buffer(
            "bias",
            torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size),
        )
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        assert t <= self.block_size, (
            f"Cannot forward sequence of length {t}, block size is only {self.block_size}"
        )
        x = self.wte(idx) + self.wpe(torch.arange(t))
        q, k, v = self.c_attn(x).split(24, dim=2)
        k = k.view(b, t, 4, 6).transpose(1, 2)
        q = q.view(b, t, 4, 6).transpose(1, 2)
        v = v.view(b, t, 4, 6).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)).masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        y = (att.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, t, 24)
        logits = self.lm_head(x + y)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


class MoE(nn.Module):
    def __init__(self, dim=12, experts=4, k=2):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(experts)])
        self.k = k

    def forward(self, hidden_states):
        b, s, d = hidden_states.shape
        x = hidden_states.view(-1, d)
        w, idx = self.gate(x).softmax(-1).topk(self.k)
        out = torch.zeros_like(x)
        for i, e in enumerate(self.experts):
            token, slot = torch.where(idx == i)
            out[token] += e(x[token]) * w[token, slot, None]
        return out.view(b, s, d)


class Informer(nn.Module):
    """time series with time features; the window of 24 steps is flattened"""

    def __init__(self, n_features=7, window=24, horizon=6):
        super().__init__()
        self.value = nn.Linear(n_features, 16)
        self.mark = nn.Linear(4, 16)
        self.head = nn.Linear(window * 16, horizon)

    def forward(self, x_enc, x_mark_enc):
        h = self.value(x_enc) + self.mark(x_mark_enc)
        return self.head(torch.relu(h).reshape(h.shape[0], -1))


class NBeats(nn.Module):
    def __init__(self, backcast=30, forecast=5):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(backcast, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.theta_b = nn.Linear(32, backcast)
        self.theta_f = nn.Linear(32, forecast)

    def forward(self, backcast):
        h = self.fc(backcast)
        return backcast - self.theta_b(h), self.theta_f(h)


class DLinear(nn.Module):
    def __init__(self, seq_len=36, pred_len=12, channels=5):
        super().__init__()
        self.avg = nn.AvgPool1d(25, stride=1)
        self.seasonal = nn.Linear(seq_len, pred_len)
        self.trend = nn.Linear(seq_len, pred_len)

    def forward(self, x):
        # x: [Batch, Input length, Channel]
        front = x[:, :1].repeat(1, 12, 1)
        end = x[:, -1:].repeat(1, 12, 1)
        trend = self.avg(torch.cat([front, x, end], 1).permute(0, 2, 1)).permute(0, 2, 1)
        res = x - trend
        out = self.seasonal(res.permute(0, 2, 1)) + self.trend(trend.permute(0, 2, 1))
        return out.permute(0, 2, 1)


class PackedClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 8)
        self.rnn = nn.GRU(8, 12, batch_first=True)
        self.fc = nn.Linear(12, 3)

    def forward(self, text, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.emb(text), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        _, h = self.rnn(packed)
        return self.fc(h[-1])


class EEGNet(nn.Module):
    def __init__(self, chans=22, samples=128, F1=4, D=2, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, F1, (1, 64), padding=(0, 32), bias=False)
        self.bn1 = nn.BatchNorm2d(F1)
        self.depth = nn.Conv2d(F1, F1 * D, (chans, 1), groups=F1, bias=False)
        self.bn2 = nn.BatchNorm2d(F1 * D)
        self.pool1 = nn.AvgPool2d((1, 4))
        self.sep = nn.Conv2d(F1 * D, F1 * D, (1, 16), padding=(0, 8))
        self.pool2 = nn.AvgPool2d((1, 8))
        self.fc = nn.Linear(F1 * D * 4, classes)

    def forward(self, x):
        x = self.bn1(self.conv1(x))
        x = self.pool1(F.elu(self.bn2(self.depth(x))))
        x = self.pool2(F.elu(self.sep(x)))
        return self.fc(x.flatten(1))


MODELS = (
    "CNNLSTM",
    "TCN",
    "WaveNet",
    "Seq2Seq",
    "CharRNN",
    "WordLanguageModel",
    "LSTMTagger",
    "StockLSTM",
    "LSTMCellStack",
    "SequencePredictor",
    "EchoState",
    "PointerNetwork",
    "MemN2N",
    "TextCNN",
    "CharCNN",
    "MiniBert",
    "TransformerMT",
    "GPTBlockSize",
    "MoE",
    "Informer",
    "NBeats",
    "DLinear",
    "PackedClassifier",
    "EEGNet",
)
