r"""A late-interaction retriever whose training is broken off, saved and resumed with --resume.

Source: https://github.com/stanford-futuredata/ColBERT/issues/43
Fault: on --resume the checkpoint is loaded into a model of its own that nobody uses; the training
    goes on with a freshly initialised model and starts from scratch.
Cause: (checkpoint|saved|loaded|restored)\b.*(not (used|the one|the model|the same)|never (used
    |trained|read)|unused|ignored|\bother\b|different|another|wrong|separate|nobody|discarded
    |thrown)
    |resum\w+\b.*(fresh\w*|random\w*|new (model|instance|weights)|re-?initiali|untrained
    |not (the )?(loaded|restored))
    |(fresh\w*|\bnew\w*|random\w*|untrained|re-?initiali[sz]ed|second)\b.*(model|net\b|network
    |colbert|weights?|instance|initiali[sz])\b
    |(model|colbert)\b.*(not|never|isn't)\b.*(loaded|restored|resumed|checkpoint|the one)
    |load_(state_dict|checkpoint)\b.*(not|never|other|different|wrong|another|unused)
Place: colbert|checkpoint|resume|load_checkpoint|load_state_dict|train\b
"""
import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, DIM, QLEN, DLEN, TOPICS = 90, 24, 5, 10, 15


class Collection:
    def __init__(self, seed=0):
        self.rng = np.random.RandomState(seed)

    def words(self, topic, n, lo, hi):
        own = topic * 6 + self.rng.randint(lo, hi, n)
        noise = self.rng.randint(0, VOCAB, n)
        return np.where(self.rng.rand(n) < 0.6, own, noise)

    def triples(self, bsize):
        q, p, n = [], [], []
        for _ in range(bsize):
            a, b = self.rng.choice(TOPICS, 2, replace=False)
            q.append(self.words(a, QLEN, 0, 3))
            p.append(self.words(a, DLEN, 3, 6))
            n.append(self.words(b, DLEN, 3, 6))
        return tuple(torch.tensor(np.array(t)) for t in (q, p, n))


class ColBERT(nn.Module):
    def __init__(self, dim=DIM):
        super().__init__()
        self.embeddings = nn.Embedding(VOCAB, 48)
        self.mix = nn.GRU(48, 48, batch_first=True)
        self.linear = nn.Linear(48, dim, bias=False)

    def encode(self, ids):
        h, _ = self.mix(self.embeddings(ids))
        return F.normalize(self.linear(h), p=2, dim=2)

    def score(self, Q, D):
        return (Q @ D.permute(0, 2, 1)).max(2).values.sum(1)

    def forward(self, Q, D):
        return self.score(self.encode(Q), self.encode(D))


def save_checkpoint(path, batch_idx, model, optimizer):
    torch.save({'batch': batch_idx, 'model_state_dict': model.state_dict(),
                'optimizer_state_dict': optimizer.state_dict()}, path)
    print('#> Saved checkpoint at batch', batch_idx)


def load_checkpoint(path, model, optimizer=None):
    print('#> Loading checkpoint', path.split(os.sep)[-1])
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint['model_state_dict'])
    if optimizer is not None:
        optimizer.load_state_dict(checkpoint['optimizer_state_dict'])
    return checkpoint


def train(args, collection):
    colbert = ColBERT()
    checkpoint = None
    start_batch_idx = 0
    if args.resume:
        model = ColBERT()
        checkpoint = load_checkpoint(args.checkpoint, model)  # here
        start_batch_idx = checkpoint['batch']

    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, colbert.parameters()),
                                  lr=args.lr, eps=1e-8)
    if checkpoint is not None:
        optimizer.load_state_dict(checkpoint['optimizer_state_dict'])
    criterion = nn.CrossEntropyLoss()
    labels = torch.zeros(args.bsize, dtype=torch.long)

    colbert.train()
    train_loss = None
    for batch_idx in range(start_batch_idx, args.maxsteps):
        Q, P, N = collection.triples(args.bsize)
        scores = torch.stack([colbert(Q, P), colbert(Q, N)], dim=1)
        loss = criterion(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(colbert.parameters(), 2.0)
        optimizer.step()
        train_loss = loss.item() if train_loss is None else 0.95 * train_loss + 0.05 * loss.item()
        if batch_idx % 30 == 0 or batch_idx == start_batch_idx:
            print('%5d loss %.4f avg %.4f' % (batch_idx, loss.item(), train_loss))
        if batch_idx + 1 in args.save_at:
            save_checkpoint(args.checkpoint, batch_idx + 1, colbert, optimizer)
            if args.stop_after_save:
                break
    return colbert


def evaluate(colbert, collection, n=400):
    colbert.eval()
    Q, P, N = collection.triples(n)
    with torch.no_grad():
        return (colbert(Q, P) > colbert(Q, N)).float().mean().item()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--bsize', type=int, default=32)
    parser.add_argument('--maxsteps', type=int, default=260)
    parser.add_argument('--lr', type=float, default=2e-3)
    parser.add_argument('--resume', action='store_true')
    args = parser.parse_args()
    torch.manual_seed(12)
    with tempfile.TemporaryDirectory() as folder:
        args.checkpoint = os.path.join(folder, 'colbert-200.dnn')
        args.save_at, args.stop_after_save = (200,), True
        colbert = train(args, Collection(0))
        print('pairwise accuracy before the break %.3f' % evaluate(colbert, Collection(9)))

        args.resume, args.save_at, args.stop_after_save = True, (), False
        colbert = train(args, Collection(1))
        print('pairwise accuracy at the end %.3f' % evaluate(colbert, Collection(9)))
