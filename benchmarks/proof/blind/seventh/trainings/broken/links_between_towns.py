r"""Links between towns as translations of vectors, stopped at the best validation rank.

Source: https://github.com/thunlp/OpenKE/pull/131
Fault: The best state is a reference to the tensors in training, so the last weights are loaded.
Cause: (state_dict|best).{0,100}(reference|alias|same tensors?|not (a )?cop|clone|shar|overwrit)
    |(deep.?copy|\.clone)|(best).{0,60}(last|final|latest|current) (weights|state|epoch|model)
Place: best_state|best_model|state_dict
"""

import torch
from torch import nn

torch.manual_seed(1)
TOWNS, RELATIONS, DIM = 60, 5, 24


class TransE(nn.Module):
    def __init__(self):
        super().__init__()
        self.ent = nn.Embedding(TOWNS, DIM)
        self.rel = nn.Embedding(RELATIONS, DIM)
        nn.init.xavier_uniform_(self.ent.weight)
        nn.init.xavier_uniform_(self.rel.weight)

    def forward(self, h, r, t):
        return (self.ent(h) + self.rel(r) - self.ent(t)).norm(p=1, dim=-1)


def facts():
    place = torch.randn(TOWNS, 6)
    shift = torch.randn(RELATIONS, 6)
    h = torch.arange(TOWNS).repeat_interleave(RELATIONS)
    r = torch.arange(RELATIONS).repeat(TOWNS)
    d = torch.cdist(place[h] + shift[r], place)
    d[torch.arange(len(h)), h] = 1e9
    t = d.argmin(1)
    wrong = torch.rand(len(h)) < 0.15
    t[wrong] = torch.randint(0, TOWNS, (int(wrong.sum()),))
    order = torch.randperm(len(h))
    return torch.stack([h, r, t], 1)[order]


class Trainer:
    def __init__(self, model, train, valid, alpha=0.05, margin=4.0):
        self.model, self.train, self.valid, self.margin = model, train, valid, margin
        self.optimizer = torch.optim.Adam(model.parameters(), lr=alpha)

    def mean_rank(self):
        with torch.no_grad():
            h, r, t = self.valid.unbind(1)
            every = torch.arange(TOWNS)[None]
            scores = self.model(h[:, None], r[:, None], every)
            return ((scores < scores.gather(1, t[:, None])).sum(1) + 1.0).mean().item()

    def run(self, epochs=40):
        best_rank, best_state = float("inf"), None
        for epoch in range(epochs):
            for batch in self.train[torch.randperm(len(self.train))].split(60):
                h, r, t = batch.unbind(1)
                corrupted = torch.randint(0, TOWNS, t.shape)
                gap = self.model(h, r, t) - self.model(h, r, corrupted)
                loss = torch.relu(self.margin + gap).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            rank = self.mean_rank()
            if rank < best_rank:
                best_rank, best_state = rank, self.model.state_dict()  # here
            if epoch % 8 == 0:
                print(f"epoch {epoch} loss {loss.item():.3f} valid mean rank {rank:.2f}")
        self.model.load_state_dict(best_state)
        print(f"best {best_rank:.2f}, rank of the loaded model {self.mean_rank():.2f}")


triples = facts()
Trainer(TransE(), triples[:240], triples[240:]).run()
