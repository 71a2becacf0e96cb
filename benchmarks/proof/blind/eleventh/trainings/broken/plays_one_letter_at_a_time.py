r"""A small character GPT on play-like text: trains, measures the validation loss and samples.

Source: https://github.com/karpathy/minGPT/issues/132
Fault: the attention scores are normalised over the queries (dim -2) and not over the keys (dim -1);
    the denominator of a key sums over later queries, so positions see the future: the losses get
    too low and the generated text is poor.
Cause: softmax\b.*(dim|axis|dimension|over|across|wrong|quer|column|-2|rows?)
    |(attention|att|scores?|weights?)\b.*(normali[sz]\w+|(sum|add) (up )?to (one|1))\b.*(quer
    |wrong|dim|axis|column|not|-2|keys?)
    |(attention|weights?|rows?)\b.*(do(es)? not|don't|doesn't|never) (sum|add)
    |(normali[sz]\w+)\b.*(quer(y|ies)|wrong (dim|axis)|instead of (the )?keys?|-2)
    |(leak\w*|see\w*|look\w*|information|depend\w*)\b.*(future|later (position|token|quer))
Place: softmax|att\b|attn|CausalSelfAttention|blocks?\.\d|h\.\d
"""
import math
import random

import torch
import torch.nn as nn
from torch.nn import functional as F

random.seed(0)
torch.manual_seed(0)


# ---------------------------------------------------------------- data
def make_text(n_lines=700):
    names = ['ROMEO', 'JULIA', 'DUKE', 'CLOWN']
    subj = ['my lord', 'the night', 'thy heart', 'a king', 'the sea']
    verb = ['is', 'was', 'grows', 'seems']
    adj = ['cold', 'merry', 'lost', 'proud', 'old']
    lines = []
    for _ in range(n_lines):
        lines.append('%s: %s %s %s.\n' % (random.choice(names), random.choice(subj),
                                          random.choice(verb), random.choice(adj)))
    return ''.join(lines)


text = make_text()
chars = sorted(list(set(text)))
vocab_size = len(chars)
stoi = {ch: i for i, ch in enumerate(chars)}
itos = {i: ch for i, ch in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]

block_size = 24
batch_size = 16
max_iters = 180
n_embd, n_head, n_layer = 40, 4, 2


def get_batch(split):
    d = train_data if split == 'train' else val_data
    ix = torch.randint(len(d) - block_size - 1, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + block_size] for i in ix])
    return x, y


# ---------------------------------------------------------------- model
class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(0.0)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size))
                             .view(1, 1, block_size, block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(n_embd, dim=2)
        k = k.view(B, T, n_head, C // n_head).transpose(1, 2)
        q = q.view(B, T, n_head, C // n_head).transpose(1, 2)
        v = v.view(B, T, n_head, C // n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float('-inf'))
        att = F.softmax(att, dim=-2)  # here
        att = self.attn_dropout(att)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention()
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(),
                                 nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block() for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets=None):
        pos = torch.arange(idx.size(1)).unsqueeze(0)
        x = self.wte(idx) + self.wpe(pos)
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    @torch.no_grad()
    def generate(self, idx, max_new_tokens):
        for _ in range(max_new_tokens):
            logits, _ = self(idx[:, -block_size:])
            probs = F.softmax(logits[:, -1, :], dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ['train', 'val']:
        out[split] = sum(model(*get_batch(split))[1].item() for _ in range(5)) / 5
    model.train()
    return out


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(max_iters):
    if it % 45 == 0 or it == max_iters - 1:
        losses = estimate_loss()
        print('step %d: train loss %.4f, val loss %.4f' % (it, losses['train'], losses['val']))
    xb, yb = get_batch('train')
    _, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

model.eval()
start = torch.tensor([[stoi['\n']]])
sample = ''.join(itos[int(i)] for i in model.generate(start, 110)[0])
print(sample)
words = set(text.replace('\n', ' ').split())
print('known words: %d of %d' % (sum(w in words for w in sample.split()), len(sample.split())))
