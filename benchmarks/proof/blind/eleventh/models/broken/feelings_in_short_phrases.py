r"""A BiLSTM with attention for the feeling of short phrases, as in many tutorials.

Source: https://github.com/zy1996code/nlp_basic_model/issues/1
Fault: the final state (directions, batch, hidden) is brought to (batch, 2 * hidden, 1) by view and
    not by permute; the query of a phrase is made of the states of other phrases of the batch.
Cause: (view|reshap).*(permut|transpos|batch|sample|phrase|sentence|direction|mix|order|memory)
    |(permut|transpos|swap).*(missing|forgot|before|without|first|need|instead|view)
    |(batch|sample|sentence|phrase|row|sequence)s?\b.*(mix|scrambl|leak)
    |(batch|sample|sentence|phrase|row|sequence)s?\b.*(depend|interleav|each other|another)
    |(mix|scrambl|leak|interleav)\w*.*(batch|sample|sentence|phrase|direction|row)
Place: attention_net|final_state|hidden|view|BiLSTM|lstm|bmm
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

embedding_dim = 12
n_hidden = 10
num_classes = 2

GOOD = ["love", "like", "fine", "great", "happy"]
BAD = ["hate", "awful", "sad", "sorry", "poor"]
OTHER = ["i", "you", "he", "baseball", "day", "the", "is", "for", "that", "very"]
word_list = ["<pad>"] + GOOD + BAD + OTHER
word_dict = {w: i for i, w in enumerate(word_list)}
vocab_size = len(word_dict)


class BiLSTM_Attention(nn.Module):
    def __init__(self):
        super(BiLSTM_Attention, self).__init__()

        self.embedding = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, n_hidden, bidirectional=True, batch_first=True)
        self.out = nn.Linear(n_hidden * 2, num_classes)

    # lstm_output : [batch_size, n_step, n_hidden * num_directions(=2)]
    def attention_net(self, lstm_output, final_state):
        hidden = final_state.view(-1, n_hidden * 2, 1)  # here
        # [batch_size, n_step]
        attn_weights = torch.bmm(lstm_output, hidden).squeeze(2)
        soft_attn_weights = F.softmax(attn_weights, 1)
        # [batch_size, n_hidden * 2, n_step] * [batch_size, n_step, 1]
        context = torch.bmm(lstm_output.transpose(1, 2), soft_attn_weights.unsqueeze(2)).squeeze(2)
        return context, soft_attn_weights.data.numpy()

    def forward(self, X):
        input = self.embedding(X)

        hidden_state = torch.zeros(1 * 2, len(X), n_hidden)
        cell_state = torch.zeros(1 * 2, len(X), n_hidden)

        # final_hidden_state, final_cell_state : [2, batch_size, n_hidden]
        output, (final_hidden_state, final_cell_state) = self.lstm(
            input, (hidden_state, cell_state))
        attn_output, attention = self.attention_net(output, final_hidden_state)
        return self.out(attn_output), attention


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = BiLSTM_Attention()
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, X, target):
        output, _ = self.model(X)
        return self.criterion(output, target)

    @torch.no_grad()
    def predict(self, X):
        return self.model(X)[0].argmax(1)


def make_phrases(n=32, n_step=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    target = torch.randint(0, 2, (n,), generator=g)
    X = torch.randint(1 + len(GOOD) + len(BAD), vocab_size, (n, n_step), generator=g)
    place = torch.randint(0, n_step, (n,), generator=g)
    word = torch.randint(0, 5, (n,), generator=g)
    for i in range(n):
        group = GOOD if target[i] == 1 else BAD
        X[i, place[i]] = word_dict[group[int(word[i])]]
    return X, target


def build():
    torch.manual_seed(0)
    return Classifier()


def example_inputs():
    return make_phrases(12)
