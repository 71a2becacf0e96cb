r"""Pairs of signatures, true or forged, by the distance of two embeddings.

Source: https://github.com/VinhLoiIT/signet-pytorch/issues/2
Fault: The pairs are labelled 1 when both are genuine and 0 for a forgery, but the loss draws the
    pairs with 0 together and pushes those with 1 apart.
Cause: (label|indicator|convention|target|\by\b).{0,120}(revers|invert|swap|flip|opposite|mean the
    |exchang|other way|mismatch|wrong way)|(genuine|same|similar|positive).{0,80}(apart|push|away
    |far)|(forg|different|dissimilar|negative).{0,80}(together|closer|pull|draw)
    |terms?.{0,60}(swap|exchang|revers|interchang)
Place: y|1 ?- ?y|label|loss|ContrastiveLoss|contrastive_loss|alpha|beta|margin|same
"""

import torch
from torch import nn

torch.manual_seed(91)
WRITERS, STROKES = 40, 24
hand = torch.randn(WRITERS, STROKES)


def pairs(count):
    """Two signatures of a writer and 1 if both are genuine, 0 if the second one is forged."""
    writer = torch.randint(0, WRITERS, (count,))
    genuine = torch.randint(0, 2, (count,)).float()
    first = hand[writer] + 0.4 * torch.randn(count, STROKES)
    trembling = 1.2 * torch.randn(count, STROKES).abs()
    second = hand[writer] + 0.4 * torch.randn(count, STROKES)
    second = second + (1 - genuine[:, None]) * trembling
    return first, second, genuine


class ContrastiveLoss(nn.Module):
    def __init__(self, alpha=1.0, beta=1.0, margin=1.0):
        super().__init__()
        self.alpha, self.beta, self.margin = alpha, beta, margin

    def forward(self, x1, x2, y):
        distance = nn.functional.pairwise_distance(x1, x2)
        near = self.alpha * (1 - y) * distance**2  # here
        far = self.beta * y * (self.margin - distance).clamp(min=0) ** 2  # here
        return (near + far).mean()


net = nn.Sequential(
    nn.Linear(STROKES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)
)
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
criterion = ContrastiveLoss()
test_first, test_second, test_label = pairs(600)


def best_accuracy(distance, label):
    """Genuine if the distance is below the best of many thresholds."""
    thresholds = torch.linspace(0, distance.max().item(), 200)
    accuracy = ((distance[:, None] < thresholds) == label[:, None].bool()).float().mean(0)
    return accuracy.max().item()


for step in range(240):
    first, second, label = pairs(128)
    loss = criterion(net(first), net(second), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            distance = nn.functional.pairwise_distance(net(test_first), net(test_second))
        print(
            f"step {step + 1} loss {loss.item():.4f} "
            f"accuracy {best_accuracy(distance, test_label):.3f} "
            f"distance of genuine pairs {distance[test_label == 1].mean().item():.3f}"
        )
