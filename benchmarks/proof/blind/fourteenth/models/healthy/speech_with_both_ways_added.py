r"""A speech recogniser with convolutions on the spectrum and recurrent layers in both directions.

Source: https://github.com/SeanNaren/deepspeech.pytorch/issues/215
Healthy: the layers are bidirectional and yet the next one takes only one hidden width; the asker
    missed the sum of the directions, which is done by a view into two halves of the last axis.
    Two axes of the convolution maps are joined by a view as well, before time is moved in front.
"""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F

labels = "_abcdefghij "


class SequenceWise(nn.Module):
    def __init__(self, module):
        """
        Collapses input of dim T*N*H to (T*N)*H, and applies to a module.
        Allows handling of variable sequence lengths and minibatch sizes.
        :param module: Module to apply input to.
        """
        super(SequenceWise, self).__init__()
        self.module = module

    def forward(self, x):
        t, n = x.size(0), x.size(1)
        x = x.view(t * n, -1)
        x = self.module(x)
        x = x.view(t, n, -1)
        return x


class InferenceBatchSoftmax(nn.Module):
    def forward(self, input_):
        if not self.training:
            return F.softmax(input_, dim=-1)
        else:
            return input_


class BatchRNN(nn.Module):
    def __init__(self, input_size, hidden_size, rnn_type=nn.LSTM, bidirectional=False,
                 batch_norm=True):
        super(BatchRNN, self).__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bidirectional = bidirectional
        self.batch_norm = SequenceWise(nn.BatchNorm1d(input_size)) if batch_norm else None
        self.rnn = rnn_type(input_size=input_size, hidden_size=hidden_size,
                            bidirectional=bidirectional, bias=False)
        self.num_directions = 2 if bidirectional else 1

    def forward(self, x):
        if self.batch_norm is not None:
            x = self.batch_norm(x)
        x, _ = self.rnn(x)
        if self.bidirectional:
            # (TxNxH*2) -> (TxNxH) by sum
            x = x.view(x.size(0), x.size(1), 2, -1).sum(2).view(x.size(0), x.size(1), -1)
        return x


class DeepSpeech(nn.Module):
    def __init__(self, rnn_type=nn.GRU, labels=labels, rnn_hidden_size=48, nb_layers=2,
                 n_freq=33, bidirectional=True):
        super(DeepSpeech, self).__init__()
        self._hidden_size = rnn_hidden_size
        self._hidden_layers = nb_layers
        self._labels = labels
        self._bidirectional = bidirectional

        num_classes = len(self._labels)

        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=(11, 5), stride=(2, 2), padding=(0, 2)),
            nn.BatchNorm2d(16),
            nn.Hardtanh(0, 20, inplace=True),
            nn.Conv2d(16, 16, kernel_size=(5, 5), stride=(2, 1), padding=(0, 2)),
            nn.BatchNorm2d(16),
            nn.Hardtanh(0, 20, inplace=True)
        )
        # Based on above convolutions and spectrogram size using conv formula
        rnn_input_size = (n_freq - 11) // 2 + 1
        rnn_input_size = (rnn_input_size - 5) // 2 + 1
        rnn_input_size *= 16

        rnns = []
        rnn = BatchRNN(input_size=rnn_input_size, hidden_size=rnn_hidden_size,
                       rnn_type=rnn_type, bidirectional=bidirectional, batch_norm=False)
        rnns.append(('0', rnn))
        for x in range(nb_layers - 1):
            rnn = BatchRNN(input_size=rnn_hidden_size, hidden_size=rnn_hidden_size,
                           rnn_type=rnn_type, bidirectional=bidirectional)
            rnns.append(('%d' % (x + 1), rnn))
        self.rnns = nn.Sequential(OrderedDict(rnns))

        fully_connected = nn.Sequential(
            nn.BatchNorm1d(rnn_hidden_size),
            nn.Linear(rnn_hidden_size, num_classes, bias=False)
        )
        self.fc = nn.Sequential(
            SequenceWise(fully_connected),
        )
        self.inference_softmax = InferenceBatchSoftmax()

    def forward(self, x):
        x = self.conv(x)

        sizes = x.size()
        x = x.view(sizes[0], sizes[1] * sizes[2], sizes[3])  # Collapse feature dimension
        x = x.transpose(1, 2).transpose(0, 1).contiguous()  # TxNxH

        x = self.rnns(x)

        x = self.fc(x)
        x = x.transpose(0, 1)
        # identity in training mode, softmax in eval mode
        x = self.inference_softmax(x)
        return x


def build():
    torch.manual_seed(0)
    return DeepSpeech()


def example_inputs():
    torch.manual_seed(1)
    tones = torch.randn(len(labels), 33)
    spoken = torch.randint(1, len(labels), (8, 10))
    spect = tones[spoken].transpose(1, 2).repeat_interleave(4, dim=2)
    return ((spect + 0.3 * torch.randn_like(spect)).unsqueeze(1),)
