r"""Skip-gram with negative sampling and sparse gradients of the embeddings.

Source: https://github.com/theeluwin/pytorch-sgns
    https://github.com/Andras7/word2vec-pytorch/blob/master/word2vec/model.py
Odd: Most rows of the embeddings get no gradient in a step and the gradient is a sparse tensor;
    only the words of the batch are updated.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SkipGramModel(nn.Module):
    def __init__(self, vocab=400, dim=12):
        super().__init__()
        self.u_embeddings = nn.Embedding(vocab, dim, sparse=True)
        self.v_embeddings = nn.Embedding(vocab, dim, sparse=True)
        nn.init.uniform_(self.u_embeddings.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.v_embeddings.weight)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        score = (emb_u * self.v_embeddings(pos_v)).sum(1)
        neg = torch.bmm(self.v_embeddings(neg_v), emb_u.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(score) + F.logsigmoid(-neg).sum(1)).mean()


torch.manual_seed(0)
model = SkipGramModel()
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.05)
for i in range(250):
    pos_u = torch.randint(0, 400, (64,))
    pos_v = (pos_u // 20) * 20 + torch.randint(0, 20, (64,))
    neg_v = torch.randint(0, 400, (64, 5))
    loss = model(pos_u, pos_v, neg_v)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 50 == 49:
        print(f"iteration {i} loss {loss.item():.4f}")
