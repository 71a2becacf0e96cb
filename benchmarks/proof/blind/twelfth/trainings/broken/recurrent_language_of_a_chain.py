r"""Word language model with an LSTM, trained by truncated backpropagation and Adam.

Source: https://github.com/deeplearningathome/pytorch-language-model/issues/1
Fault: Adam gets weight_decay=1e-2, which it adds to the gradient before it divides by its size;
    that is far too strong here, it pulls the weights to zero and the loss stops far too high.
Cause: weight.?decay|L2.{0,20}(penalty|regulari[sz]ation)|regulari[sz]ation.{0,60}(strong|large
    |high|too)
Place: weight_decay|optimizer|Adam
"""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description="Simplest LSTM-based language model in PyTorch")
parser.add_argument("--hidden_size", type=int, default=64)
parser.add_argument("--num_steps", type=int, default=20)
parser.add_argument("--num_layers", type=int, default=1)
parser.add_argument("--batch_size", type=int, default=20)
parser.add_argument("--num_epochs", type=int, default=6)
parser.add_argument("--dp_keep_prob", type=float, default=0.9)
parser.add_argument("--inital_lr", type=float, default=3e-3)
args = parser.parse_args()

torch.manual_seed(11)
rng = np.random.RandomState(11)


def make_corpus(vocab, n):
    trans = np.zeros((vocab, vocab))
    for i in range(vocab):
        nxt = rng.choice(vocab, 3, replace=False)
        trans[i, nxt] = [0.75, 0.2, 0.05]
    words = [0]
    for _ in range(n - 1):
        words.append(rng.choice(vocab, p=trans[words[-1]]))
    return np.array(words)


class LM_LSTM(nn.Module):
    """Simple LSMT-based language model"""

    def __init__(self, embedding_dim, num_steps, batch_size, vocab_size, num_layers, dp_keep_prob):
        super(LM_LSTM, self).__init__()
        self.embedding_dim = embedding_dim
        self.num_steps = num_steps
        self.batch_size = batch_size
        self.vocab_size = vocab_size
        self.num_layers = num_layers
        self.dropout = nn.Dropout(1 - dp_keep_prob)
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(input_size=embedding_dim, hidden_size=embedding_dim,
                            num_layers=num_layers)
        self.sm_fc = nn.Linear(in_features=embedding_dim, out_features=vocab_size)
        self.init_weights()

    def init_weights(self):
        init_range = 0.1
        self.word_embeddings.weight.data.uniform_(-init_range, init_range)
        self.sm_fc.bias.data.fill_(0.0)
        self.sm_fc.weight.data.uniform_(-init_range, init_range)

    def init_hidden(self):
        weight = next(self.parameters()).data
        return (weight.new_zeros(self.num_layers, self.batch_size, self.embedding_dim),
                weight.new_zeros(self.num_layers, self.batch_size, self.embedding_dim))

    def forward(self, inputs, hidden):
        embeds = self.dropout(self.word_embeddings(inputs))
        lstm_out, hidden = self.lstm(embeds, hidden)
        lstm_out = self.dropout(lstm_out)
        logits = self.sm_fc(lstm_out.view(-1, self.embedding_dim))
        return logits.view(self.num_steps, self.batch_size, self.vocab_size), hidden


def repackage_hidden(h):
    """Wraps hidden states in new tensors, to detach them from their history."""
    return tuple(v.detach() for v in h)


def ptb_iterator(raw_data, batch_size, num_steps):
    batch_len = len(raw_data) // batch_size
    data = raw_data[:batch_len * batch_size].reshape(batch_size, batch_len)
    for i in range((batch_len - 1) // num_steps):
        x = data[:, i * num_steps:(i + 1) * num_steps]
        y = data[:, i * num_steps + 1:(i + 1) * num_steps + 1]
        yield x, y


def run_epoch(model, data, is_train=False):
    """Runs the model on the given data."""
    if is_train:
        model.train()
    else:
        model.eval()
    start_time = time.time()
    hidden = model.init_hidden()
    costs = 0.0
    iters = 0
    for step, (x, y) in enumerate(ptb_iterator(data, model.batch_size, model.num_steps)):
        inputs = torch.from_numpy(x.T.copy()).contiguous()
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        outputs, hidden = model(inputs, hidden)
        targets = torch.from_numpy(y.T.copy()).contiguous()
        tt = targets.view(-1)
        loss = criterion(outputs.view(-1, model.vocab_size), tt)
        costs += loss.item() * model.num_steps
        iters += model.num_steps
        if is_train:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
    return np.exp(costs / iters)


if __name__ == "__main__":
    vocab_size = 40
    corpus = make_corpus(vocab_size, 22000)
    train_data, valid_data, test_data = corpus[:16000], corpus[16000:19000], corpus[19000:]
    model = LM_LSTM(embedding_dim=args.hidden_size, num_steps=args.num_steps,
                    batch_size=args.batch_size, vocab_size=vocab_size,
                    num_layers=args.num_layers, dp_keep_prob=args.dp_keep_prob)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.inital_lr, weight_decay=1e-2)  # here
    print("########## Training ##########################")
    for epoch in range(args.num_epochs):
        train_p = run_epoch(model, train_data, True)
        print("Train perplexity at epoch {}: {:8.2f}".format(epoch, train_p))
        print("Validation perplexity at epoch {}: {:8.2f}".format(
            epoch, run_epoch(model, valid_data)))
    print("########## Testing ##########################")
    print("Test Perplexity: {:8.2f}".format(run_epoch(model, test_data)))
