r"""A stateful recurrent language model on numbers written out, after a chapter of a course book.

Source: https://github.com/fastai/fastbook/pull/469
Healthy: the state is kept in the module between batches, detached after each of them and set to the
    number 0 by reset(); the data are laid out so that row i of a batch continues row i of the last.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)

ONES = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten',
        'eleven', 'twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen',
        'eighteen', 'nineteen']
TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety']


def words(n):
    if n < 20:
        return [ONES[n]]
    if n < 100:
        return [TENS[n // 10]] + ([ONES[n % 10]] if n % 10 else [])
    head = [ONES[n // 100], 'hundred']
    return head + (words(n % 100) if n % 100 else [])


tokens = []
for n in range(1, 1000):
    tokens += words(n) + ['.']
for n in range(1, 600):
    tokens += words(n) + ['.']

vocab = sorted(set(tokens))
word2idx = {w: i for i, w in enumerate(vocab)}
nums = torch.tensor([word2idx[w] for w in tokens])

bs, sl = 16, 12


def group_chunks(ds, bs):
    m = len(ds) // bs
    new_ds = []
    for i in range(m):
        new_ds += [ds[i + m * j] for j in range(bs)]
    return new_ds


seqs = [(nums[i:i + sl], nums[i + 1:i + sl + 1]) for i in range(0, len(nums) - sl - 1, sl)]
cut = int(len(seqs) * 0.8)


def batches(ds):
    ds = group_chunks(ds, bs)
    for i in range(0, len(ds) - bs + 1, bs):
        chunk = ds[i:i + bs]
        yield torch.stack([x for x, _ in chunk]), torch.stack([y for _, y in chunk])


class LMModel4(nn.Module):
    def __init__(self, vocab_sz, n_hidden):
        super().__init__()
        self.i_h = nn.Embedding(vocab_sz, n_hidden)
        self.h_h = nn.Linear(n_hidden, n_hidden)
        self.h_o = nn.Linear(n_hidden, vocab_sz)
        self.h = 0

    def forward(self, x):
        outs = []
        for i in range(x.size(1)):
            self.h = self.h + self.i_h(x[:, i])
            self.h = torch.tanh(self.h_h(self.h))
            outs.append(self.h_o(self.h))
        self.h = self.h.detach()
        return torch.stack(outs, dim=1)

    def reset(self):
        self.h = 0


def loss_func(inp, targ):
    return F.cross_entropy(inp.view(-1, len(vocab)), targ.view(-1))


def validate(model):
    model.eval()
    model.reset()
    right = total = 0
    with torch.no_grad():
        for xb, yb in batches(seqs[cut:]):
            right += (model(xb).argmax(-1) == yb).sum().item()
            total += yb.numel()
    model.train()
    return right / total


def fit_one_cycle(model, epochs, max_lr):
    opt = torch.optim.Adam(model.parameters(), lr=max_lr)
    steps = epochs * sum(1 for _ in batches(seqs[:cut]))
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr, total_steps=steps)
    for epoch in range(epochs):
        model.reset()
        total, n = 0.0, 0
        for xb, yb in batches(seqs[:cut]):
            loss = loss_func(model(xb), yb)
            loss.backward()
            opt.step()
            sched.step()
            opt.zero_grad()
            total += loss.item()
            n += 1
        if epoch % 5 == 4:
            print('epoch %2d train loss %.4f accuracy %.4f' % (epoch, total / n, validate(model)))


if __name__ == '__main__':
    model = LMModel4(len(vocab), 64)
    fit_one_cycle(model, epochs=25, max_lr=1e-2)
    counts = torch.bincount(nums)
    print('share of the most frequent word %.4f' % (counts.max().item() / len(nums)))
