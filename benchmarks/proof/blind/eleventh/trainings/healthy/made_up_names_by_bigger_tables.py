r"""A maker of more names in the manner of a one-file project: an MLP over the last characters.

Source: https://github.com/karpathy/makemore/blob/master/makemore.py
Healthy: the targets end in -1, the MLP gathers its context by rolling the ids and filling with a
    blank token, and 0 serves as start and stop at once; the loss ignores -1 and the names come out
    right.
"""
import argparse
import random

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset


def create_names(n=1200, seed=5):
    rng = random.Random(seed)
    start = ['ka', 'mi', 'lo', 'ra', 'te', 'su', 'an', 'el']
    mid = ['ri', 'na', 'lo', 'mi', 'be']
    end = ['n', 'ra', 'la', 'to', 's']
    names = set()
    while len(names) < n:
        name = rng.choice(start)
        for _ in range(rng.randint(1, 4)):
            name += rng.choice(mid)
        names.add(name + rng.choice(end))
    names = sorted(names)
    rng.shuffle(names)
    return names


class CharDataset(Dataset):
    def __init__(self, words, chars, max_word_length):
        self.words = words
        self.chars = chars
        self.max_word_length = max_word_length
        self.stoi = {ch: i + 1 for i, ch in enumerate(chars)}
        self.itos = {i: s for s, i in self.stoi.items()}  # inverse mapping

    def __len__(self):
        return len(self.words)

    def contains(self, word):
        return word in self.words

    def get_vocab_size(self):
        return len(self.chars) + 1  # all the possible characters and special 0 token

    def get_output_length(self):
        return self.max_word_length + 1  # <START> token followed by words

    def encode(self, word):
        return torch.tensor([self.stoi[w] for w in word], dtype=torch.long)

    def decode(self, ix):
        return ''.join(self.itos[i] for i in ix)

    def __getitem__(self, idx):
        word = self.words[idx]
        ix = self.encode(word)
        x = torch.zeros(self.max_word_length + 1, dtype=torch.long)
        y = torch.zeros(self.max_word_length + 1, dtype=torch.long)
        x[1:1 + len(ix)] = ix
        y[:len(ix)] = ix
        y[len(ix) + 1:] = -1  # index -1 will mask the loss at the inactive locations
        return x, y


class MLP(nn.Module):
    """
    takes the previous block_size tokens, encodes them with a lookup table,
    concatenates the vectors and predicts the next token with an MLP.
    """

    def __init__(self, vocab_size, block_size, n_embd=16, n_embd2=64):
        super().__init__()
        self.block_size = block_size
        self.vocab_size = vocab_size
        self.wte = nn.Embedding(vocab_size + 1, n_embd)  # +1 for a special <BLANK> token
        self.mlp = nn.Sequential(
            nn.Linear(block_size * n_embd, n_embd2),
            nn.Tanh(),
            nn.Linear(n_embd2, vocab_size)
        )

    def get_block_size(self):
        return self.block_size

    def forward(self, idx, targets=None):
        embs = []
        for k in range(self.block_size):
            tok_emb = self.wte(idx)  # token embeddings of shape (b, t, n_embd)
            idx = torch.roll(idx, 1, 1)
            idx[:, 0] = self.vocab_size  # special <BLANK> token
            embs.append(tok_emb)
        x = torch.cat(embs, -1)
        logits = self.mlp(x)
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1),
                                   ignore_index=-1)
        return logits, loss


@torch.no_grad()
def generate(model, idx, max_new_tokens, temperature=1.0):
    for _ in range(max_new_tokens):
        logits, _ = model(idx)
        probs = F.softmax(logits[:, -1, :] / temperature, dim=-1)
        idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
    return idx


def print_samples(model, train_dataset, test_dataset, num=12):
    X_init = torch.zeros(num, 1, dtype=torch.long)
    X_samp = generate(model, X_init, train_dataset.get_output_length() - 1)
    kinds = {'in train': [], 'in test': [], 'new': []}
    for i in range(num):
        row = X_samp[i, 1:].tolist()
        crop = row.index(0) if 0 in row else len(row)
        word = train_dataset.decode(row[:crop])
        if train_dataset.contains(word):
            kinds['in train'].append(word)
        elif test_dataset.contains(word):
            kinds['in test'].append(word)
        else:
            kinds['new'].append(word)
    for desc, lst in kinds.items():
        print(f"{len(lst)} samples that are {desc}: {' '.join(lst)}")


@torch.inference_mode()
def evaluate(model, dataset, batch_size=100):
    model.eval()
    losses = [model(x.clone(), y)[1].item() for x, y in DataLoader(dataset, batch_size)]
    model.train()
    return sum(losses) / len(losses)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description="Make More")
    parser.add_argument('--max-steps', type=int, default=600)
    parser.add_argument('--batch-size', '-b', type=int, default=32)
    parser.add_argument('--learning-rate', '-l', type=float, default=5e-3)
    parser.add_argument('--weight-decay', '-w', type=float, default=0.01)
    parser.add_argument('--seed', type=int, default=3407)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    words = create_names()
    chars = sorted(set(''.join(words)))
    longest = max(len(w) for w in words)
    train_dataset = CharDataset(words[:1000], chars, longest)
    test_dataset = CharDataset(words[1000:], chars, longest)
    model = MLP(train_dataset.get_vocab_size(), block_size=5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate,
                                  weight_decay=args.weight_decay, betas=(0.9, 0.99), eps=1e-8)
    loader = DataLoader(train_dataset, batch_size=args.batch_size,
                        sampler=torch.utils.data.RandomSampler(
                            train_dataset, replacement=True,
                            num_samples=args.max_steps * args.batch_size))
    for step, (X, Y) in enumerate(loader):
        logits, loss = model(X, Y)
        model.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 150 == 0 or step == args.max_steps - 1:
            print('step %d train loss %.4f test loss %.4f' % (
                step, evaluate(model, train_dataset), evaluate(model, test_dataset)))
    print_samples(model, train_dataset, test_dataset)
