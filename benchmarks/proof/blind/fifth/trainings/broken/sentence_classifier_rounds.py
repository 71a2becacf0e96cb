r"""Fine-tuning of a sentence classifier with an evaluation after each epoch.

Source: https://github.com/asyml/texar-pytorch/issues/310
Fault: The evaluation puts the model in eval mode and no call puts it back, so dropout is off.
Cause: eval\w* mode|\.train\(|train(ing)? mode|dropout .*(off|inactive|disabled|not active)
    |left in eval
Place: \b_train_epoch\b|\b_eval_epoch\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):
    def __init__(self, vocab=100, dim=64, classes=2):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.encoder = nn.Sequential(
            nn.Dropout(0.5), nn.Linear(dim, dim), nn.Tanh(), nn.Dropout(0.5)
        )
        self.head = nn.Linear(dim, classes)

    def forward(self, words):
        return self.head(self.encoder(self.embed(words)))


def make_sentences(count, generator):
    words = torch.randint(0, 100, (count, 20), generator=generator)
    score = ((words < 30).sum(1) - (words >= 70).sum(1)).float()
    noise = torch.randn(count, generator=generator)
    return words, (score + noise > 0).long()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    train_set, dev_set = make_sentences(240, generator), make_sentences(600, generator)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def _train_epoch():
        for index in torch.randperm(240).split(16):
            logits = model(train_set[0][index])
            loss = F.cross_entropy(logits, train_set[1][index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    @torch.no_grad()
    def _eval_epoch():
        model.eval()
        logits = model(dev_set[0])
        accuracy = (logits.argmax(1) == dev_set[1]).float().mean().item()
        return F.cross_entropy(logits, dev_set[1]).item(), accuracy

    model.train()  # here
    for epoch in range(16):
        train_loss = _train_epoch()
        dev_loss, accuracy = _eval_epoch()
    print(f"epoch {epoch} train {train_loss:.4f} dev {dev_loss:.4f} accuracy {accuracy:.3f}")


main()
