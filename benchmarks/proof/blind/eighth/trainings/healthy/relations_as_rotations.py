"""Facts of a family as rotations of complex vectors, with drawn false facts.

Source: https://github.com/DeepGraphLearning/KnowledgeGraphEmbedding
Odd: The loss has no labels but a margin of six inside of log sigmoids, the weights of the false
    facts come from the model itself and are detached, and steps for heads and tails take turns.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(203)
ENTITIES, RELATIONS = 60, 4
shifts = torch.tensor([1, 7, 13, 20])


class KGEModel(nn.Module):
    def __init__(self, hidden_dim=20, gamma=6.0, epsilon=2.0):
        super().__init__()
        self.gamma = gamma
        self.embedding_range = (gamma + epsilon) / hidden_dim
        span = self.embedding_range
        self.entity = nn.Parameter(torch.empty(ENTITIES, 2 * hidden_dim).uniform_(-span, span))
        self.relation = nn.Parameter(torch.empty(RELATIONS, hidden_dim).uniform_(-span, span))

    def score(self, head, relation, tail):
        re_head, im_head = self.entity[head].chunk(2, dim=-1)
        re_tail, im_tail = self.entity[tail].chunk(2, dim=-1)
        phase = self.relation[relation] / (self.embedding_range / math.pi)
        re_turn, im_turn = phase.cos(), phase.sin()
        re = re_head * re_turn - im_head * im_turn - re_tail
        im = re_head * im_turn + im_head * re_turn - im_tail
        return self.gamma - torch.stack([re, im]).norm(dim=0).sum(-1)


def facts():
    heads = torch.arange(ENTITIES).repeat(RELATIONS)
    relations = torch.arange(RELATIONS).repeat_interleave(ENTITIES)
    return torch.stack([heads, relations, (heads + shifts[relations]) % ENTITIES], 1)


all_facts = facts()[torch.randperm(ENTITIES * RELATIONS)]
train_facts, test_facts = all_facts[:200], all_facts[200:]


@torch.no_grad()
def mean_reciprocal_rank(model, triples):
    h, r, t = triples.T
    everyone = torch.arange(ENTITIES).expand(len(h), -1)
    scores = model.score(h[:, None].expand_as(everyone), r[:, None].expand_as(everyone), everyone)
    rank = (scores > scores.gather(1, t[:, None])).sum(1) + 1
    return (1 / rank).mean().item()


model = KGEModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
print(f"MRR before the training {mean_reciprocal_rank(model, test_facts):.3f}")
for step in range(300):
    batch = train_facts[torch.randint(0, len(train_facts), (64,))]
    h, r, t = (column[:, None] for column in batch.T)
    false = torch.randint(0, ENTITIES, (64, 16))
    relation = r.expand_as(false)
    if step % 2 == 0:
        negative = model.score(false, relation, t.expand_as(false))
    else:
        negative = model.score(h.expand_as(false), relation, false)
    weight = F.softmax(negative, dim=1).detach()
    negative_loss = -(weight * F.logsigmoid(-negative)).sum(1).mean()
    positive_loss = -F.logsigmoid(model.score(h, r, t)).mean()
    loss = (positive_loss + negative_loss) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step} positive {positive_loss:.4f} negative {negative_loss:.4f}")
print(f"MRR on facts that were left out {mean_reciprocal_rank(model, test_facts):.3f}")
