r"""A lab on speech: an LSTM over spectrograms that is trained with the CTC loss.

Source: https://github.com/jeremyfix/deeplearning-lectures/issues/22
Fault: CTCLoss is given the raw outputs of the last linear layer, without log_softmax; they are no
    log probabilities, so that the loss is below zero at first and its gradient does not fit; the
    model does not learn to spell.
Cause: log_?softmax|log.?prob|(raw|unnormali[sz]ed|plain).*(logit|score|output)
    |logits?.*(ctc|raw|directly)|ctc.*(normali[sz]|softmax|logit|raw|expects)
Place: ctc|predictions|lin_out|charlin|log_softmax|CTCModel|wrap_ctc
"""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

N_MELS = 12
CHARS = 8
BLANK = 0


class CTCModel(nn.Module):
    def __init__(self, charmap_size, n_mels, num_hidden=32, num_layers=1, cell_type="LSTM",
                 dropout=0.1):
        super(CTCModel, self).__init__()
        self.charmap_size = charmap_size
        self.n_mels = n_mels
        self.num_hidden = num_hidden
        self.num_layers = num_layers

        self.cnn = nn.Sequential(
            nn.Conv1d(n_mels, num_hidden, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm1d(num_hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        cells = {"LSTM": nn.LSTM, "GRU": nn.GRU}
        self.rnn = cells[cell_type](
            num_hidden, num_hidden, num_layers=num_layers, bidirectional=True
        )
        self.charlin = nn.Linear(2 * num_hidden, charmap_size)
        self.ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
        self.init_weights()

    def init_weights(self):
        for name, p in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.orthogonal_(p)
            elif "bias" in name:
                nn.init.zeros_(p)

    def encode(self, spectro, spectro_lens):
        # spectro is (T, B, n_mels)
        out = self.cnn(spectro.permute(1, 2, 0)).permute(2, 0, 1)
        packed = pack_padded_sequence(out, spectro_lens.cpu(), enforce_sorted=False)
        packed_output, _ = self.rnn(packed)
        unpacked, lens = pad_packed_sequence(packed_output, total_length=spectro.shape[0])
        return self.charlin(unpacked), lens

    def wrap_ctc_args(self, predictions, lens_predictions, targets, lens_targets):
        """
        predictions : (T, B, vocab_size)
        targets : (B, Ty)
        """
        unpacked_predictions = predictions.float()  # here
        return unpacked_predictions, targets, lens_predictions, lens_targets

    def forward(self, spectro, spectro_lens, transcripts, transcripts_lens):
        predictions, lens = self.encode(spectro, spectro_lens)
        args = self.wrap_ctc_args(predictions, lens, transcripts, transcripts_lens)
        return self.ctc(*args)

    @torch.no_grad()
    def decode(self, spectro, spectro_lens):
        predictions, lens = self.encode(spectro, spectro_lens)
        best = predictions.argmax(dim=2).transpose(0, 1)
        sentences = []
        for row, n in zip(best.tolist(), lens.tolist()):
            sentence, last = [], None
            for c in row[:n]:
                if c != last and c != BLANK:
                    sentence.append(c)
                last = c
            sentences.append(sentence)
        return sentences


SOUNDS = torch.randn(CHARS, N_MELS, generator=torch.Generator().manual_seed(3))


def make_speech(n=8, max_chars=4, seed=0):
    g = torch.Generator().manual_seed(seed)
    T = 5 * max_chars
    spectro = 0.3 * torch.randn(T, n, N_MELS, generator=g)
    transcripts = torch.zeros(n, max_chars, dtype=torch.long)
    lens = torch.zeros(n, dtype=torch.long)
    tlens = torch.randint(2, max_chars + 1, (n,), generator=g)
    for i in range(n):
        t = 0
        for k in range(int(tlens[i])):
            c = int(torch.randint(1, CHARS, (1,), generator=g))
            d = int(torch.randint(3, 6, (1,), generator=g))
            transcripts[i, k] = c
            spectro[t:t + d - 1, i] += SOUNDS[c]
            t += d
        lens[i] = t
    return spectro, lens, transcripts, tlens


def build():
    torch.manual_seed(0)
    return CTCModel(CHARS, N_MELS)


def example_inputs():
    return make_speech()
