r"""Collaborative memory network for implicit feedback, ported to PyTorch from another framework.

Source: https://github.com/tebesu/CollaborativeMemoryNetwork/issues/5
Fault: the decay rate of RMSprop (0.9) is handed over as weight_decay, a huge L2 penalty in
    PyTorch: it pulls all weights to zero and the pairwise loss stays at log 2.
Cause: weight.?decay
    |(\bl2\b|regulari[sz]|penalty|shrink|decay).{0,120}(large|big|strong|huge|high|0\.9|zero|dominat
    |too|collapse|outweigh)
    |(param|weight)s?.{0,80}(pulled|shrink|shrunk|decay|driven|pushed|drawn|collapse).{0,60}(0\b
    |zero|penalty|decay)
Place: weight_decay|decay_rate|optimizer|RMSprop
"""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Config:
    embed_size = 24
    batch_size = 128
    hops = 2
    l2 = 1e-4
    user_count = -1
    item_count = -1
    optimizer = 'rmsprop'
    neg_count = 4
    learning_rate = 0.003
    decay_rate = 0.9
    momentum = 0.9
    grad_clip = 5.0
    max_neighbors = 12


class Dataset:
    """Users and items have a taste; a user has seen items close to it."""

    def __init__(self, users=120, items=90, per_user=12, seed=0):
        rng = np.random.RandomState(seed)
        self.user_count, self.item_count = users, items
        tastes = 4 * rng.randn(users, 3)
        kinds = rng.randn(items, 3)
        scores = tastes @ kinds.T + 1.0 * rng.randn(users, items)
        seen = np.argsort(-scores, axis=1)[:, :per_user]
        self.train, self.test = [], {}
        self.user_items = [set() for _ in range(users)]
        self.item_users = [[] for _ in range(items)]
        for u in range(users):
            picks = rng.permutation(seen[u])
            self.test[u] = int(picks[0])
            for i in picks[1:]:
                self.train.append((u, int(i)))
                self.user_items[u].add(int(i))
                self.item_users[int(i)].append(u)
        self.rng = rng

    def neighbours(self, user, item, limit):
        users = [v for v in self.item_users[item] if v != user]
        if len(users) > limit:
            users = list(self.rng.choice(users, limit, replace=False))
        return users + [self.user_count] * (limit - len(users))

    def get_data(self, batch_size, neg_count, limit):
        rows = []
        for u, i in self.train:
            for _ in range(neg_count):
                j = self.rng.randint(self.item_count)
                while j in self.user_items[u]:
                    j = self.rng.randint(self.item_count)
                rows.append((u, i, j))
        self.rng.shuffle(rows)
        for k in range(0, len(rows), batch_size):
            u, i, j = map(list, zip(*rows[k:k + batch_size]))
            pos = torch.tensor([self.neighbours(v, a, limit) for v, a in zip(u, i)])
            neg = torch.tensor([self.neighbours(v, b, limit) for v, b in zip(u, j)])
            yield torch.tensor(u), torch.tensor(i), torch.tensor(j), pos, neg


class CMN(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.embed_size
        self.pad = config.user_count
        self.user_memory = nn.Embedding(config.user_count + 1, d, padding_idx=self.pad)
        self.user_output = nn.Embedding(config.user_count + 1, d, padding_idx=self.pad)
        self.item_memory = nn.Embedding(config.item_count, d)
        for emb in (self.user_memory, self.user_output, self.item_memory):
            nn.init.normal_(emb.weight, std=0.1)
        self.hop_mapping = nn.ModuleList([nn.Linear(d, d) for _ in range(config.hops - 1)])
        self.dense = nn.Linear(2 * d, d)
        self.out = nn.Linear(d, 1, bias=False)

    def score(self, users, items, neighbours):
        m_u, e_i = self.user_memory(users), self.item_memory(items)
        mem, ext = self.user_memory(neighbours), self.user_output(neighbours)
        mask = neighbours == self.pad
        z = m_u + e_i
        for hop in range(len(self.hop_mapping) + 1):
            logit = (mem * z.unsqueeze(1)).sum(-1).masked_fill(mask, -1e9)
            o = (F.softmax(logit, dim=1).unsqueeze(-1) * ext).sum(1)
            if hop < len(self.hop_mapping):
                z = F.relu(self.hop_mapping[hop](z) + o)
        h = F.relu(self.dense(torch.cat([m_u * e_i, o], dim=1)))
        return self.out(h).squeeze(-1)

    def forward(self, users, items, negs, pos_nb, neg_nb):
        return self.score(users, items, pos_nb), self.score(users, negs, neg_nb)


def criterion(score_pos, score_neg):
    return -F.logsigmoid(score_pos - score_neg).mean()


@torch.no_grad()
def hit_ratio(model, dataset, config, k=10, negatives=50):
    rng = np.random.RandomState(7)
    hits, ndcg = [], []
    for u, i in dataset.test.items():
        cand = [i]
        while len(cand) < negatives + 1:
            j = rng.randint(dataset.item_count)
            if j not in dataset.user_items[u] and j != i:
                cand.append(j)
        nb = torch.tensor([dataset.neighbours(u, c, config.max_neighbors) for c in cand])
        s = model.score(torch.full((len(cand),), u), torch.tensor(cand), nb)
        rank = (s[1:] >= s[0]).sum().item()
        hits.append(float(rank < k))
        ndcg.append(1 / math.log2(rank + 2) if rank < k else 0.0)
    return np.mean(hits), np.mean(ndcg)


config = Config()
torch.manual_seed(0)
dataset = Dataset()
config.user_count, config.item_count = dataset.user_count, dataset.item_count
model = CMN(config)
optimizer = torch.optim.RMSprop(model.parameters(), lr=config.learning_rate,
                                momentum=config.momentum,
                                weight_decay=config.decay_rate)  # here

print('before: HR@10 %.3f NDCG@10 %.3f' % hit_ratio(model, dataset, config))
for epoch in range(6):
    losses = []
    for batch in dataset.get_data(config.batch_size, config.neg_count, config.max_neighbors):
        score_pos, score_neg = model(*batch)
        batch_loss = criterion(score_pos, score_neg)
        # adding l2 regularisation
        for name, param in model.named_parameters():
            if name in ['dense.weight', 'out.weight', 'hop_mapping.0.weight']:
                batch_loss = batch_loss + config.l2 * param.pow(2).sum()
        optimizer.zero_grad()
        batch_loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip)
        optimizer.step()
        losses.append(batch_loss.item())
    hr, ndcg = hit_ratio(model, dataset, config)
    print('Epoch {} loss {:.4f} HR@10 {:.3f} NDCG@10 {:.3f}'.format(epoch, np.mean(losses), hr,
                                                                    ndcg))
