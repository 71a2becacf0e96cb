r"""Sentiment of reviews from counts of words through an inference network for their topics.

Source: https://github.com/dangitstam/topic-rnn/pull/9
Fault: The learning rate is so high that a few steps put the units of a ReLU to zero for ever.
Cause: learning rate|\blr\b|(dead|dying|dies?|died)\b|relu
    |(units?|neurons?).{0,40}(zero|inactive|off)
Place: \blr\b
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)
vocab, topics, words = 60, 6, 40
word_of_topic = torch.distributions.Dirichlet(torch.full((vocab,), 0.1)).sample((topics,))
mood_of_topic = torch.tensor([1.0, 1, 1, -1, -1, -1])


def reviews(count=64):
    mix = torch.distributions.Dirichlet(torch.full((topics,), 0.3)).sample((count,))
    counts = torch.distributions.Multinomial(words, probs=mix @ word_of_topic).sample()
    return counts, (mix @ mood_of_topic > 0).long()


class TopicEncoder(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(vocab, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.sentiment = nn.Linear(hidden, 2)

    def forward(self, counts):
        return self.sentiment(self.mlp(counts))


model = TopicEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=0.5)  # here
for batch in range(100):
    counts, mood = reviews()
    scores = model(counts)
    loss = F.cross_entropy(scores, mood)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if batch % 20 == 0:
        print(f"batch {batch} loss {loss.item():.3f}")
counts, mood = reviews(1000)
with torch.no_grad():
    accuracy = (model(counts).argmax(1) == mood).float().mean()
print(f"accuracy {accuracy.item():.3f}")
