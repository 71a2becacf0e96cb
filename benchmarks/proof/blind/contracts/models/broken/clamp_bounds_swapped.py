r"""The model `GaussianPolicy`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.clamp.html
Fault: clamp is called with min greater than max, so every value becomes the max and no gradient
    flows.
Cause: (min|lower|max|upper|bound)\w*.*(swap|greater|larger|exceed|revers|order|above|>|wrong)
    |(swap|revers|wrong)\w*.*(min|max|bound|limit)|constant|no gradient|clamp|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn


class GaussianPolicy(nn.Module):
    LOG_STD = (2.0, -5.0)

    def __init__(self, obs=8, hidden=48, actions=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.mean = nn.Linear(hidden, actions)
        self.log_std = nn.Linear(hidden, actions)

    def forward(self, obs):
        h = self.body(obs)
        log_std = torch.clamp(self.log_std(h), self.LOG_STD[0], self.LOG_STD[1])
        return torch.tanh(self.mean(h)), log_std.exp()


torch.manual_seed(0)
model = GaussianPolicy()
example_inputs = (torch.randn(16, 8),)
