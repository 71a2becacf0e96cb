r"""Topic of short news by an EmbeddingBag over words and pairs of words, as in the tutorial.

Source: https://github.com/pytorch/tutorials/pull/1333
Fault: in test() the name loss is the running sum and also the loss of the batch, so the sum is
    overwritten by every batch; what is returned is twice the loss of the last batch divided by
    the number of batches, far too small.
Cause: loss.{0,100}(overwrit|reassign|rebound|replac|shadow|same (name|variable)|reset|lost
    |reused)|(overwrit|reassign|rebind|shadow|reus)\w*.{0,80}loss|only.{0,30}last batch
    |last batch.{0,40}(only|alone)|loss.{0,60}(not|never|n't) (accumulat|summ|add)
Place: loss|test
"""
import random
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.utils.data.dataset import random_split

torch.manual_seed(5)
random.seed(5)

NGRAMS = 2
BATCH_SIZE = 16

topics = {
    0: "minister vote border treaty war summit embassy president".split(),
    1: "match goal team coach league cup season striker".split(),
    2: "profit shares bank market oil deal price quarter".split(),
    3: "software chip robot internet phone space virus data".split(),
}
common = "the a of to in said on after new for with is was big day year week more".split()


def make_news(n):
    news = []
    for _ in range(n):
        cls = random.randrange(4)
        words = []
        for _ in range(random.randint(8, 14)):
            if random.random() < 0.3:
                words.append(random.choice(topics[cls]))
            elif random.random() < 0.1:
                words.append(random.choice(topics[random.randrange(4)]))
            else:
                words.append(random.choice(common))
        news.append((cls, words))
    return news


def ngrams_iterator(words, n):
    yield from words
    for i in range(len(words) - n + 1):
        yield " ".join(words[i:i + n])


raw_train, raw_test = make_news(2000), make_news(500)
vocab = {"<unk>": 0}
for _, words in raw_train:
    for gram in ngrams_iterator(words, NGRAMS):
        vocab.setdefault(gram, len(vocab))


def to_dataset(raw):
    return [(cls, torch.tensor([vocab.get(g, 0) for g in ngrams_iterator(w, NGRAMS)]))
            for cls, w in raw]


train_dataset, test_dataset = to_dataset(raw_train), to_dataset(raw_test)


class TextSentiment(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_class):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, sparse=True)
        self.fc = nn.Linear(embed_dim, num_class)
        self.init_weights()

    def init_weights(self):
        initrange = 0.5
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.fc.weight.data.uniform_(-initrange, initrange)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        embedded = self.embedding(text, offsets)
        return self.fc(embedded)


def generate_batch(batch):
    label = torch.tensor([entry[0] for entry in batch])
    text = [entry[1] for entry in batch]
    offsets = [0] + [len(entry) for entry in text]
    offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
    text = torch.cat(text)
    return text, offsets, label


def train_func(sub_train_):
    train_loss = 0
    train_acc = 0
    data = DataLoader(sub_train_, batch_size=BATCH_SIZE, shuffle=True, collate_fn=generate_batch)
    for i, (text, offsets, cls) in enumerate(data):
        optimizer.zero_grad()
        output = model(text, offsets)
        loss = criterion(output, cls)
        train_loss += loss.item()
        loss.backward()
        optimizer.step()
        train_acc += (output.argmax(1) == cls).sum().item()

    scheduler.step()

    return train_loss / len(data), train_acc / len(sub_train_)


def test(data_):
    loss = 0
    acc = 0
    data = DataLoader(data_, batch_size=BATCH_SIZE, collate_fn=generate_batch)
    for text, offsets, cls in data:
        with torch.no_grad():
            output = model(text, offsets)
            loss = criterion(output, cls)  # here
            loss += loss.item()
            acc += (output.argmax(1) == cls).sum().item()

    return loss / len(data), acc / len(data_)


N_EPOCHS = 8
model = TextSentiment(len(vocab), 32, 4)
criterion = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)

train_len = int(len(train_dataset) * 0.95)
sub_train_, sub_valid_ = random_split(train_dataset, [train_len, len(train_dataset) - train_len])

for epoch in range(N_EPOCHS):
    start_time = time.time()
    train_loss, train_acc = train_func(sub_train_)
    valid_loss, valid_acc = test(sub_valid_)
    secs = int(time.time() - start_time)
    print("Epoch: %d" % (epoch + 1), " | time in %d seconds" % secs)
    print(f"\tLoss: {train_loss:.4f}(train)\t|\tAcc: {train_acc * 100:.1f}%(train)")
    print(f"\tLoss: {valid_loss:.4f}(valid)\t|\tAcc: {valid_acc * 100:.1f}%(valid)")

print("Checking the results of test dataset...")
test_loss, test_acc = test(test_dataset)
print(f"\tLoss: {test_loss:.4f}(test)\t|\tAcc: {test_acc * 100:.1f}%(test)")
