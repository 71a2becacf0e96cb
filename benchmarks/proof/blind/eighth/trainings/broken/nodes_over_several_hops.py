r"""Values at the nodes of a graph after several hops, with a limit on the norm of the gradients.

Source: https://github.com/awslabs/graphstorm/issues/1366
Fault: The gradients are clipped after the step of the optimizer, so the clipping has no effect and
    rare steep batches throw the weights away.
Cause: clip\w*.{0,80}(after|before|too late|late|order|no effect|nothing|useless|ineffective|place
    |never|not applied|unclipped)|(after|before).{0,40}step.{0,40}clip|unclipped|not clipped
Place: clip_grad_norm_|max_grad_norm|optimizer\.step
"""

import torch
from torch import nn

torch.manual_seed(31)
NODES, FEATURES, HOPS = 40, 6, 3


class HopLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.near = nn.Linear(inputs, outputs, bias=False)

    def forward(self, adjacency, h):
        return torch.relu(self.own(h) + self.near(adjacency @ h))


class NodeModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        sizes = [FEATURES] + [hidden] * HOPS
        self.layers = nn.ModuleList(map(HopLayer, sizes[:-1], sizes[1:]))
        self.decoder = nn.Linear(hidden, 1)

    def forward(self, adjacency, h):
        for layer in self.layers:
            h = layer(adjacency, h)
        return self.decoder(h).squeeze(-1)


weights = torch.randn(FEATURES)


def sample_graph():
    adjacency = (torch.rand(NODES, NODES) < 0.1).float()
    adjacency = ((adjacency + adjacency.T) > 0).float()
    adjacency = adjacency / adjacency.sum(1, keepdim=True).clamp(min=1)
    h = torch.randn(NODES, FEATURES)
    labels = torch.tanh(h @ weights + 2 * adjacency @ (h @ weights))
    broken_sensor = torch.rand(NODES) < 0.01
    h[broken_sensor] *= 150
    return adjacency, h, labels, ~broken_sensor


class NodePredictionTrainer:
    def __init__(self, model, lr, max_grad_norm):
        self.model = model
        self.max_grad_norm = max_grad_norm
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def fit(self, iterations):
        for iteration in range(iterations):
            adjacency, h, labels, _ = sample_graph()
            loss = (self.model(adjacency, h) - labels).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)  # here
            if iteration % 50 == 0:
                print(f"Part 0 | Epoch 0 | Batch {iteration:03d} | Loss: {loss.item():.4f}")

    @torch.no_grad()
    def evaluate(self, graphs=50):
        total = 0.0
        for _ in range(graphs):
            adjacency, h, labels, sound = sample_graph()
            total += (self.model(adjacency, h) - labels)[sound].abs().median().item() / graphs
        return total


trainer = NodePredictionTrainer(NodeModel(), lr=0.02, max_grad_norm=1.0)
trainer.fit(300)
print(f"median error at the nodes {trainer.evaluate():.3f}")
