r"""A human parsing head where features of body parts send messages to each other over a graph.

Source: https://github.com/hlzhu09/Hierarchical-Human-Parsing/issues/13
Fault: the attention map is the sum of a softmax over the very dimension that the softmax has
    normalised, so that it is one everywhere, whatever the query and the key are.
Cause: sum.*(softmax|normali[sz])|softmax.*(sum|same (dim|axis))
    |(always|constant|identical|everywhere|all).*\b(one|ones|1(\.0)?)\b|sums? (up )?to (one|1)
    |attention.*(constant|uniform|does not depend|independent of|ignores|carries no)
    |(query|key|energy).*(no effect|no influence|cancel|constant|does not (matter|depend|affect))
Place: attention|query_conv|key_conv|energy|PartAttention|\batt\b|softmax
"""
import torch
import torch.nn as nn

NUM_PARTS = 3
CHANNELS = 16


class ConvBNReLU(nn.Sequential):
    def __init__(self, in_planes, out_planes, kernel_size=3):
        super().__init__(
            nn.Conv2d(in_planes, out_planes, kernel_size, padding=kernel_size // 2, bias=False),
            nn.BatchNorm2d(out_planes),
            nn.ReLU(inplace=False),
        )


class PartAttention(nn.Module):
    """how much each place of the parent is looked at by the places of the child"""

    def __init__(self, in_dim, reduce_rate=4):
        super(PartAttention, self).__init__()
        self.chanel_in = in_dim
        self.query_conv = nn.Conv2d(in_dim, in_dim // reduce_rate, kernel_size=1)
        self.key_conv = nn.Conv2d(in_dim, in_dim // reduce_rate, kernel_size=1)
        self.gamma = nn.Parameter(torch.ones(1))

    def forward(self, child, parent):
        m_batchsize, C, height, width = parent.size()
        proj_query = self.query_conv(child).view(m_batchsize, -1, width * height).permute(0, 2, 1)
        proj_key = self.key_conv(parent).view(m_batchsize, -1, width * height)
        energy = torch.bmm(proj_query, proj_key)
        attention = torch.sum(torch.softmax(energy, dim=-1), dim=-1)  # here
        attention = attention.view(m_batchsize, 1, height, width)
        return self.gamma * parent * attention


class ConvGRU(nn.Module):
    def __init__(self, input_dim, hidden_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.conv_gates = nn.Conv2d(input_dim + hidden_dim, 2 * hidden_dim, 3, padding=1)
        self.conv_can = nn.Conv2d(input_dim + hidden_dim, hidden_dim, 3, padding=1)

    def forward(self, input_tensor, h_cur):
        combined = torch.cat([input_tensor, h_cur], dim=1)
        gates = torch.sigmoid(self.conv_gates(combined))
        reset_gate, update_gate = torch.split(gates, self.hidden_dim, dim=1)
        cnm = torch.tanh(self.conv_can(torch.cat([input_tensor, reset_gate * h_cur], dim=1)))
        return (1 - update_gate) * h_cur + update_gate * cnm


class GNN_infer(nn.Module):
    def __init__(self, in_dim=3, hidden_dim=CHANNELS, num_parts=NUM_PARTS):
        super(GNN_infer, self).__init__()
        self.num_parts = num_parts
        self.stem = nn.Sequential(
            ConvBNReLU(in_dim, hidden_dim), ConvBNReLU(hidden_dim, hidden_dim))
        self.part_conv = nn.ModuleList(
            [ConvBNReLU(hidden_dim, hidden_dim, 1) for _ in range(num_parts)]
        )
        self.att = nn.ModuleList([PartAttention(hidden_dim) for _ in range(num_parts)])
        self.update = nn.ModuleList([ConvGRU(hidden_dim, hidden_dim) for _ in range(num_parts)])
        self.cls = nn.ModuleList([nn.Conv2d(hidden_dim, 1, 1) for _ in range(num_parts)])
        self.bg = nn.Conv2d(hidden_dim, 1, 1)

    def forward(self, img):
        xf = self.stem(img)
        nodes = [conv(xf) for conv in self.part_conv]
        new_nodes = []
        for i in range(self.num_parts):
            message = 0
            for j in range(self.num_parts):
                if j != i:
                    message = message + self.att[i](nodes[i], nodes[j])
            new_nodes.append(self.update[i](message, nodes[i]))
        out = [self.bg(xf)] + [self.cls[i](new_nodes[i]) for i in range(self.num_parts)]
        return torch.cat(out, dim=1)


def make_people(n=4, size=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    img = 0.2 * torch.randn(n, 3, size, size, generator=g)
    lab = torch.zeros(n, size, size, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(0, size - 9, (2,), generator=g).tolist()
        lab[i, r:r + 3, c + 2:c + 5] = 1
        lab[i, r + 3:r + 6, c:c + 7] = 2
        lab[i, r + 6:r + 9, c + 2:c + 5] = 3
    for k in range(1, 4):
        img[:, k - 1] += (lab == k).float()
    return img, lab


def build():
    torch.manual_seed(0)
    return GNN_infer()


def example_inputs():
    return (make_people()[0],)
