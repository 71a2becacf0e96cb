"""Voices of speakers told apart, each pair set against one of the hardest other voices.

Source: https://github.com/clovaai/voxceleb_trainer/issues/9
Odd: The contrastive loss takes three inputs at once, pairs and others in one mean, the scores are
    distances with a minus, and the other voice is picked under no_grad by rank.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)
SPEAKERS, BANDS, FRAMES, MARGIN = 16, 12, 20, 0.8
timbre = torch.randn(SPEAKERS, BANDS)


def utterances(speakers):
    loud = 0.5 * torch.randn(len(speakers), 1, FRAMES)
    return timbre[speakers].unsqueeze(2) + loud + 3 * torch.randn(len(speakers), BANDS, FRAMES)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(BANDS, 32, 3), nn.ReLU(), nn.Conv1d(32, 32, 3))
        self.fc = nn.Linear(32, 16)

    def forward(self, x):
        return F.normalize(self.fc(F.relu(self.conv(x)).mean(2)))


@torch.no_grad()
def choose_negative(out_anchor, out_positive, rank=4):
    scores = torch.cdist(out_anchor, out_positive).fill_diagonal_(1e9)
    near = scores.topk(rank, largest=False).indices
    return near.gather(1, torch.randint(0, rank, (len(near), 1))).squeeze(1)


def pair_loss(anchor, positive):
    negative = positive[choose_negative(anchor, positive)]
    pos_dist = F.pairwise_distance(anchor, positive)
    neg_dist = F.pairwise_distance(anchor, negative)
    nloss = torch.cat([pos_dist.pow(2), F.relu(MARGIN - neg_dist).pow(2)]).mean()
    scores = -1 * torch.cat([pos_dist, neg_dist]).detach()
    return nloss, scores


def equal_error(scores):
    half = len(scores) // 2
    errors = []
    for threshold in scores.sort().values:
        missed = (scores[:half] < threshold).float().mean()
        false = (scores[half:] >= threshold).float().mean()
        errors.append(torch.maximum(missed, false))
    return min(errors).item()


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(240):
    speakers = torch.randperm(SPEAKERS)
    nloss, scores = pair_loss(model(utterances(speakers)), model(utterances(speakers)))
    optimizer.zero_grad()
    nloss.backward()
    optimizer.step()
    if step % 48 == 47:
        with torch.no_grad():
            speakers = torch.randperm(SPEAKERS)
            _, scores = pair_loss(model(utterances(speakers)), model(utterances(speakers)))
        print(f"step {step + 1} loss {nloss.item():.4f} equal error {equal_error(scores):.3f}")
