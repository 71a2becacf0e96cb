"""Sequence models as people publish them; none declares an input."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class CNNLSTMGesture(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3), nn.MaxPool2d(2)
        )
        self.fc = nn.Linear(8 * 10 * 14, 16)
        self.lstm = nn.LSTM(16, 8)

    def forward(self, seq):
        feats = []
        for t in range(seq.size(1)):
            f = self.cnn(seq[:, t])
            feats.append(self.fc(f.view(f.size(0), -1)))
        out, _ = self.lstm(torch.stack(feats))
        return out[-1]


class SensorNet(nn.Module):
    """HAR: 9 channels, 128 samples"""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv1d(9, 16, 9), nn.ReLU(), nn.MaxPool1d(2))
        self.conv2 = nn.Sequential(nn.Conv1d(16, 16, 9), nn.ReLU(), nn.MaxPool1d(2))
        self.fc1 = nn.Linear(16 * 26, 32)
        self.fc2 = nn.Linear(32, 6)

    def forward(self, x):
        out = self.conv2(self.conv1(x))
        out = out.reshape(-1, 16 * 26)
        return self.fc2(F.relu(self.fc1(out)))


class SensorNet2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(9, 8, kernel_size=(1, 9))
        self.pool = nn.MaxPool2d(kernel_size=(1, 2), stride=2)
        self.fc = nn.Linear(8 * 60, 6)

    def forward(self, x):
        x = x.view(x.size(0), 9, 1, 128)
        x = self.pool(F.relu(self.conv(x)))
        return self.fc(x.view(-1, 8 * 60))


class ECGResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(12, 16, 15, stride=2)
        self.blocks = nn.Sequential(
            *[
                nn.Sequential(nn.Conv1d(16, 16, 9, stride=2), nn.BatchNorm1d(16), nn.ReLU())
                for _ in range(5)
            ]
        )
        self.fc = nn.Linear(16, 5)

    def forward(self, ecg):
        return self.fc(self.blocks(self.stem(ecg)).mean(-1))


class DilatedStack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(4, 4, 3, dilation=2**i) for i in range(7)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class KimCNN(nn.Module):
    def __init__(self, vocab=300, dim=12, sentence_len=59):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.seq = sentence_len
        self.convs = nn.ModuleList([nn.Conv1d(1, 6, dim * k, stride=dim) for k in (3, 4, 5)])
        self.fc = nn.Linear(18, 2)

    def forward(self, inp):
        x = self.embedding(inp).view(-1, 1, 12 * self.seq)
        outs = []
        for k, conv in zip((3, 4, 5), self.convs):
            outs.append(F.max_pool1d(F.relu(conv(x)), self.seq - k + 1).view(-1, 6))
        return self.fc(torch.cat(outs, 1))


class VDCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(69, 8)
        self.conv = nn.Sequential(
            nn.Conv1d(8, 16, 3, padding=1),
            nn.MaxPool1d(3, 2, 1),
            nn.Conv1d(16, 16, 3, padding=1),
            nn.MaxPool1d(3, 2, 1),
        )
        self.top = nn.AdaptiveMaxPool1d(8)
        self.fc = nn.Linear(16 * 8, 4)

    def forward(self, x):
        x = self.embed(x).transpose(1, 2)
        x = self.top(self.conv(x)).view(-1, 16 * 8)
        return self.fc(x)


class EncoderRNN(nn.Module):
    def __init__(self, input_size=30, hidden_size=16):
        super().__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)

    def forward(self, input, hidden):
        embedded = self.embedding(input).view(1, 1, -1)
        output, hidden = self.gru(embedded, hidden)
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, 1, self.hidden_size)


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size=16, output_size=40, max_length=10):
        super().__init__()
        self.hidden_size, self.output_size, self.max_length = hidden_size, output_size, max_length
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attn = nn.Linear(hidden_size * 2, max_length)
        self.attn_combine = nn.Linear(hidden_size * 2, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden, encoder_outputs):
        embedded = self.embedding(input).view(1, 1, -1)
        attn_weights = F.softmax(self.attn(torch.cat((embedded[0], hidden[0]), 1)), dim=1)
        attn_applied = torch.bmm(attn_weights.unsqueeze(0), encoder_outputs.unsqueeze(0))
        output = torch.cat((embedded[0], attn_applied[0]), 1)
        output = F.relu(self.attn_combine(output).unsqueeze(0))
        output, hidden = self.gru(output, hidden)
        return F.log_softmax(self.out(output[0]), dim=1), hidden, attn_weights


class RNNWithHidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(8, 12, 2, batch_first=True)
        self.fc = nn.Linear(12, 1)

    def forward(self, x, hidden):
        # x (batch_size, seq_length, input_size), hidden (n_layers, batch_size, hidden_dim)
        r_out, hidden = self.rnn(x, hidden)
        r_out = r_out.view(-1, 12)
        return self.fc(r_out), hidden


class LSTMWithStates(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 10)
        self.out = nn.Linear(10, 6)

    def forward(self, x, h, c):
        y, (h, c) = self.lstm(x, (h, c))
        return self.out(y), h, c


class BiLSTMState(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(40, 8)
        self.lstm = nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True)

    def forward(self, tokens, hidden_state):
        return self.lstm(self.emb(tokens), hidden_state)


class GRUCellPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(9, 14)
        self.pi = nn.Linear(14, 3)

    def forward(self, x, h):
        h = self.cell(x, h)
        return self.pi(h), h


class LSTMCellOne(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(9, 14)
        self.actor = nn.Linear(14, 3)
        self.conv1 = nn.Conv2d(1, 4, 3, 2, 1)
        self.conv2 = nn.Conv2d(4, 1, 3, 2, 1)

    def forward(self, inputs):
        inputs, (hx, cx) = inputs
        x = F.elu(self.conv2(F.elu(self.conv1(inputs))))
        x = x.view(-1, 9)
        hx, cx = self.lstm(x, (hx, cx))
        return self.actor(hx), (hx, cx)


class HandRNN(nn.Module):
    def __init__(self, input_size=57, hidden_size=24, output_size=18):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size, hidden_size)
        self.h2h = nn.Linear(hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)

    def forward(self, input, hidden):
        hidden = torch.tanh(self.i2h(input) + self.h2h(hidden))
        return F.log_softmax(self.h2o(hidden), dim=1), hidden


class ConvLSTMCell(nn.Module):
    def __init__(self, input_dim=3, hidden_dim=6):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.conv = nn.Conv2d(input_dim + hidden_dim, 4 * hidden_dim, 3, padding=1)

    def forward(self, input_tensor, cur_state):
        h_cur, c_cur = cur_state
        combined = torch.cat([input_tensor, h_cur], dim=1)
        i, f, o, g = torch.split(self.conv(combined), self.hidden_dim, dim=1)
        c = torch.sigmoid(f) * c_cur + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class UnbatchedEncoder(nn.Module):
    """sentence: (length,) of word ids, one sentence at a time"""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(25, 6)
        self.lstm = nn.LSTM(6, 4, bidirectional=True)
        self.out = nn.Linear(8, 5)

    def forward(self, sentence):
        e = self.emb(sentence).unsqueeze(1)
        h, _ = self.lstm(e)
        h = h.view(len(sentence), 8)
        return self.out(h)


class FeatureWindow(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 8, 5)
        self.fc = nn.Linear(8, 2)

    def forward(self, window):
        # window: (time, features)
        t, f = window.shape
        x = window.t().unsqueeze(0)
        return self.fc(self.conv(x).mean(-1)).squeeze(0)


class PositionalTransformer(nn.Module):
    def __init__(self, d_model=16, max_len=50):
        super().__init__()
        pe = torch.zeros(max_len, 1, d_model)
        self.register_buffer("pe", pe)
        self.enc = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(d_model, 2, 32), 1, enable_nested_tensor=False
        )
        self.embed = nn.Embedding(80, d_model)
        self.dec = nn.Linear(d_model, 80)

    def forward(self, src, src_mask):
        x = self.embed(src) * math.sqrt(16)
        x = x + self.pe[: x.size(0)]
        return self.dec(self.enc(x, src_mask))


class DecoderOnlyMasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(90, 16)
        self.layer = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)
        self.decoder = nn.TransformerDecoder(self.layer, 1)
        self.out = nn.Linear(16, 90)

    def forward(self, tgt, memory, tgt_mask=None, tgt_key_padding_mask=None):
        return self.out(
            self.decoder(
                self.embed(tgt), memory, tgt_mask, tgt_key_padding_mask=tgt_key_padding_mask
            )
        )


class AnnotatedTransformer(nn.Module):
    def __init__(self, V=31, d=16, h=4):
        super().__init__()
        self.src_embed, self.tgt_embed = nn.Embedding(V, d), nn.Embedding(V, d)
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.h, self.d = h, d
        self.generator = nn.Linear(d, V)

    def attend(self, q, k, v, mask):
        b = q.size(0)
        q, k, v = (
            f(x).view(b, -1, self.h, self.d // self.h).transpose(1, 2)
            for f, x in ((self.q, q), (self.k, k), (self.v, v))
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.d // self.h)
        scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        return (scores.softmax(-1) @ v).transpose(1, 2).contiguous().view(b, -1, self.d)

    def forward(self, src, tgt, src_mask, tgt_mask):
        "Take in and process masked src and target sequences."
        s = self.src_embed(src)
        m = self.attend(s, s, s, src_mask)
        t = self.tgt_embed(tgt)
        t = self.attend(t, t, t, tgt_mask)
        return F.log_softmax(self.generator(self.attend(t, m, m, src_mask)), dim=-1)


class TimeSeriesPatch(nn.Module):
    """PatchTST: 96 steps, 7 variates"""

    def __init__(self, c=7, L=96, p=16, s=8, d=16):
        super().__init__()
        n = (L - p) // s + 1
        self.p, self.s = p, s
        self.W_P = nn.Linear(p, d)
        self.W_pos = nn.Parameter(torch.zeros(n, d))
        self.enc = nn.TransformerEncoderLayer(d, 2, 32, batch_first=True)
        self.head = nn.Linear(n * d, 24)
        self.affine = nn.Parameter(torch.ones(c))

    def forward(self, x):  # x: [bs x seq_len x nvars]
        x = (x * self.affine).permute(0, 2, 1)
        z = x.unfold(-1, self.p, self.s)
        b, c, n, p = z.shape
        z = self.W_P(z) + self.W_pos
        z = self.enc(z.reshape(b * c, n, -1)).reshape(b, c, -1)
        return self.head(z).permute(0, 2, 1)


class Autoformerish(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(3, 8)
        self.mix = nn.Linear(96, 48)
        self.out = nn.Linear(8, 3)

    def forward(self, x_enc, x_mark_enc, x_dec, x_mark_dec, mask=None):
        h = self.proj(x_enc)
        h = self.mix(h.transpose(1, 2)).transpose(1, 2)
        return self.out(h) + x_dec[:, -48:, :]


class SelfAttnPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(20, 8, bidirectional=True, batch_first=True)
        self.W = nn.Parameter(torch.zeros(16, 1))
        self.fc = nn.Linear(16, 3)

    def forward(self, embeddings, seq_lens):
        H, _ = self.lstm(embeddings)
        mask = torch.arange(H.size(1)).unsqueeze(0) < seq_lens.unsqueeze(1)
        a = (H @ self.W).squeeze(-1).masked_fill(~mask, -1e9).softmax(-1)
        return self.fc((a.unsqueeze(-1) * H).sum(1))


class HierarchicalAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(70, 8)
        self.word = nn.GRU(8, 6, batch_first=True, bidirectional=True)
        self.sent = nn.GRU(12, 6, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(12, 2)

    def forward(self, documents):
        b, s, w = documents.size()
        x = self.embedding(documents.view(b * s, w))
        x = self.word(x)[0].mean(1).view(b, s, -1)
        return self.fc(self.sent(x)[0].mean(1))


class EmbeddingBagText(nn.Module):
    def __init__(self, vocab_size=95, embed_dim=8, num_class=4):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim)
        self.fc = nn.Linear(embed_dim, num_class)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.u_embeddings = nn.Embedding(60, 8)
        self.v_embeddings = nn.Embedding(60, 8)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u, emb_v, neg = (
            self.u_embeddings(pos_u),
            self.v_embeddings(pos_v),
            self.v_embeddings(neg_v),
        )
        score = -F.logsigmoid((emb_u * emb_v).sum(1))
        neg_score = torch.bmm(neg, emb_u.unsqueeze(2)).squeeze()
        return (score - F.logsigmoid(-neg_score).sum(1)).mean()


class CRFTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(5, 5))
        self.emit = nn.Linear(10, 5)

    def forward(self, feats):
        feats = self.emit(feats)
        alpha = torch.full((1, 5), -10000.0)
        for feat in feats:
            alpha = torch.logsumexp(alpha.T + self.transitions + feat.unsqueeze(0), 0, keepdim=True)
        return alpha.logsumexp(1)


MODELS = (
    "CNNLSTMGesture",
    "SensorNet",
    "SensorNet2d",
    "ECGResNet",
    "DilatedStack",
    "KimCNN",
    "VDCNN",
    "EncoderRNN",
    "AttnDecoderRNN",
    "RNNWithHidden",
    "LSTMWithStates",
    "BiLSTMState",
    "GRUCellPolicy",
    "LSTMCellOne",
    "HandRNN",
    "ConvLSTMCell",
    "UnbatchedEncoder",
    "FeatureWindow",
    "PositionalTransformer",
    "DecoderOnlyMasks",
    "AnnotatedTransformer",
    "TimeSeriesPatch",
    "Autoformerish",
    "SelfAttnPool",
    "HierarchicalAttention",
    "EmbeddingBagText",
    "SkipGram",
    "CRFTagger",
)
