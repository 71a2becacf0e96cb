r"""Skip-thought vectors: a sentence encoder, trained to write the sentences around a sentence.

Source: https://github.com/sanyam5/skip-thoughts/issues/1
Fault: the decoder has one LSTM for the previous and one for the next sentence, but both sentences
    are written by the first one; the second LSTM is never called and gets no gradient.
Cause: next_lstm.{0,120}(never|not|n't|unused|no grad|without|idle|untrained|dead|none|left out)
    |(never|not|unused|no grad|without).{0,80}next_lstm
    |prev_lstm.{0,80}(twice|both|two times|also|2 times|shared|again|reused|instead)
    |(same|one|single|wrong) (lstm|layer|module|recurrent).{0,60}(both|twice|two|previous|next)
Place: next_lstm|prev_lstm
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB_SIZE = 200
MAXLEN = 12


class Encoder(nn.Module):
    thought_size = 64
    word_size = 32

    @staticmethod
    def reverse_variable(var):
        idx = [i for i in range(var.size(0) - 1, -1, -1)]
        idx = torch.LongTensor(idx)
        inverted_var = var.index_select(0, idx)
        return inverted_var

    def __init__(self):
        super().__init__()
        self.word2embd = nn.Embedding(VOCAB_SIZE, self.word_size)
        self.lstm = nn.LSTM(self.word_size, self.thought_size)

    def forward(self, sentences):
        # sentences = (batch_size, maxlen), with padding on the right.
        sentences = sentences.transpose(0, 1)  # (maxlen, batch_size)
        word_embeddings = torch.tanh(self.word2embd(sentences))

        # The following is a hack: We read embeddings in reverse. This is required
        # to move padding to the left. We want padding on the left because that is
        # the beginning of sentence for our encoder and the LSTM finishes with words.
        rev = self.reverse_variable(word_embeddings)

        _, (thoughts, _) = self.lstm(rev)
        thoughts = thoughts[-1]  # (batch, thought_size)

        return thoughts, word_embeddings


class DuoDecoder(nn.Module):

    word_size = Encoder.word_size

    def __init__(self):
        super().__init__()
        self.prev_lstm = nn.LSTM(Encoder.thought_size + self.word_size, self.word_size)
        self.next_lstm = nn.LSTM(Encoder.thought_size + self.word_size, self.word_size)
        self.worder = nn.Linear(self.word_size, VOCAB_SIZE)

    def forward(self, thoughts, word_embeddings):
        # thoughts = (batch_size, Encoder.thought_size)
        # word_embeddings = # maxlen, batch, word_size

        # We need to provide the current sentences's embedding or "thought" at every timestep.
        thoughts = thoughts.repeat(MAXLEN, 1, 1)  # (maxlen, batch, thought_size)

        # Prepare Thought Vectors for Prev. and Next Decoders.
        prev_thoughts = thoughts[:, :-1, :]  # (maxlen, batch-1, thought_size)
        next_thoughts = thoughts[:, 1:, :]  # (maxlen, batch-1, thought_size)

        # Teacher Forcing.
        #   1.) Prepare Word embeddings for Prev and Next Decoders.
        prev_word_embeddings = word_embeddings[:, :-1, :]
        next_word_embeddings = word_embeddings[:, 1:, :]
        #   2.) delay the embeddings by one timestep
        delayed_prev_word_embeddings = torch.cat(
            [0 * prev_word_embeddings[-1:, :, :], prev_word_embeddings[:-1, :, :]])
        delayed_next_word_embeddings = torch.cat(
            [0 * next_word_embeddings[-1:, :, :], next_word_embeddings[:-1, :, :]])

        # Supply current "thought" and delayed word embeddings for teacher forcing.
        prev_pred_embds, _ = self.prev_lstm(
            torch.cat([next_thoughts, delayed_prev_word_embeddings], dim=2))
        next_pred_embds, _ = self.prev_lstm(  # here
            torch.cat([prev_thoughts, delayed_next_word_embeddings], dim=2))

        # predict actual words
        a, b, c = prev_pred_embds.size()
        prev_pred = self.worder(prev_pred_embds.view(a * b, c)).view(a, b, -1)
        a, b, c = next_pred_embds.size()
        next_pred = self.worder(next_pred_embds.view(a * b, c)).view(a, b, -1)

        prev_pred = prev_pred.transpose(0, 1).contiguous()  # batch-1, maxlen, VOCAB_SIZE
        next_pred = next_pred.transpose(0, 1).contiguous()

        return prev_pred, next_pred


class UniSkip(nn.Module):
    """Module for the Skip-Thoughts model"""

    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoders = DuoDecoder()

    def create_mask(self, var, lengths):
        mask = var.data.new().float().resize_(var.size()).fill_(0)
        for i, l in enumerate(lengths):
            for j in range(int(l)):
                mask[i, j] = 1
        return mask

    def forward(self, sentences, lengths):
        # sentences = (B, maxlen)
        # lengths = (B)

        # Compute Thought Vectors for each sentence. Also get the actual word embeddings for
        # teacher forcing.
        thoughts, word_embeddings = self.encoder(sentences)

        # Predict the words for previous and next sentences.
        prev_pred, next_pred = self.decoders(thoughts, word_embeddings)

        # mask the predictions, so that loss for beyond-EOS word predictions is cancelled.
        mask = self.create_mask(sentences, lengths)
        prev_mask = mask[:-1].reshape(-1)
        next_mask = mask[1:].reshape(-1)

        prev_loss = F.cross_entropy(prev_pred.view(-1, VOCAB_SIZE),
                                    sentences[:-1].reshape(-1), reduction='none')
        next_loss = F.cross_entropy(next_pred.view(-1, VOCAB_SIZE),
                                    sentences[1:].reshape(-1), reduction='none')

        loss = ((prev_loss * prev_mask).sum() / prev_mask.sum()
                + (next_loss * next_mask).sum() / next_mask.sum())
        return loss


def build():
    torch.manual_seed(0)
    return UniSkip()


def example_inputs():
    torch.manual_seed(1)
    sentences = torch.randint(1, VOCAB_SIZE, (16, MAXLEN))
    lengths = torch.randint(4, MAXLEN + 1, (16,))
    for i, l in enumerate(lengths):
        sentences[i, l:] = 0
    return sentences, lengths
