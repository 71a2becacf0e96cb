r"""Label model that adds up the loss of an epoch to report it.

Source: https://github.com/BatsResearch/labelmodels/issues/4
Fault: The sum is of tensors with their graphs, which stay in memory until the end of the epoch.
Cause: graphs?\b|memory|history|detach|\.item\(|running_loss
Place: running_loss
"""

import torch
from torch import nn


class NaiveBayes(nn.Module):
    def __init__(self, classes=3, functions=8):
        super().__init__()
        self.accuracy = nn.Parameter(torch.full((functions, classes), 1.0))
        self.class_prior = nn.Parameter(torch.zeros(classes))

    def forward(self, votes):
        right = nn.functional.logsigmoid(self.accuracy)
        wrong = nn.functional.logsigmoid(-self.accuracy) - 0.6931
        hit = votes[..., None] == torch.arange(3)
        likelihood = torch.where(hit, right, wrong).sum(1)
        return likelihood + self.class_prior.log_softmax(0)


torch.manual_seed(0)
truth = torch.randint(0, 3, (600, 1))
votes = torch.where(torch.rand(600, 8) < 0.75, truth, torch.randint(0, 3, (600, 8)))
model = NaiveBayes()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(3):
    running_loss = 0.0
    for index in torch.randperm(600).split(20):
        log_likelihood = model(votes[index]).logsumexp(1).mean()
        loss = -log_likelihood
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running_loss += loss  # here
    print(f"epoch {epoch} loss {float(running_loss) / 30:.3f}")
