r"""Word vectors by skip-gram with negative sampling from sentences about five things.

Source: https://github.com/fanglanting/skip-gram-pytorch/issues/4
Fault: forward returns the log-likelihood (mean of logsigmoid terms), and SGD minimises it, so the
    likelihood goes down: the sign of the objective is missing and neighbours are pushed apart.
Cause: (\bsign\b|minus|negat(e|ed|ion|ing)\b|flip|invert|maximi[sz]|ascent|wrong (way|direction)
    |unbounded|no lower bound)|(minimi[sz]\w*|lower\w*|decreas\w*|descend\w*).{0,80}(likelihood
    |log.?sigmoid|log.?prob)
Place: forward|loss|logsigmoid|skipgram|backward
"""
import collections
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

random.seed(2)
np.random.seed(2)
torch.manual_seed(2)

scenes = [
    "sea ship wave sail wind harbour fish".split(),
    "wood tree leaf bird root moss deer".split(),
    "oven bread flour salt dough heat crust".split(),
    "road wheel car fuel brake driver bridge".split(),
    "bed night dream sleep pillow moon dark".split(),
]


class DataReader(object):
    def __init__(self, sentences=1500):
        words = []
        for _ in range(sentences):
            scene = random.choice(scenes)
            words += [random.choice(scene) for _ in range(8)]
        counter = collections.Counter(words)
        self.vocab = [w for w, _ in counter.most_common()]
        self.word2idx = {w: i for i, w in enumerate(self.vocab)}
        self.data = [self.word2idx[w] for w in words]
        freq = np.array([counter[w] for w in self.vocab], dtype=float) ** 0.75
        self.table = freq / freq.sum()
        self.position = 0

    def generate_batch(self, window_size, batch_size, neg_count):
        pos_u, pos_v = [], []
        while len(pos_u) < batch_size:
            i = self.position % len(self.data)
            start = i - i % 8
            for j in range(max(start, i - window_size), min(start + 8, i + window_size + 1)):
                if j != i:
                    pos_u.append(self.data[i])
                    pos_v.append(self.data[j])
            self.position += 1
        pos_u, pos_v = pos_u[:batch_size], pos_v[:batch_size]
        neg_v = np.random.choice(len(self.vocab), size=(batch_size, neg_count), p=self.table)
        return torch.tensor(pos_u), torch.tensor(pos_v), torch.tensor(neg_v)


class skipgram(nn.Module):
    def __init__(self, vocab_size, embedding_dim):
        super(skipgram, self).__init__()
        self.u_embeddings = nn.Embedding(vocab_size, embedding_dim, sparse=True)
        self.v_embeddings = nn.Embedding(vocab_size, embedding_dim, sparse=True)
        self.embedding_dim = embedding_dim
        self.init_emb()

    def init_emb(self):
        initrange = 0.5 / self.embedding_dim
        self.u_embeddings.weight.data.uniform_(-initrange, initrange)
        self.v_embeddings.weight.data.uniform_(-initrange, initrange)

    def forward(self, u_pos, v_pos, v_neg, batch_size):
        embed_u = self.u_embeddings(u_pos)
        embed_v = self.v_embeddings(v_pos)

        score = torch.mul(embed_u, embed_v)
        score = torch.sum(score, dim=1)
        log_target = F.logsigmoid(score).squeeze()

        neg_embed_v = self.v_embeddings(v_neg)
        neg_score = torch.bmm(neg_embed_v, embed_u.unsqueeze(2)).squeeze(2)
        neg_score = torch.sum(neg_score, dim=1)
        sum_log_sampled = F.logsigmoid(-1 * neg_score).squeeze()

        loss = log_target + sum_log_sampled

        return loss.sum() / batch_size  # here

    def input_embeddings(self):
        return self.u_embeddings.weight.data.numpy()


class word2vec:
    def __init__(self, embedding_dim=16, window_size=2, neg_num=3, batch_size=64):
        self.embedding_dim = embedding_dim
        self.windows_size = window_size
        self.op = DataReader()
        self.vocab = self.op.vocab
        self.batch_size = batch_size
        self.neg_num = neg_num

    def train(self, steps=2400):
        model = skipgram(len(self.vocab), self.embedding_dim)
        optimizer = optim.SGD(model.parameters(), lr=0.2)
        for step in range(steps):
            pos_u, pos_v, neg_v = self.op.generate_batch(
                self.windows_size, self.batch_size, self.neg_num)
            optimizer.zero_grad()
            loss = model(pos_u, pos_v, neg_v, self.batch_size)
            loss.backward()
            optimizer.step()
            if step % 400 == 0:
                print(step, loss.item())
        return model


def neighbours(model, wc):
    emb = model.input_embeddings()
    emb = emb / np.linalg.norm(emb, axis=1, keepdims=True)
    sim = emb @ emb.T
    np.fill_diagonal(sim, -2)
    scene_of = {w: k for k, s in enumerate(scenes) for w in s}
    hits = 0
    for i, w in enumerate(wc.vocab):
        near = [wc.vocab[j] for j in np.argsort(-sim[i])[:3]]
        hits += sum(scene_of[n] == scene_of[w] for n in near)
    print("nearest words of bread:",
          [wc.vocab[j] for j in np.argsort(-sim[wc.op.word2idx["bread"]])[:5]])
    return hits / (3 * len(wc.vocab))


if __name__ == "__main__":
    wc = word2vec()
    model = wc.train()
    print("neighbours of the same scene: %.2f" % neighbours(model, wc))
