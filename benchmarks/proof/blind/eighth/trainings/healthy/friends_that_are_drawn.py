"""Groups of people from a few drawn friends of each, and of their friends in turn.

Source: https://github.com/williamleif/GraphSAGE
Odd: The neighbours are drawn anew in each pass, with repetition, so the same input gives different
    outputs; people that are tested are not in the graph of the training at all.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(271)
PEOPLE, GROUPS, HOBBIES = 600, 5, 16
group = torch.randint(0, GROUPS, (PEOPLE,))
taste = torch.randn(GROUPS, HOBBIES)
features = 0.5 * taste[group] + 1.2 * torch.randn(PEOPLE, HOBBIES)
chance = torch.where(group[:, None] == group[None], 0.06, 0.006)
known = torch.triu(torch.rand(PEOPLE, PEOPLE) < chance, 1)
known = known | known.T
train_nodes, test_nodes = torch.arange(0, 400), torch.arange(400, PEOPLE)


def sampler(edges):
    lists = [row.nonzero().flatten() for row in edges]

    def draw(nodes, count):
        out = []
        for n in nodes.tolist():
            friends = lists[n] if len(lists[n]) else torch.tensor([n])
            out.append(friends[torch.randint(0, len(friends), (count,))])
        return torch.stack(out)

    return draw


class SageLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs, bias=False)
        self.near = nn.Linear(inputs, outputs, bias=False)

    def forward(self, own, near):
        return torch.cat([self.own(own), self.near(near.mean(-2))], -1)


class SupervisedGraphsage(nn.Module):
    def __init__(self, dim=24, samples=(8, 4)):
        super().__init__()
        self.samples = samples
        self.layer1 = SageLayer(HOBBIES, dim)
        self.layer2 = SageLayer(2 * dim, dim)
        self.predict = nn.Linear(2 * dim, GROUPS)

    def forward(self, nodes, draw):
        first = draw(nodes, self.samples[0])
        second = draw(first.flatten(), self.samples[1]).view(*first.shape, -1)
        own = F.relu(self.layer1(features[nodes], features[first]))
        near = F.relu(self.layer1(features[first], features[second]))
        return self.predict(F.normalize(self.layer2(own, near), dim=-1))


inductive = known.clone()
inductive[test_nodes] = False
inductive[:, test_nodes] = False
draw_train, draw_all = sampler(inductive), sampler(known)
model = SupervisedGraphsage()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for iteration in range(80):
    nodes = train_nodes[torch.randint(0, len(train_nodes), (64,))]
    loss = F.cross_entropy(model(nodes, draw_train), group[nodes])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 5.0)
    optimizer.step()
    if iteration % 20 == 0:
        print(f"Iter: {iteration:04d} train_loss= {loss.item():.5f}")
with torch.no_grad():
    right = (model(test_nodes, draw_all).argmax(1) == group[test_nodes]).float().mean().item()
print(f"train_loss= {loss.item():.5f} accuracy on people that are new {right:.3f}")
