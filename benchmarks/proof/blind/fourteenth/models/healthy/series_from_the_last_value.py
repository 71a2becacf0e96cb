r"""An LSTM encoder and decoder for a series, the decoder of which starts at the last seen value.

Source: https://github.com/lkulowski/LSTM_encoder_decoder/issues/4
Healthy: nothing of the encoder's outputs goes into the decoder, only its state and the last value
    of the input; the asker thought that the encoding is ignored, but the state is the encoding.
    The teacher forcing is drawn once per batch and only in training.
"""

import random

import torch
import torch.nn as nn


class lstm_encoder(nn.Module):
    ''' Encodes time-series sequence '''

    def __init__(self, input_size, hidden_size, num_layers=1):
        '''
        : param input_size:     the number of features in the input X
        : param hidden_size:    the number of features in the hidden state h
        : param num_layers:     number of recurrent layers
        '''
        super(lstm_encoder, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers

        # define LSTM layer
        self.lstm = nn.LSTM(input_size=input_size, hidden_size=hidden_size,
                            num_layers=num_layers)

    def forward(self, x_input):
        '''
        : param x_input:               input of shape (seq_len, # in batch, input_size)
        : return lstm_out, hidden:     lstm_out gives all the hidden states in the sequence;
        :                              hidden gives the hidden state and cell state
        '''
        lstm_out, self.hidden = self.lstm(x_input.view(x_input.shape[0], x_input.shape[1],
                                                       self.input_size))
        return lstm_out, self.hidden


class lstm_decoder(nn.Module):
    ''' Decodes hidden state output by encoder '''

    def __init__(self, input_size, hidden_size, num_layers=1):
        super(lstm_decoder, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers

        self.lstm = nn.LSTM(input_size=input_size, hidden_size=hidden_size,
                            num_layers=num_layers)
        self.linear = nn.Linear(hidden_size, input_size)

    def forward(self, x_input, encoder_hidden_states):
        '''
        : param x_input:                    should be 2D (batch_size, input_size)
        : param encoder_hidden_states:      hidden states
        : return output, hidden:            output gives all the hidden states in the sequence;
        '''
        lstm_out, self.hidden = self.lstm(x_input.unsqueeze(0), encoder_hidden_states)
        output = self.linear(lstm_out.squeeze(0))
        return output, self.hidden


class lstm_seq2seq(nn.Module):
    ''' train LSTM encoder-decoder and make predictions '''

    def __init__(self, input_size, hidden_size, target_len, teacher_forcing_ratio=0.3):
        super(lstm_seq2seq, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.target_len = target_len
        self.teacher_forcing_ratio = teacher_forcing_ratio

        self.encoder = lstm_encoder(input_size=input_size, hidden_size=hidden_size)
        self.decoder = lstm_decoder(input_size=input_size, hidden_size=hidden_size)
        self.criterion = nn.MSELoss()

    def forward(self, input_batch, target_batch):
        # outputs tensor
        outputs = []

        # encoder outputs
        encoder_output, encoder_hidden = self.encoder(input_batch)

        # decoder with teacher forcing
        decoder_input = input_batch[-1, :, :]  # shape: (batch_size, input_size)
        decoder_hidden = encoder_hidden

        forced = self.training and random.random() < self.teacher_forcing_ratio

        for t in range(self.target_len):
            decoder_output, decoder_hidden = self.decoder(decoder_input, decoder_hidden)
            outputs.append(decoder_output)
            if forced:
                decoder_input = target_batch[t, :, :]
            else:
                # predict recursively
                decoder_input = decoder_output

        return self.criterion(torch.stack(outputs), target_batch)


def build():
    torch.manual_seed(0)
    random.seed(0)
    return lstm_seq2seq(input_size=1, hidden_size=24, target_len=12)


def example_inputs():
    torch.manual_seed(1)
    t = torch.linspace(0, 9, 42).view(-1, 1, 1)
    phase = 6 * torch.rand(1, 24, 1)
    series = torch.sin(2 * t + phase) + 0.5 * torch.cos(3 * t + phase)
    return series[:30], series[30:]
