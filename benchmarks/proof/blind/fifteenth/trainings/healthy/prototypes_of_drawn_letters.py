r"""Prototypical network trained on episodes of drawn letters and tested on letters never seen.

Source: https://github.com/tristandeleu/pytorch-meta/issues/41
Healthy: the accuracy is far above chance before any training, because random convolutions keep the
    letters apart; training improves it further, on test letters as well.
"""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv3x3(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, kernel_size=3, padding=1),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(),
        nn.MaxPool2d(2)
    )


class PrototypicalNetwork(nn.Module):
    def __init__(self, in_channels, out_channels, hidden_size=16):
        super(PrototypicalNetwork, self).__init__()
        self.encoder = nn.Sequential(
            conv3x3(in_channels, hidden_size),
            conv3x3(hidden_size, hidden_size),
            conv3x3(hidden_size, out_channels)
        )

    def forward(self, inputs):
        embeddings = self.encoder(inputs.view(-1, *inputs.shape[2:]))
        return embeddings.view(*inputs.shape[:2], -1)


class LetterTasks:
    """Letters are strokes on a 5 x 5 grid; a drawing shifts, thickens and blurs them."""

    def __init__(self, num_letters, seed):
        g = torch.Generator().manual_seed(seed)
        self.letters = []
        for _ in range(num_letters):
            img = torch.zeros(1, 1, 5, 5)
            y, x = torch.randint(0, 5, (2,), generator=g).tolist()
            for _ in range(9):
                img[0, 0, y, x] = 1
                dy, dx = [(0, 1), (1, 0), (0, -1), (-1, 0)][
                    torch.randint(0, 4, (1,), generator=g).item()]
                y, x = min(max(y + dy, 0), 4), min(max(x + dx, 0), 4)
            self.letters.append(F.interpolate(img, size=10, mode='nearest')[0])
        self.g = torch.Generator().manual_seed(seed + 1)

    def draw(self, k):
        canvas = torch.zeros(1, 16, 16)
        y, x = torch.randint(2, 5, (2,), generator=self.g).tolist()
        canvas[:, y:y + 10, x:x + 10] = self.letters[k]
        gain = 0.7 + 0.6 * torch.rand(1, generator=self.g)
        return canvas * gain + 0.1 * torch.randn(1, 16, 16, generator=self.g)

    def batch(self, batch_size, ways, shots, test_shots):
        out = {'train': ([], []), 'test': ([], [])}
        for _ in range(batch_size):
            classes = torch.randperm(len(self.letters), generator=self.g)[:ways].tolist()
            for key, n in (('train', shots), ('test', test_shots)):
                xs = torch.stack([self.draw(c) for c in classes for _ in range(n)])
                ys = torch.arange(ways).repeat_interleave(n)
                out[key][0].append(xs)
                out[key][1].append(ys)
        return {k: (torch.stack(x), torch.stack(y)) for k, (x, y) in out.items()}


def get_prototypes(embeddings, targets, num_classes):
    batch_size, embedding_size = embeddings.size(0), embeddings.size(-1)
    num_samples = embeddings.new_zeros((batch_size, num_classes))
    num_samples.scatter_add_(1, targets, torch.ones_like(targets, dtype=embeddings.dtype))
    num_samples = torch.max(num_samples, torch.ones_like(num_samples)).unsqueeze(-1)
    prototypes = embeddings.new_zeros((batch_size, num_classes, embedding_size))
    indices = targets.unsqueeze(-1).expand_as(embeddings)
    prototypes.scatter_add_(1, indices, embeddings).div_(num_samples)
    return prototypes


def prototypical_loss(prototypes, embeddings, targets):
    sq = torch.sum((prototypes.unsqueeze(2) - embeddings.unsqueeze(1)) ** 2, dim=-1)
    return F.cross_entropy(-sq, targets)


def get_accuracy(prototypes, embeddings, targets):
    sq = torch.sum((prototypes.unsqueeze(1) - embeddings.unsqueeze(2)) ** 2, dim=-1)
    return torch.mean((sq.min(dim=-1)[1] == targets).float())


def test(model, tasks, args, num=12):
    model.eval()
    acc = 0.0
    with torch.no_grad():
        for _ in range(num):
            batch = tasks.batch(4, args.num_ways, args.num_shots, 5)
            train_inputs, train_targets = batch['train']
            test_inputs, test_targets = batch['test']
            prototypes = get_prototypes(model(train_inputs), train_targets, args.num_ways)
            acc += get_accuracy(prototypes, model(test_inputs), test_targets).item()
    return acc / num


def train(args):
    torch.manual_seed(0)
    train_tasks, test_tasks = LetterTasks(60, 10), LetterTasks(20, 20)
    model = PrototypicalNetwork(1, args.embedding_size, hidden_size=args.hidden_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    print('accuracy before training: %.3f (chance %.2f)' % (test(model, test_tasks, args),
                                                             1 / args.num_ways))
    model.train()
    for batch_idx in range(args.num_batches):
        batch = train_tasks.batch(args.batch_size, args.num_ways, args.num_shots, 3)
        model.zero_grad()
        train_inputs, train_targets = batch['train']
        train_embeddings = model(train_inputs)
        test_inputs, test_targets = batch['test']
        test_embeddings = model(test_inputs)
        prototypes = get_prototypes(train_embeddings, train_targets, args.num_ways)
        loss = prototypical_loss(prototypes, test_embeddings, test_targets)
        loss.backward()
        optimizer.step()
        if batch_idx % 30 == 0:
            with torch.no_grad():
                accuracy = get_accuracy(prototypes, test_embeddings, test_targets)
            print('batch %d loss %.4f accuracy %.4f' % (batch_idx, loss.item(), accuracy.item()))
    filename = os.path.join(args.output_folder, 'protonet_letters.pt')
    torch.save(model.state_dict(), filename)
    print('accuracy after training: %.3f' % test(model, test_tasks, args))


if __name__ == '__main__':
    parser = argparse.ArgumentParser('Prototypical Networks')
    parser.add_argument('--num-shots', type=int, default=3)
    parser.add_argument('--num-ways', type=int, default=5)
    parser.add_argument('--embedding-size', type=int, default=16)
    parser.add_argument('--hidden-size', type=int, default=16)
    parser.add_argument('--output-folder', type=str, default=tempfile.mkdtemp())
    parser.add_argument('--batch-size', type=int, default=4)
    parser.add_argument('--num-batches', type=int, default=120)
    train(parser.parse_args())
