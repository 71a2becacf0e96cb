r"""Policy that adds pieces to a molecule, with the logarithm of the partition function.

Source: https://github.com/alexhernandezgarcia/gflownet/pull/251
Fault: The outputs of the policy are cloned and detached before the log-probabilities, so the
    policy gets no gradient.
Cause: detach\w*|stop.?gradient|cut (off )?from the graph|graph is (cut|broken)
    |gradient.{0,50}(cut|stopped|blocked)
Place: detach|\blogits\b|policy\w*|\bnet\b|head|trunk
"""

import torch
from torch import nn


class PiecePolicy(nn.Module):
    def __init__(self, pieces=12, dim=24, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(pieces + 1, dim, padding_idx=pieces)
        self.pieces = pieces
        self.trunk = nn.Sequential(
            nn.Linear(dim + 1, hidden), nn.LeakyReLU(), nn.Linear(hidden, hidden), nn.LeakyReLU()
        )
        self.forward_head = nn.Linear(hidden, pieces + 1)
        self.backward_head = nn.Linear(hidden, pieces)

    def forward(self, state):
        size = (state != self.pieces).sum(1, keepdim=True).float()
        h = self.trunk(torch.cat([self.embed(state).sum(1), size / state.shape[1]], dim=1))
        return self.forward_head(h), self.backward_head(h)


class GrownMolecules(nn.Module):
    def __init__(self, pieces=12, slots=6):
        super().__init__()
        self.pieces, self.slots = pieces, slots
        self.policy = PiecePolicy(pieces)
        self.log_z = nn.Parameter(torch.zeros(16))

    def get_logprobs(self, policy_outputs, actions, mask):
        logits = policy_outputs.clone().detach()  # here
        logits = logits.masked_fill(mask, -1000.0)
        return logits.log_softmax(1).gather(1, actions[:, None]).squeeze(1)

    def forward(self, trajectory, log_reward):
        log_pf = log_pb = 0.0
        for t in range(self.slots):
            before, after = trajectory.clone(), trajectory.clone()
            before[:, t:] = self.pieces
            after[:, t + 1 :] = self.pieces
            stop = torch.zeros(len(trajectory), self.pieces + 1, dtype=torch.bool)
            stop[:, -1] = t < 2
            log_pf = log_pf + self.get_logprobs(self.policy(before)[0], trajectory[:, t], stop)
            present = torch.zeros(len(trajectory), self.pieces, dtype=torch.bool)
            present.scatter_(1, trajectory[:, : t + 1], True)
            backward = self.policy(after)[1]
            log_pb = log_pb + self.get_logprobs(backward, trajectory[:, t], ~present)
        return (self.log_z.sum() + log_pf - log_pb - log_reward).square()


def build():
    return GrownMolecules()


def example_inputs():
    return torch.randint(0, 12, (6, 6)), torch.rand(6).log()
