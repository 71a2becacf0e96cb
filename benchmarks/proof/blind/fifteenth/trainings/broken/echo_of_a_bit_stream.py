r"""RNN that repeats a stream of bits a few steps later, trained in truncated chunks.

Source: https://github.com/Atcold/NYU-DLSP20/pull/800
Fault: correct counts all bits of a batch and chunk but is divided only by the number of chunks; it
    happens to read as percent for 5 x 20 bits and goes far above 100 % with a bigger batch.
Cause: accuracy.{0,140}(divi|denominator|normali[sz]|number of|(above|over|than|exceeds?) 1|beyond
    |cannot be|impossible)
    |(divi|denominator|normali[sz]).{0,120}(accuracy|correct)
    |correct.{0,120}(divi|denominator|chunk|number of|total)
Place: train_size|test_size|correct|accuracy|train_accuracy|train
"""
import random

import torch
import torch.nn as nn
import torch.optim as optim


class EchoData:
    def __init__(self, series_length=2000, batch_size=32, echo_step=3, truncated_length=10,
                 seed=None):
        self.series_length = series_length
        self.truncated_length = truncated_length
        self.n_batches = series_length // truncated_length
        self.echo_step = echo_step
        self.batch_size = batch_size
        self.rng = torch.Generator().manual_seed(0 if seed is None else seed)
        self.generate_new_series()
        self.prepare_batches()

    def __getitem__(self, index):
        if index == 0:
            self.generate_new_series()
            self.prepare_batches()
        return self.x_chunks[index], self.y_chunks[index]

    def __len__(self):
        return self.n_batches

    def generate_new_series(self):
        x = torch.randint(0, 2, (self.batch_size, self.series_length), generator=self.rng).float()
        y = torch.roll(x, self.echo_step, dims=1)
        y[:, :self.echo_step] = 0
        self.x_batch, self.y_batch = x.unsqueeze(2), y.unsqueeze(2)

    def prepare_batches(self):
        t = self.truncated_length
        self.x_chunks = [self.x_batch[:, i * t:(i + 1) * t] for i in range(self.n_batches)]
        self.y_chunks = [self.y_batch[:, i * t:(i + 1) * t] for i in range(self.n_batches)]


class SimpleRNN(nn.Module):
    def __init__(self, input_size, rnn_hidden_size, output_size):
        super().__init__()
        self.rnn_hidden_size = rnn_hidden_size
        self.rnn = torch.nn.RNN(
            input_size=input_size,
            hidden_size=rnn_hidden_size,
            num_layers=1,
            nonlinearity='relu',
            batch_first=True
        )
        self.linear = torch.nn.Linear(in_features=rnn_hidden_size, out_features=1)

    def forward(self, x, hidden):
        x, hidden = self.rnn(x, hidden)
        x = self.linear(x)
        return x, hidden


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
random.seed(1)
torch.manual_seed(1)

batch_size = 40
echo_step = 5
series_length = 2000
BPTT_T = 20

train_data = EchoData(
    echo_step=echo_step,
    batch_size=batch_size,
    series_length=series_length,
    truncated_length=BPTT_T,
    seed=10,
)
train_size = len(train_data)

test_data = EchoData(
    echo_step=echo_step,
    batch_size=batch_size,
    series_length=series_length,
    truncated_length=BPTT_T,
    seed=20,
)
test_size = len(test_data)

print('train chunks', train_size, 'test chunks', test_size)
print('(1st input batch)  x:', train_data[0][0][0, :, 0].int().tolist())
print('(1st target batch) y:', train_data[0][1][0, :, 0].int().tolist())


def train(hidden):
    model.train()

    correct = 0
    total_loss = 0
    for batch_idx in range(train_size):
        data, target = train_data[batch_idx]
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        if hidden is not None:
            hidden.detach_()
        logits, hidden = model(data, hidden)

        loss = criterion(logits, target)
        loss.backward()
        optimizer.step()
        total_loss += loss.item()

        pred = (torch.sigmoid(logits) > 0.5)
        correct += (pred == target.bool()).int().sum().item()

    return correct, total_loss / train_size, hidden


def test(hidden):
    model.eval()
    correct = 0
    with torch.no_grad():
        for batch_idx in range(test_size):
            data, target = test_data[batch_idx]
            data, target = data.to(device), target.to(device)
            logits, hidden = model(data, hidden)
            pred = (torch.sigmoid(logits) > 0.5)
            correct += (pred == target.bool()).int().sum().item()

    return correct


feature_dim = 1
h_units = 16

model = SimpleRNN(
    input_size=1,
    rnn_hidden_size=h_units,
    output_size=feature_dim
).to(device)
hidden = None

criterion = torch.nn.BCEWithLogitsLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.003)

n_epochs = 12
epoch = 0

while epoch < n_epochs:
    correct, loss, hidden = train(hidden)
    epoch += 1
    train_accuracy = float(correct) / train_size  # here
    print(f'Train Epoch: {epoch}/{n_epochs}, loss: {loss:.3f}, accuracy {train_accuracy:.1f}%')

correct = test(hidden)
test_accuracy = float(correct) / test_size  # here
print(f'Test accuracy: {test_accuracy:.1f}%')

my_input = torch.randint(0, 2, (1, 24)).float()
with torch.no_grad():
    my_out, _ = model(my_input.unsqueeze(2), None)
print('Input: ' + str(my_input.int().tolist()[0]))
print('Output:' + str((torch.sigmoid(my_out[0, :, 0]) > 0.5).int().tolist()))
