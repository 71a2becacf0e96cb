r"""A beginner's walk through a character RNN that learns to continue a few phrases.

Source: https://github.com/gabrielloye/RNN-walkthrough/issues/3
Healthy: the hidden state is set to zeros in every forward pass, which seems to make it useless;
    each phrase is a sequence of its own and the state lives within it, so this is right.
"""
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)

text = ['hey how are you', 'good i am fine', 'have a nice day', 'where do you live',
        'the cat is asleep', 'my dog likes you']

# Join all the sentences together and extract the unique characters
chars = set(''.join(text))

# Creating a dictionary that maps integers to the characters
int2char = dict(enumerate(sorted(chars)))
char2int = {char: ind for ind, char in int2char.items()}

# Finding the length of the longest string in our data
maxlen = len(max(text, key=len))

# Padding
for i in range(len(text)):
    while len(text[i]) < maxlen:
        text[i] += ' '

input_seq = []
target_seq = []
for i in range(len(text)):
    # Remove last character for input sequence
    input_seq.append(text[i][:-1])
    # Remove first character for target sequence
    target_seq.append(text[i][1:])
    print("Input Sequence: {}\nTarget Sequence: {}".format(input_seq[i], target_seq[i]))

for i in range(len(text)):
    input_seq[i] = [char2int[character] for character in input_seq[i]]
    target_seq[i] = [char2int[character] for character in target_seq[i]]

dict_size = len(char2int)
seq_len = maxlen - 1
batch_size = len(text)


def one_hot_encode(sequence, dict_size, seq_len, batch_size):
    # Creating a multi-dimensional array of zeros with the desired output shape
    features = np.zeros((batch_size, seq_len, dict_size), dtype=np.float32)
    for i in range(batch_size):
        for u in range(seq_len):
            features[i, u, sequence[i][u]] = 1
    return features


input_seq = torch.from_numpy(one_hot_encode(input_seq, dict_size, seq_len, batch_size))
target_seq = torch.Tensor(target_seq)


class Model(nn.Module):
    def __init__(self, input_size, output_size, hidden_dim, n_layers):
        super(Model, self).__init__()

        # Defining some parameters
        self.hidden_dim = hidden_dim
        self.n_layers = n_layers

        # Defining the layers
        self.rnn = nn.RNN(input_size, hidden_dim, n_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, output_size)

    def forward(self, x):
        batch_size = x.size(0)

        # Initializing hidden state for first input using method defined below
        hidden = self.init_hidden(batch_size)

        out, hidden = self.rnn(x, hidden)
        out = out.contiguous().view(-1, self.hidden_dim)
        out = self.fc(out)
        return out, hidden

    def init_hidden(self, batch_size):
        return torch.zeros(self.n_layers, batch_size, self.hidden_dim)


model = Model(input_size=dict_size, output_size=dict_size, hidden_dim=24, n_layers=1)
n_epochs = 200
lr = 0.01
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=lr)

for epoch in range(1, n_epochs + 1):
    optimizer.zero_grad()  # Clears existing gradients from previous epoch
    output, hidden = model(input_seq)
    loss = criterion(output, target_seq.view(-1).long())
    loss.backward()
    optimizer.step()
    if epoch % 25 == 0:
        print('Epoch: {}/{}.............'.format(epoch, n_epochs), end=' ')
        print("Loss: {:.4f}".format(loss.item()))


def predict(model, character):
    # One-hot encoding our input to fit into the model
    character = np.array([[char2int[c] for c in character]])
    character = one_hot_encode(character, dict_size, character.shape[1], 1)
    out, hidden = model(torch.from_numpy(character))
    prob = nn.functional.softmax(out[-1], dim=0).data
    char_ind = torch.max(prob, dim=0)[1].item()
    return int2char[char_ind], hidden


def sample(model, out_len, start='hey'):
    model.eval()
    chars = [ch for ch in start]
    size = out_len - len(chars)
    for ii in range(size):
        char, h = predict(model, chars)
        chars.append(char)
    return ''.join(chars)


for start in ('good', 'have', 'wh'):
    print(sample(model, 15, start))
