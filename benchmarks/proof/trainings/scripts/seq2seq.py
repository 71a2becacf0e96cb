"""In the style of the seq2seq tutorial: encoder and decoder with an optimizer each."""

import json
import random

import torch
import torch.nn.functional as F
from torch import nn, optim

SOS, EOS, LENGTH = 0, 1, 5
random.seed(0)
torch.manual_seed(22)


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.Wa, self.Ua = nn.Linear(hidden_size, hidden_size), nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        input = torch.full((encoder_outputs.size(0), 1), SOS)
        hidden, outputs = encoder_hidden, []
        for i in range(LENGTH):
            query = hidden.permute(1, 0, 2)
            scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(encoder_outputs)))
            context = torch.bmm(F.softmax(scores.permute(0, 2, 1), dim=-1), encoder_outputs)
            step = torch.cat((self.embedding(input), context), dim=2)
            output, hidden = self.gru(step, hidden)
            outputs.append(self.out(output))
            if target_tensor is not None:
                input = target_tensor[:, i].unsqueeze(1)
            else:
                input = outputs[-1].topk(1)[1].squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), hidden


def batch(count=16):
    source = torch.randint(2, 10, (count, LENGTH))
    return source, source.flip(1)


encoder, decoder = EncoderRNN(10, 32), AttnDecoderRNN(32, 10)
encoder_optimizer = optim.Adam(encoder.parameters(), lr=5e-3)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=5e-3)
criterion = nn.NLLLoss()
losses = []
for it in range(100):
    input_tensor, target_tensor = batch()
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    encoder_outputs, encoder_hidden = encoder(input_tensor)
    forcing = target_tensor if random.random() < 0.5 else None
    decoder_outputs, _ = decoder(encoder_outputs, encoder_hidden, forcing)
    loss = criterion(decoder_outputs.view(-1, 10), target_tensor.reshape(-1))
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    losses.append(loss.item())
    if it % 25 == 0:
        print(it, loss.item())
row = ["Adam", 100, losses[0], losses[-1]]
print("TRUTH", json.dumps({"encoder": row, "decoder": row}))
