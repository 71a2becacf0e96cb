r"""Small BERT trained on masked words and on whether the second sentence follows the first.

Source: https://github.com/codertimo/BERT-pytorch/issues/32
Fault: one NLLLoss with ignore_index=0 (meant for the padding of the masked words) is also used
    for the next sentence labels, where 0 is the class "not next": that class never counts, the
    net learns to say "is next" always and the accuracy stays at one half.
Cause: ignore_index
    |(class|label|target|index)s?.{0,20}\b(0|zero)\b.{0,80}(ignored|ignore|skip|masked|not count
    |left out|no loss|no gradient|dropped|discard)
    |(ignored?|skips?|leaves out|drops?|discards?|masks?).{0,80}(class|label|target
    |index)s?.{0,20}\b(0|zero)\b
    |(ignored?|skips?|leaves out|discards?|masks?).{0,60}(half|50 ?%|real class|valid class
    |not[- ]next|one of the two)
Place: criterion|next_loss|NLLLoss|next_sentence|ignore_index
"""
import math
import random

import torch
import torch.nn as nn
from torch.optim import Adam
from torch.utils.data import DataLoader, Dataset

PAD, UNK, EOS, SOS, MASK = 0, 1, 2, 3, 4


class BERTDataset(Dataset):
    def __init__(self, num_lines, topics=6, words_per_topic=8, seq_len=20):
        self.seq_len = seq_len
        self.vocab_size = 5 + topics * words_per_topic
        self.words_per_topic = words_per_topic
        self.topics = topics
        self.lines = [self.make_pair(random.randrange(topics)) for _ in range(num_lines)]

    def sentence(self, topic):
        w = random.randrange(self.words_per_topic)
        out = []
        for _ in range(random.randint(5, 8)):
            out.append(5 + topic * self.words_per_topic + w)
            w = (w + random.choice([1, 1, 1, 3])) % self.words_per_topic
        return out

    def make_pair(self, topic):
        return self.sentence(topic), self.sentence(topic), topic

    def __len__(self):
        return len(self.lines)

    def random_sent(self, index):
        t1, t2, topic = self.lines[index]
        if random.random() > 0.5:
            return t1, t2, 1
        other = random.choice([t for t in range(self.topics) if t != topic])
        return t1, self.sentence(other), 0

    def random_word(self, tokens):
        tokens = list(tokens)
        output_label = []
        for i, token in enumerate(tokens):
            prob = random.random()
            if prob < 0.15:
                output_label.append(token)
                if prob < 0.12:
                    tokens[i] = MASK
                elif prob < 0.135:
                    tokens[i] = random.randrange(5, self.vocab_size)
            else:
                output_label.append(0)
        return tokens, output_label

    def __getitem__(self, item):
        t1, t2, is_next_label = self.random_sent(item)
        t1_random, t1_label = self.random_word(t1)
        t2_random, t2_label = self.random_word(t2)
        t1 = [SOS] + t1_random + [EOS]
        t2 = t2_random + [EOS]
        t1_label = [PAD] + t1_label + [PAD]
        t2_label = t2_label + [PAD]
        segment_label = ([1] * len(t1) + [2] * len(t2))[:self.seq_len]
        bert_input = (t1 + t2)[:self.seq_len]
        bert_label = (t1_label + t2_label)[:self.seq_len]
        padding = [PAD] * (self.seq_len - len(bert_input))
        return {"bert_input": torch.tensor(bert_input + padding),
                "bert_label": torch.tensor(bert_label + padding),
                "segment_label": torch.tensor(segment_label + padding),
                "is_next": torch.tensor(is_next_label)}


class BERT(nn.Module):
    def __init__(self, vocab_size, hidden=48, n_layers=2, attn_heads=4, dropout=0.1, max_len=32):
        super().__init__()
        self.token = nn.Embedding(vocab_size, hidden, padding_idx=0)
        self.segment = nn.Embedding(3, hidden, padding_idx=0)
        pe = torch.zeros(max_len, hidden)
        position = torch.arange(0, max_len).float().unsqueeze(1)
        div = (torch.arange(0, hidden, 2).float() * -(math.log(10000.0) / hidden)).exp()
        pe[:, 0::2] = torch.sin(position * div)
        pe[:, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe.unsqueeze(0))
        layer = nn.TransformerEncoderLayer(hidden, attn_heads, hidden * 4, dropout,
                                           activation="gelu", batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, segment_info):
        mask = x == 0
        h = self.token(x) + self.pe[:, :x.size(1)] + self.segment(segment_info)
        return self.blocks(self.dropout(h), src_key_padding_mask=mask)


class BERTLM(nn.Module):
    def __init__(self, bert, vocab_size, hidden=48):
        super().__init__()
        self.bert = bert
        self.next_sentence = nn.Sequential(nn.Linear(hidden, 2), nn.LogSoftmax(dim=-1))
        self.mask_lm = nn.Sequential(nn.Linear(hidden, vocab_size), nn.LogSoftmax(dim=-1))

    def forward(self, x, segment_label):
        x = self.bert(x, segment_label)
        return self.next_sentence(x[:, 0]), self.mask_lm(x)


class BERTTrainer:
    def __init__(self, bert, vocab_size, train_dataloader, test_dataloader=None,
                 lr=1e-3, betas=(0.9, 0.999), weight_decay=0.01, log_freq=10):
        self.model = BERTLM(bert, vocab_size)
        self.train_data = train_dataloader
        self.test_data = test_dataloader
        self.optim = Adam(self.model.parameters(), lr=lr, betas=betas, weight_decay=weight_decay)
        self.criterion = nn.NLLLoss(ignore_index=0)
        self.log_freq = log_freq
        print("Total Parameters:", sum([p.nelement() for p in self.model.parameters()]))

    def train(self, epoch):
        self.model.train()
        self.iteration(epoch, self.train_data)

    def test(self, epoch):
        self.model.eval()
        with torch.no_grad():
            self.iteration(epoch, self.test_data, train=False)

    def iteration(self, epoch, data_loader, train=True):
        str_code = "train" if train else "test"
        avg_loss, avg_next, avg_mask = 0.0, 0.0, 0.0
        total_correct = 0
        total_element = 0
        for i, data in enumerate(data_loader):
            next_sent_output, mask_lm_output = self.model.forward(data["bert_input"],
                                                                  data["segment_label"])
            next_loss = self.criterion(next_sent_output, data["is_next"])  # here
            mask_loss = self.criterion(mask_lm_output.transpose(1, 2), data["bert_label"])
            loss = next_loss + mask_loss
            if train:
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            correct = next_sent_output.argmax(dim=-1).eq(data["is_next"]).sum().item()
            avg_loss += loss.item()
            avg_next += next_loss.item()
            avg_mask += mask_loss.item()
            total_correct += correct
            total_element += data["is_next"].nelement()
        n = len(data_loader)
        print("EP%d_%s, avg_loss=%.4f next=%.4f mask=%.4f total_acc=%.2f" % (
            epoch, str_code, avg_loss / n, avg_next / n, avg_mask / n,
            total_correct * 100.0 / total_element))


if __name__ == "__main__":
    random.seed(3)
    torch.manual_seed(3)
    train_dataset = BERTDataset(1200)
    test_dataset = BERTDataset(240)
    train_data_loader = DataLoader(train_dataset, batch_size=32, shuffle=True)
    test_data_loader = DataLoader(test_dataset, batch_size=32)
    bert = BERT(train_dataset.vocab_size)
    trainer = BERTTrainer(bert, train_dataset.vocab_size, train_data_loader, test_data_loader)
    for epoch in range(6):
        trainer.train(epoch)
        trainer.test(epoch)
