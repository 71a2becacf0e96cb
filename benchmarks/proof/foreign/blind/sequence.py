"""Models of sequences as people publish them, each with an ordinary batch."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class PackedClassifier(nn.Module):
    def __init__(self, vocab=60, dim=16, hidden=24, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, classes)
        self.dropout = nn.Dropout(0.5)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = pack_padded_sequence(
            embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        _, (hidden, _) = self.rnn(packed)
        hidden = self.dropout(torch.cat((hidden[-2], hidden[-1]), dim=1))
        return self.fc(hidden)


class BiLSTMCRF(nn.Module):
    def __init__(self, vocab=40, tags=5, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim // 2, bidirectional=True, batch_first=True)
        self.emission = nn.Linear(dim, tags)
        self.transitions = nn.Parameter(torch.empty(tags, tags).uniform_(-0.1, 0.1))
        self.start = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))

    def _score(self, emissions, tags):
        score = self.start[tags[:, 0]] + emissions[:, 0].gather(1, tags[:, :1]).squeeze(1)
        for t in range(1, emissions.size(1)):
            score = score + self.transitions[tags[:, t - 1], tags[:, t]]
            score = score + emissions[:, t].gather(1, tags[:, t : t + 1]).squeeze(1)
        return score + self.end[tags[:, -1]]

    def _normalizer(self, emissions):
        score = self.start + emissions[:, 0]
        for t in range(1, emissions.size(1)):
            score = torch.logsumexp(score.unsqueeze(2) + self.transitions, dim=1)
            score = score + emissions[:, t]
        return torch.logsumexp(score + self.end, dim=1)

    def forward(self, tokens, tags):
        emissions = self.emission(self.lstm(self.embed(tokens))[0])
        return -(self._score(emissions, tags) - self._normalizer(emissions)).mean()


class CTCSpeech(nn.Module):
    def __init__(self, mels=20, hidden=24, vocab=12):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(mels, hidden, 5, 2, 2), nn.BatchNorm1d(hidden), nn.GELU()
        )
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, vocab)
        self.loss = nn.CTCLoss(zero_infinity=True)

    def forward(self, mel, labels):
        x = self.conv(mel).transpose(1, 2)
        log_probs = self.fc(self.rnn(x)[0]).log_softmax(-1)
        b, t, _ = log_probs.shape
        loss = self.loss(
            log_probs.transpose(0, 1),
            labels,
            torch.full((b,), t, dtype=torch.long),
            torch.full((b,), labels.size(1), dtype=torch.long),
        )
        return {"loss": loss, "logits": log_probs}


class PointerNetwork(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.embed = nn.Linear(2, hidden)
        self.encoder = nn.LSTM(hidden, hidden, batch_first=True)
        self.decoder = nn.LSTMCell(hidden, hidden)
        self.start = nn.Parameter(torch.randn(hidden) * 0.1)
        self.w1 = nn.Linear(hidden, hidden, bias=False)
        self.w2 = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, 1, bias=False)

    def forward(self, points):
        b, n, _ = points.shape
        embedded = self.embed(points)
        memory, (h, c) = self.encoder(embedded)
        h, c = h[0], c[0]
        x = self.start.expand(b, -1)
        mask = torch.zeros(b, n, dtype=torch.bool, device=points.device)
        log_probs = []
        for _ in range(n):
            h, c = self.decoder(x, (h, c))
            u = self.v(torch.tanh(self.w1(memory) + self.w2(h).unsqueeze(1))).squeeze(-1)
            u = u.masked_fill(mask, -1e9)
            p = F.log_softmax(u, dim=-1)
            log_probs.append(p)
            choice = p.argmax(-1)
            mask = mask.scatter(1, choice.unsqueeze(1), True)
            x = embedded[torch.arange(b), choice]
        return torch.stack(log_probs, 1)


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


class RotaryAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        inv = 1.0 / (10000 ** (torch.arange(0, dim // heads, 2).float() / (dim // heads)))
        self.register_buffer("inv_freq", inv, persistent=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1)
        )
        freqs = torch.outer(torch.arange(t, device=x.device).float(), self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        cos, sin = emb.cos(), emb.sin()
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class SwiGLU(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1 = nn.Linear(dim, 2 * dim, bias=False)
        self.w2 = nn.Linear(2 * dim, dim, bias=False)
        self.w3 = nn.Linear(dim, 2 * dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class RotaryBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = RotaryAttention(dim, heads)
        self.ffn_norm = RMSNorm(dim)
        self.ffn = SwiGLU(dim)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.ffn(self.ffn_norm(x))


class TiedCausalLM(nn.Module):
    def __init__(self, vocab=80, dim=32, depth=3, heads=4):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(RotaryBlock(dim, heads) for _ in range(depth))
        self.norm = RMSNorm(dim)
        self.output = nn.Linear(dim, vocab, bias=False)
        self.output.weight = self.tok_embeddings.weight
        nn.init.normal_(self.tok_embeddings.weight, std=0.02)

    def forward(self, tokens, targets=None):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        logits = self.output(self.norm(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


class Seq2SeqTransformer(nn.Module):
    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.src = nn.Embedding(vocab, dim)
        self.tgt = nn.Embedding(vocab, dim)
        position = torch.arange(64).unsqueeze(1)
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(64, dim)
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)
        self.transformer = nn.Transformer(dim, 4, 2, 2, 64, batch_first=True)
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        pad = src == 0
        scale = math.sqrt(self.src.embedding_dim)
        out = self.transformer(
            self.src(src) * scale + self.pe[: src.size(1)],
            self.tgt(tgt) * scale + self.pe[: tgt.size(1)],
            tgt_mask=mask,
            src_key_padding_mask=pad,
            memory_key_padding_mask=pad,
        )
        return self.generator(out)


class TopOneMoE(nn.Module):
    def __init__(self, dim=16, experts=4, vocab=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            for _ in range(experts)
        )
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        flat = x.view(-1, x.size(-1))
        probs = self.router(flat).softmax(-1)
        gate, choice = probs.max(-1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows = (choice == i).nonzero().squeeze(-1)
            if rows.numel():
                out[rows] = gate[rows, None] * expert(flat[rows])
        return self.head(x + out.view_as(x))


class SelectiveScan(nn.Module):
    def __init__(self, dim=12, state=4, kernel=3):
        super().__init__()
        self.in_proj = nn.Linear(dim, 2 * dim, bias=False)
        self.conv = nn.Conv1d(dim, dim, kernel, groups=dim, padding=kernel - 1)
        self.x_proj = nn.Linear(dim, 1 + 2 * state, bias=False)
        self.dt_proj = nn.Linear(1, dim)
        a = torch.arange(1, state + 1, dtype=torch.float32).repeat(dim, 1)
        self.A_log = nn.Parameter(torch.log(a))
        self.D = nn.Parameter(torch.ones(dim))
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.state = state

    def forward(self, u):
        b, t, d = u.shape
        x, z = self.in_proj(u).chunk(2, dim=-1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :t].transpose(1, 2))
        dt, B, C = self.x_proj(x).split([1, self.state, self.state], dim=-1)
        dt = F.softplus(self.dt_proj(dt))
        A = -torch.exp(self.A_log)
        h = x.new_zeros(b, d, self.state)
        ys = []
        for i in range(t):
            h = (
                torch.exp(dt[:, i, :, None] * A) * h
                + dt[:, i, :, None] * B[:, i, None] * x[:, i, :, None]
            )
            ys.append((h * C[:, i, None]).sum(-1))
        y = torch.stack(ys, 1) + x * self.D
        return u + self.out_proj(y * F.silu(z))


class MambaLike(nn.Module):
    def __init__(self, vocab=40, dim=12, depth=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(SelectiveScan(dim) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class S4DLike(nn.Module):
    """A diagonal state space as a convolution in the frequency domain."""

    def __init__(self, dim=8, n=6):
        super().__init__()
        self.encoder = nn.Linear(1, dim)
        self.log_dt = nn.Parameter(torch.rand(dim) * 2 - 4)
        self.C = nn.Parameter(torch.randn(dim, n, 2) * 0.5**0.5)
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(dim, n)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(n).float().repeat(dim, 1))
        self.D = nn.Parameter(torch.randn(dim))
        self.decoder = nn.Linear(dim, 3)

    def kernel(self, length):
        dt = torch.exp(self.log_dt)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt[:, None]
        powers = dtA[..., None] * torch.arange(length, device=A.device)
        C = torch.view_as_complex(self.C) * (torch.exp(dtA) - 1) / A
        return 2 * torch.einsum("hn,hnl->hl", C, torch.exp(powers)).real

    def forward(self, x):
        u = self.encoder(x).transpose(1, 2)
        length = u.size(-1)
        k_f = torch.fft.rfft(self.kernel(length), n=2 * length)
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * k_f, n=2 * length)[..., :length]
        y = F.gelu(y + u * self.D[:, None])
        return self.decoder(y.mean(-1))


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.empty(r, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


class LoRAEncoder(nn.Module):
    def __init__(self, dim=16, vocab=30):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.embed.requires_grad_(False)
        self.q = LoRALinear(nn.Linear(dim, dim))
        self.v = LoRALinear(nn.Linear(dim, dim))
        self.k = nn.Linear(dim, dim).requires_grad_(False)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        x = self.embed(ids)
        y = F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))
        return self.head((x + y).mean(1))


class AdapterEncoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        layer = nn.TransformerEncoderLayer(dim, 2, 32, batch_first=True)
        self.backbone = nn.TransformerEncoder(layer, 2)
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.down = nn.Linear(dim, 4)
        self.up = nn.Linear(4, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        h = self.backbone(x)
        h = h + self.up(F.relu(self.down(h)))
        return self.head(h.mean(dim=1))


class CausalConv1d(nn.Module):
    def __init__(self, c_in, c_out, kernel, dilation):
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.conv = weight_norm(nn.Conv1d(c_in, c_out, kernel, padding=self.pad, dilation=dilation))

    def forward(self, x):
        return self.conv(x)[:, :, : -self.pad].contiguous()


class WeightNormTCN(nn.Module):
    def __init__(self, channels=(8, 8, 8), kernel=3):
        super().__init__()
        self.convs = nn.ModuleList()
        last = 2
        for i, c in enumerate(channels):
            self.convs.append(CausalConv1d(last, c, kernel, 2**i))
            last = c
        self.head = nn.Linear(last, 1)

    def forward(self, x):
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.head(x[:, :, -1])


class TransformerXLMemory(nn.Module):
    """Segments with a detached memory of the last segment."""

    def __init__(self, vocab=30, dim=16, segment=4):
        super().__init__()
        self.segment = segment
        self.embed = nn.Embedding(vocab, dim)
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        memory, outs = None, []
        for chunk in ids.split(self.segment, dim=1):
            x = self.embed(chunk)
            context = x if memory is None else torch.cat([memory, x], dim=1)
            y, _ = self.attn(x, context, context, need_weights=False)
            x = self.norm(x + y)
            memory = x.detach()
            outs.append(self.head(x))
        return torch.cat(outs, 1)


BATCHES = {
    "PackedClassifier": "4x9:int64:1..60 4:int64:3..9",
    "BiLSTMCRF": "3x7:int64:0..40 3x7:int64:0..5",
    "CTCSpeech": "2x20x40 2x5:int64:1..12",
    "PointerNetwork": "3x6x2",
    "TiedCausalLM": "2x12:int64:0..80 2x12:int64:0..80",
    "Seq2SeqTransformer": "2x9:int64:1..50 2x6:int64:1..50",
    "TopOneMoE": "4x16:int64:0..32",
    "MambaLike": "2x10:int64:0..40",
    "S4DLike": "2x20x1",
    "LoRAEncoder": "4x8:int64:0..30",
    "AdapterEncoder": "2x7x16",
    "WeightNormTCN": "2x2x24",
    "TransformerXLMemory": "2x12:int64:0..30",
}
