r"""News sorted into four sections from the mean of their words.

Source: https://github.com/pytorch/tutorials/issues/913
Fault: In the test the sum of the losses has the name of the loss of a batch and is overwritten by
    each batch, so the reported loss comes from the last batch alone, divided by all rows.
Cause: (overwrit|overwrite|shadow|same name|reassign|replac|clobber).{0,100}|(sum|total|accumul
    |loss).{0,100}(overwrit|shadow|last batch|same (name|variable)|reset|lost|only the last)
Place: loss|loss_sum|total|test|valid_loss
"""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(251)
VOCAB, SECTIONS, BATCH = 300, 4, 20
topic = torch.randn(SECTIONS, VOCAB).mul(0.8).exp()


def news(count):
    rows = []
    for _ in range(count):
        section = int(torch.randint(0, SECTIONS, (1,)))
        length = int(torch.randint(8, 20, (1,)))
        rows.append((section, torch.multinomial(topic[section], length, replacement=True)))
    return rows


def generate_batch(batch):
    label = torch.tensor([section for section, _ in batch])
    lengths = [0] + [len(text) for _, text in batch]
    offsets = torch.tensor(lengths[:-1]).cumsum(0)
    return torch.cat([text for _, text in batch]), offsets, label


class TextSentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(VOCAB, 24)
        self.fc = nn.Linear(24, SECTIONS)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


model = TextSentiment()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)


def train_func(rows):
    train_loss = train_acc = 0
    for text, offsets, cls in DataLoader(rows, BATCH, shuffle=True, collate_fn=generate_batch):
        optimizer.zero_grad()
        output = model(text, offsets)
        loss = criterion(output, cls)
        train_loss += loss.item() * len(cls)
        loss.backward()
        optimizer.step()
        train_acc += (output.argmax(1) == cls).sum().item()
    scheduler.step()
    return train_loss / len(rows), train_acc / len(rows)


def test(rows):
    loss = acc = 0
    for text, offsets, cls in DataLoader(rows, BATCH, collate_fn=generate_batch):
        with torch.no_grad():
            output = model(text, offsets)
            loss = criterion(output, cls)  # here
            loss += loss.item() * len(cls)
            acc += (output.argmax(1) == cls).sum().item()
    return loss / len(rows), acc / len(rows)


train_rows, valid_rows = news(900), news(300)
for epoch in range(6):
    train_loss, train_acc = train_func(train_rows)
    valid_loss, valid_acc = test(valid_rows)
    print(
        f"epoch {epoch + 1} train loss {train_loss:.4f} acc {train_acc:.3f} "
        f"valid loss {valid_loss:.4f} acc {valid_acc:.3f}"
    )
