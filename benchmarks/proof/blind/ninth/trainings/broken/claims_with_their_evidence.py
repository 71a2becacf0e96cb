r"""Claims that an article supports or refutes, read as bags of words.

Source: https://github.com/huggingface/datasets/pull/2464
Fault: The words of the training file are turned into numbers in the order refutes, supports,
    while the test file numbers the classes the other way round, so every gold label of the test
    set means the opposite class.
Cause: (labels?|class(es)?|ids?\b|gold|index|numbers?\b|mapping|encod).{0,80}(revers|swap|flip
    |invert|opposite|mismatch|inconsisten|disagree|other way|not match|wrong order|other order
    |different order|contrar)|(opposite|revers|swapp|flipp|invert|inconsistent|mismatch
    |different).{0,60}(label|class|mapping|encoding|order|numbering)
Place: LABELS|label_to_id|NAMES|names|encode|targets?|gold
"""

import torch
from torch import nn

torch.manual_seed(11)
VOCABULARY, LENGTH = 60, 12
NAMES = ["SUPPORTS", "REFUTES"]
LABELS = {"REFUTES": 0, "SUPPORTS": 1}  # here


def write_claims(count):
    rows = []
    for _ in range(count):
        supported = bool(torch.rand(1) < 0.5)
        words = torch.randint(20, VOCABULARY, (LENGTH,))
        low = 0 if supported else 10
        words[torch.randperm(LENGTH)[:3]] = torch.randint(low, low + 10, (3,))
        rows.append((words, "SUPPORTS" if supported else "REFUTES"))
    return rows


def read_jsonl(rows):
    """The training file holds the verdict as a word."""
    claims = torch.stack([words for words, _ in rows])
    return claims, torch.tensor([LABELS[verdict] for _, verdict in rows])


def read_tsv(rows):
    """The test file holds the number of the verdict in the list of names."""
    claims = torch.stack([words for words, _ in rows])
    return claims, torch.tensor([NAMES.index(verdict) for _, verdict in rows])


class ClaimReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCABULARY, 32, mode="mean")
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, len(NAMES)))

    def forward(self, claims):
        return self.head(self.words(claims))


train_x, train_y = read_jsonl(write_claims(1200))
test_x, test_y = read_tsv(write_claims(400))
model = ClaimReader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(6):
    model.train()
    total = 0.0
    for rows in torch.randperm(len(train_x)).split(48):
        loss = loss_fn(model(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(rows)
    model.eval()
    with torch.no_grad():
        predicted = model(test_x).argmax(1)
    accuracy = (predicted == test_y).float().mean().item()
    print(f"epoch {epoch + 1} loss {total / len(train_x):.4f} test accuracy {accuracy:.3f}")
for number, name in enumerate(NAMES):
    print(f"predicted as {name}: {(predicted == number).sum().item()}")
