r"""A small character GPT that learns invented lines of a play and then writes some.

Source: https://github.com/karpathy/minGPT/issues/10
Fault: outside the top k the logits are set to 1e-10, which is about zero and not minus infinity;
    most logits are far below zero, so the characters that should be ruled out become likely and
    the sampled text is full of impossible letters although the loss is low.
Cause: 1e-10|(-inf|minus infinity|negative infinity|very negative|large negative|most negative)
    |(tokens?|characters?|logits?|others?).{0,60}(not|never|n't) (really |actually )?(mask|remov
    |ruled|exclu|suppress)\w*|(mask|filter|outside|below).{0,80}(zero|\b0\b|tiny|small positive)
    |top.?k.{0,80}(no effect|wrong|zero|does not (mask|filter|remove))|(outside|out of|below
    |beyond|not in).{0,20}top.{0,6}k.{0,80}(still|sampled|possible|likely|chosen)
Place: top_k_logits|out|sample
"""
import math
import string

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(3)

words = ["king", "queen", "doth", "speak", "and", "weep", "the", "night", "shall", "fall"]
g = torch.Generator().manual_seed(1)
text = ""
for _ in range(500):
    idx = torch.randint(len(words), (5,), generator=g)
    text += " ".join(words[i] for i in idx.tolist()) + ".\n"


class CharDataset(Dataset):

    def __init__(self, data, block_size):
        chars = sorted(list(set(data + string.printable)))
        data_size, vocab_size = len(data), len(chars)
        print("data has %d characters, %d unique." % (data_size, vocab_size))
        self.stoi = {ch: i for i, ch in enumerate(chars)}
        self.itos = {i: ch for i, ch in enumerate(chars)}
        self.block_size = block_size
        self.vocab_size = vocab_size
        self.data = data

    def __len__(self):
        return 1200

    def __getitem__(self, idx):
        i = (idx * 7) % (len(self.data) - self.block_size - 1)
        chunk = self.data[i:i + self.block_size + 1]
        dix = [self.stoi[s] for s in chunk]
        x = torch.tensor(dix[:-1], dtype=torch.long)
        y = torch.tensor(dix[1:], dtype=torch.long)
        return x, y


class CausalSelfAttention(nn.Module):

    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.key = nn.Linear(n_embd, n_embd)
        self.query = nn.Linear(n_embd, n_embd)
        self.value = nn.Linear(n_embd, n_embd)
        self.proj = nn.Linear(n_embd, n_embd)
        self.register_buffer("mask", torch.tril(torch.ones(block_size, block_size))
                             .view(1, 1, block_size, block_size))
        self.n_head = n_head

    def forward(self, x):
        B, T, C = x.size()
        k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.proj(y)


class Block(nn.Module):

    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.ln2 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(),
                                 nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):

    def __init__(self, vocab_size, block_size, n_layer=2, n_head=4, n_embd=64):
        super().__init__()
        self.block_size = block_size
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Parameter(torch.zeros(1, block_size, n_embd))
        self.blocks = nn.Sequential(*[Block(n_embd, n_head, block_size) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        x = self.tok_emb(idx) + self.pos_emb[:, :t, :]
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


def top_k_logits(logits, k):
    v, ix = torch.topk(logits, k)
    out = logits.clone()
    out[out < v[:, [-1]]] = 1e-10  # here
    return out


@torch.no_grad()
def sample(model, x, steps, temperature=1.0, do_sample=False, top_k=None):
    model.eval()
    for k in range(steps):
        x_cond = x if x.size(1) <= model.block_size else x[:, -model.block_size:]
        logits, _ = model(x_cond)
        logits = logits[:, -1, :] / temperature
        if top_k is not None:
            logits = top_k_logits(logits, top_k)
        probs = F.softmax(logits, dim=-1)
        if do_sample:
            ix = torch.multinomial(probs, num_samples=1)
        else:
            _, ix = torch.topk(probs, k=1, dim=-1)
        x = torch.cat((x, ix), dim=1)
    return x


train_dataset = CharDataset(text, 32)
loader = DataLoader(train_dataset, batch_size=32, shuffle=True)
model = GPT(train_dataset.vocab_size, train_dataset.block_size)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
for epoch in range(3):
    model.train()
    for it, (x, y) in enumerate(loader):
        logits, loss = model(x, y)
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"epoch {epoch+1} iter {it}: train loss {loss.item():.5f}")

context = "the king "
x = torch.tensor([train_dataset.stoi[s] for s in context], dtype=torch.long)[None, ...]
y = sample(model, x.repeat(8, 1), 100, temperature=1.0, do_sample=True, top_k=5)
completion = "".join([train_dataset.itos[int(i)] for i in y.flatten()])
print(completion[:200])
known = set(text)
print("characters that the play does not have: %d of %d" % (
    sum(c not in known for c in completion), len(completion)))
