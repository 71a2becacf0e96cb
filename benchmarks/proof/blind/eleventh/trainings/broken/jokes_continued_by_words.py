r"""A tutorial that trains a two layer LSTM to continue short jokes word by word.

Source: https://github.com/closeheat/pytorch-lstm-text-generation-tutorial/issues/3
Fault: the batches have the shape (batch, sequence) but the LSTM is built without batch_first, so it
    runs over the batch as time and mixes unrelated lines; a word sees no words before it.
Cause: batch_first
    |(batch|sequence|time|first|leading)\b.*(dimension|axis|dim)\b.*(swapped|confus\w+|mixed
    |wrong|exchanged|taken|treated|interpreted|read|as)
    |(lstm|recurren\w+|rnn)\b.*(over|along|across|walks?|runs?|scans?)\b.*(batch|samples|examples)
    |(batch|samples|examples)\b.*(as|for) (the )?(time|sequence|steps)
    |(time|sequence)\b.*(as|for) (the )?batch
Place: lstm|batch_first|Model
"""
import argparse
from collections import Counter

import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader


class Dataset(torch.utils.data.Dataset):
    def __init__(self, args):
        self.args = args
        self.words = self.load_words()
        self.uniq_words = self.get_uniq_words()
        self.index_to_word = {index: word for index, word in enumerate(self.uniq_words)}
        self.word_to_index = {word: index for index, word in enumerate(self.uniq_words)}
        self.words_indexes = [self.word_to_index[w] for w in self.words]

    def load_words(self):
        rng = np.random.RandomState(0)
        animals = ['cow', 'duck', 'dog', 'cat']
        places = ['bar', 'shop', 'bank', 'zoo']
        says = {'cow': 'moo', 'duck': 'quack', 'dog': 'woof', 'cat': 'meow'}
        owner = {'bar': 'barman', 'shop': 'clerk', 'bank': 'teller', 'zoo': 'keeper'}
        text = []
        for _ in range(140):
            a, p = rng.choice(animals), rng.choice(places)
            text.append('what did the %s say in the %s to the %s %s .' % (
                a, p, owner[p], says[a]))
        return ' '.join(text).split(' ')

    def get_uniq_words(self):
        word_counts = Counter(self.words)
        return sorted(word_counts, key=word_counts.get, reverse=True)

    def __len__(self):
        return len(self.words_indexes) - self.args.sequence_length

    def __getitem__(self, index):
        return (
            torch.tensor(self.words_indexes[index:index + self.args.sequence_length]),
            torch.tensor(self.words_indexes[index + 1:index + self.args.sequence_length + 1]),
        )


class Model(nn.Module):
    def __init__(self, dataset):
        super(Model, self).__init__()
        self.lstm_size = 48
        self.embedding_dim = 48
        self.num_layers = 2

        n_vocab = len(dataset.uniq_words)
        self.embedding = nn.Embedding(
            num_embeddings=n_vocab,
            embedding_dim=self.embedding_dim,
        )
        self.lstm = nn.LSTM(  # here
            input_size=self.lstm_size,
            hidden_size=self.lstm_size,
            num_layers=self.num_layers,
            dropout=0.2,
        )
        self.fc = nn.Linear(self.lstm_size, n_vocab)

    def forward(self, x, prev_state):
        embed = self.embedding(x)
        output, state = self.lstm(embed, prev_state)
        logits = self.fc(output)
        return logits, state

    def init_state(self, n):
        return (torch.zeros(self.num_layers, n, self.lstm_size),
                torch.zeros(self.num_layers, n, self.lstm_size))


def train(dataset, model, args):
    model.train()
    dataloader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=0.005)

    for epoch in range(args.max_epochs):
        for batch, (x, y) in enumerate(dataloader):
            optimizer.zero_grad()
            y_pred, (state_h, state_c) = model(x, model.init_state(args.sequence_length))
            loss = criterion(y_pred.transpose(1, 2), y)
            loss.backward()
            optimizer.step()
        print({'epoch': epoch, 'batch': batch, 'loss': round(loss.item(), 4)})


def predict(dataset, model, text, next_words=10):
    model.eval()
    words = text.split(' ')
    state_h, state_c = model.init_state(len(words))
    for i in range(0, next_words):
        x = torch.tensor([[dataset.word_to_index[w] for w in words[i:]]])
        y_pred, (state_h, state_c) = model(x, (state_h, state_c))
        p = torch.nn.functional.softmax(y_pred[0][-1], dim=0).detach().numpy().astype('float64')
        word_index = np.random.choice(len(p), p=p / p.sum())
        words.append(dataset.index_to_word[word_index])
    return words


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--max-epochs', type=int, default=3)
    parser.add_argument('--batch-size', type=int, default=16)
    parser.add_argument('--sequence-length', type=int, default=16)
    args = parser.parse_args()

    np.random.seed(1)
    torch.manual_seed(1)
    dataset = Dataset(args)
    model = Model(dataset)
    train(dataset, model, args)
    print(' '.join(predict(dataset, model, text='what did the cow say in the')))
