r"""Every text box of a form is a node; a graph net names the boxes, printed with train and test
acc.

Source: https://github.com/pyg-team/pytorch_geometric/issues/3324
Fault: test() counts correct nodes and divides by the number of graphs in the loader, so the printed
    accuracy is several times too large and exceeds 1.
Cause: (divid\w+|denominator|normali[sz]\w+|ratio|averag\w+)\b.*(graphs?|forms?|data\s?set
    |\blen\b|number of (graphs|forms)|not (by )?(the )?(number of )?nodes)
    |(accuracy|acc|correct|hits?)\b.*(per graph|number of (graphs|forms)|len\(loader|dataset
    |counted (in|over|by) nodes)
    |(nodes?|boxes)\b.*(divid\w+|denominator|counted|normali[sz]\w+)\b
Place: test\b|correct|loader\.dataset|accuracy|acc
"""
import random

import torch
import torch.nn.functional as F
from torch.nn import Linear, ReLU, Sequential

random.seed(2)
torch.manual_seed(2)

KINDS = ['question', 'answer', 'header', 'other']


class Data:
    def __init__(self, x, edge_index, y):
        self.x, self.edge_index, self.y = x, edge_index, y
        self.num_nodes = x.size(0)


class Batch:
    def __init__(self, items):
        offset, edges = 0, []
        for d in items:
            edges.append(d.edge_index + offset)
            offset += d.num_nodes
        self.x = torch.cat([d.x for d in items])
        self.y = torch.cat([d.y for d in items])
        self.edge_index = torch.cat(edges, dim=1)


class DataLoader:
    def __init__(self, dataset, batch_size, shuffle=False):
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle

    def __iter__(self):
        idx = list(range(len(self.dataset)))
        if self.shuffle:
            random.shuffle(idx)
        for s in range(0, len(idx), self.batch_size):
            yield Batch([self.dataset[i] for i in idx[s:s + self.batch_size]])

    def __len__(self):
        return (len(self.dataset) + self.batch_size - 1) // self.batch_size


def make_form():
    n = random.randint(5, 9)
    y = torch.tensor([random.randrange(len(KINDS)) for _ in range(n)])
    x = torch.randn(n, 6) * 0.7
    for i in range(n):
        x[i, int(y[i])] += 1.2
    src, dst = [], []
    for i in range(n):
        for j in range(n):
            # boxes that follow one another on the page
            if abs(i - j) == 1:
                src.append(i)
                dst.append(j)
    return Data(x, torch.tensor([src, dst]), y)


class SAGEConv(torch.nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin_l = Linear(in_channels, out_channels)
        self.lin_r = Linear(in_channels, out_channels, bias=False)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        deg = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(dst.numel()))
        agg = agg / deg.clamp(min=1).unsqueeze(1)
        return self.lin_l(agg) + self.lin_r(x)


class GNN(torch.nn.Module):
    def __init__(self, hidden_channels, num_node_features, num_classes):
        super(GNN, self).__init__()
        self.conv1 = SAGEConv(num_node_features, hidden_channels)
        self.conv2 = SAGEConv(hidden_channels, hidden_channels)
        self.head = Sequential(Linear(hidden_channels, hidden_channels), ReLU(),
                               Linear(hidden_channels, num_classes))

    def forward(self, x, edge_index):
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, p=0.2, training=self.training)
        x = F.relu(self.conv2(x, edge_index))
        return self.head(x)


train_dataset = [make_form() for _ in range(160)]
test_dataset = [make_form() for _ in range(40)]
train_loader = DataLoader(train_dataset, batch_size=16, shuffle=True)
test_loader = DataLoader(test_dataset, batch_size=16)

model = GNN(32, 6, len(KINDS))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = torch.nn.CrossEntropyLoss()


def train():
    model.train()
    total = 0.0
    for data in train_loader:  # Iterate in batches over the training dataset.
        out = model(data.x.float(), data.edge_index)
        loss = criterion(out, data.y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    return total / len(train_loader)


def test(loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for data in loader:
            out = model(data.x.float(), data.edge_index)
            pred = out.argmax(dim=1)
            correct += int((pred == data.y).sum())
    return correct / len(loader.dataset)  # here


for epoch in range(1, 13):
    loss = train()
    train_acc = test(train_loader)
    test_acc = test(test_loader)
    print(f'Epoch: {epoch:03d}, Loss: {loss:.4f}, Train Acc: {train_acc:.4f}, '
          f'Test Acc: {test_acc:.4f}')
