r"""Sorts small programs by what they do, from the statements of their trees, with a GRU.

Source: https://github.com/zhangj111/astnn/issues/8
Fault: best_model = model keeps only another name for the same object, no copy of its weights; it
    goes on training, so what is tested at the end is the last epoch and not the best one.
Cause: (deep ?copy|copy|clone|snapshot|same (object|module|model|weights|tensors?)|reference|alias
    |another name|not a copy|shares?)|best.{0,100}(last epoch|latest|keeps? (on )?(chang|train
    |updat)|still (train|updat)|final weights)
Place: best_model|model
"""
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(6)
np.random.seed(6)
torch.manual_seed(6)

KINDS = ["For", "While", "If", "Assign", "Call", "Return", "Compare", "BinOp", "Index", "Break",
         "Add", "Mul", "Name", "Const"]
recipes = {0: "For If Compare Assign", 1: "While BinOp Mul Assign", 2: "Call Return Name Const",
           3: "For For Index Add", 4: "If Break While Compare"}


def get_program(label):
    own = recipes[label].split()
    statements = []
    for _ in range(random.randint(4, 9)):
        st = [random.choice(own) if random.random() < 0.3 else random.choice(KINDS)
              for _ in range(random.randint(2, 5))]
        statements.append([KINDS.index(k) for k in st])
    return statements


def get_data(n, noise=0.0):
    rows = []
    for _ in range(n):
        label = random.randrange(5)
        code = get_program(label)
        if random.random() < noise:
            label = random.randrange(5)
        rows.append((code, label))
    return rows


class BatchProgramClassifier(nn.Module):
    def __init__(self, embedding_dim, hidden_dim, vocab_size, encode_dim, label_size):
        super(BatchProgramClassifier, self).__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.W_c = nn.Linear(embedding_dim, encode_dim)
        self.bigru = nn.GRU(encode_dim, hidden_dim, bidirectional=True, batch_first=True)
        self.hidden2label = nn.Linear(hidden_dim * 2, label_size)

    def encode(self, statement):
        return F.relu(self.W_c(self.embedding(torch.tensor(statement)))).max(0)[0]

    def forward(self, programs):
        seqs = [torch.stack([self.encode(s) for s in p]) for p in programs]
        lens = torch.tensor([len(s) for s in seqs])
        x = nn.utils.rnn.pad_sequence(seqs, batch_first=True)
        out, _ = self.bigru(x)
        mask = torch.arange(x.size(1))[None, :] < lens[:, None]
        out = out.masked_fill(~mask.unsqueeze(2), -1e9).max(1)[0]
        return self.hidden2label(out)


def get_batch(dataset, idx, bs):
    tmp = dataset[idx: idx + bs]
    return [code for code, _ in tmp], torch.LongTensor([label for _, label in tmp])


def evaluate(model, dataset, loss_function, bs):
    total_acc = 0.0
    total_loss = 0.0
    total = 0.0
    model.eval()
    with torch.no_grad():
        i = 0
        while i < len(dataset):
            inputs, labels = get_batch(dataset, i, bs)
            i += bs
            output = model(inputs)
            total_acc += (output.argmax(1) == labels).sum().item()
            total += len(labels)
            total_loss += loss_function(output, labels).item() * len(labels)
    return total_loss / total, total_acc / total


if __name__ == "__main__":
    train_data = get_data(208, noise=0.35)
    val_data = get_data(130)
    test_data = get_data(156)

    HIDDEN_DIM = 48
    ENCODE_DIM = 48
    EPOCHS = 16
    BATCH_SIZE = 26

    model = BatchProgramClassifier(24, HIDDEN_DIM, len(KINDS), ENCODE_DIM, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    loss_function = torch.nn.CrossEntropyLoss()

    best_acc = 0.0
    print("Start training...")
    best_model = model
    for epoch in range(EPOCHS):
        start_time = time.time()
        model.train()
        total_acc, total_loss, total = 0.0, 0.0, 0.0
        random.shuffle(train_data)
        i = 0
        while i < len(train_data):
            train_inputs, train_labels = get_batch(train_data, i, BATCH_SIZE)
            i += BATCH_SIZE
            model.zero_grad()
            output = model(train_inputs)
            loss = loss_function(output, train_labels)
            loss.backward()
            optimizer.step()
            total_acc += (output.argmax(1) == train_labels).sum().item()
            total += len(train_labels)
            total_loss += loss.item() * len(train_inputs)

        val_loss, val_acc = evaluate(model, val_data, loss_function, BATCH_SIZE)
        if val_acc > best_acc:
            best_model = model  # here
            best_acc = val_acc
        print("[Epoch: %3d/%3d] Training Loss: %.4f, Validation Loss: %.4f,"
              " Training Acc: %.3f, Validation Acc: %.3f"
              % (epoch + 1, EPOCHS, total_loss / total, val_loss, total_acc / total, val_acc))

    model = best_model
    val_loss, val_acc = evaluate(model, val_data, loss_function, BATCH_SIZE)
    print("Best validation accuracy %.3f, of the model that is kept %.3f" % (best_acc, val_acc))
    test_loss, test_acc = evaluate(model, test_data, loss_function, BATCH_SIZE)
    print("Testing results(Loss, Acc):", round(test_loss, 4), round(test_acc, 4))
