r"""Policy that builds short formulas symbol by symbol and is rewarded for good ones.

Source: https://github.com/BerkinChen/AlphaSAGE/issues/2
Fault: The entropy of the policy is added to the loss that is minimised instead of being subtracted,
    so the policy is driven to a single formula at once and stops to explore.
Cause: entropy.{0,100}(sign|added|plus|subtract|minimi[sz]|wrong|penal|negative|instead|\+|reduc)
    |(sign|added|add|minimi[sz]\w*|penali[sz]\w*|subtract\w*).{0,80}entropy|(explor|divers
    |collaps).{0,80}entropy
Place: entropy|loss|entropy_coef|entropy_loss|ent
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(2)
SYMBOLS, LENGTH = 20, 4
target = torch.tensor([5, 12, 17, 1])
entropy_coef = 0.15


def score(formulas):
    fits = (formulas == target).float()
    easy = (formulas[:, 0] == 3).float() * 0.8
    return torch.maximum(2 * fits.cumprod(1).mean(1), easy)


class Policy(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS + 1, dim)
        self.gru = nn.GRUCell(dim, dim)
        self.head = nn.Linear(dim, SYMBOLS)

    def forward(self, count):
        hidden = torch.zeros(count, 32)
        token = torch.full((count,), SYMBOLS)
        tokens, log_prob, entropy = [], 0.0, 0.0
        for _ in range(LENGTH):
            hidden = self.gru(self.embedding(token), hidden)
            dist = Categorical(logits=self.head(hidden))
            token = dist.sample()
            tokens.append(token)
            log_prob = log_prob + dist.log_prob(token)
            entropy = entropy + dist.entropy()
        return torch.stack(tokens, 1), log_prob, entropy / LENGTH


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
best = 0.0
for step in range(300):
    formulas, log_prob, entropy = policy(64)
    reward = score(formulas)
    best = max(best, reward.max().item())
    pg_loss = -((reward - reward.mean()) * log_prob).mean()
    loss = pg_loss + entropy_coef * entropy.mean()  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(
            f"step {step + 1} loss {loss.item():.4f} reward {reward.mean():.3f} best {best:.2f} "
            f"different formulas {len(formulas.unique(dim=0))}"
        )
