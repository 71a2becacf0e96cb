r"""Attention walk: node embeddings of a graph with learnt weights for each length of walk.

Source: https://github.com/benedekrozemberczki/AttentionWalk/issues/9
Fault: the adjacency matrix is multiplied by the degrees in place of being divided by them, so that
    the "transition matrix" does not sum to one and its powers grow enormous; the loss is huge.
Cause: degree.*(multipl|invers|divid|reciprocal|power|instead|-1)
    |(multipl|invers|divid|reciprocal)\w*.*degree
    |(adjacency|transition|matrix).*(not normali[sz]|un-?normali[sz])
    |(adjacency|transition|matrix).*(normali[sz]ed? (wrong|by multipl)|rows?.*not sum|sum to)
    |(normali[sz]ation|normali[sz]ed).*(wrong|invert|multipl|missing)
    |(powers?|target).*(grow|explo|huge|large|overflow)
Place: normalized_adjacency|degs|feature_calculator|target|transition|powered_A|adjacency
"""
import torch
from torch import nn
import torch.nn.functional as F

N_NODES = 24
WINDOW = 4


def make_graph(n=N_NODES, groups=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    label = torch.arange(n) % groups
    same = (label[:, None] == label[None, :]).float()
    prob = 0.6 * same + 0.05 * (1 - same)
    adj = (torch.rand(n, n, generator=g) < prob).float().triu(1)
    for i in range(groups, n):
        adj[i - groups, i] = 1.0
    return adj + adj.t()


def feature_calculator(adjacency_matrix, window_size):
    """
    Calculating the feature tensor.
    :return target_matrices: Target tensor, one transition matrix for each length of walk.
    """
    degrees = adjacency_matrix.sum(dim=0)
    degs = torch.diag(degrees)
    normalized_adjacency_matrix = degs @ adjacency_matrix  # here
    target_matrices = [normalized_adjacency_matrix]
    powered_A = normalized_adjacency_matrix
    for power in range(window_size - 1):
        powered_A = powered_A @ normalized_adjacency_matrix
        target_matrices.append(powered_A)
    return torch.stack(target_matrices)


def adjacency_opposite_calculator(adjacency_matrix):
    """
    Creating no edge indicator matrix.
    """
    return 1.0 - adjacency_matrix


class AttentionWalkLayer(nn.Module):
    """
    Attention Walk Layer.
    For details see the paper.
    """
    def __init__(self, nodes=N_NODES, dimensions=16, window_size=WINDOW, num_of_walks=10,
                 beta=0.5, gamma=0.5):
        super(AttentionWalkLayer, self).__init__()
        self.nodes = nodes
        self.dimensions = dimensions
        self.window_size = window_size
        self.num_of_walks = num_of_walks
        self.beta = beta
        self.gamma = gamma
        self.define_weights()
        self.initialize_weights()

    def define_weights(self):
        half = self.dimensions // 2
        self.left_factors = nn.Parameter(torch.Tensor(self.nodes, half))
        self.right_factors = nn.Parameter(torch.Tensor(half, self.nodes))
        self.attention = nn.Parameter(torch.Tensor(self.window_size, 1))

    def initialize_weights(self):
        nn.init.uniform_(self.left_factors, -0.01, 0.01)
        nn.init.uniform_(self.right_factors, -0.01, 0.01)
        nn.init.uniform_(self.attention, -0.01, 0.01)

    def forward(self, adjacency_matrix):
        """
        Doing a forward propagation pass.
        :return loss: Loss being minimized.
        """
        weighted_target_tensor = feature_calculator(adjacency_matrix, self.window_size)
        adjacency_opposite = adjacency_opposite_calculator(adjacency_matrix)

        self.attention_probs = F.softmax(self.attention, dim=0)
        probs = self.attention_probs.unsqueeze(1).expand_as(weighted_target_tensor)
        target_matrix = weighted_target_tensor * probs
        target_matrix = torch.sum(target_matrix, dim=0)
        estimate = torch.mm(self.left_factors, self.right_factors)
        loss_on_target = - target_matrix * F.logsigmoid(estimate)
        loss_opposite = - adjacency_opposite * F.logsigmoid(-estimate)
        loss_on_mat = self.num_of_walks * self.nodes * loss_on_target / self.nodes + loss_opposite
        abs_loss_on_mat = torch.abs(loss_on_mat)
        average_loss_on_mat = torch.mean(abs_loss_on_mat)
        norms = torch.mean(torch.abs(self.left_factors)) + torch.mean(torch.abs(self.right_factors))
        loss_on_regularization = self.beta * (self.attention.norm(2) ** 2)
        return average_loss_on_mat + loss_on_regularization + self.gamma * norms


def build():
    torch.manual_seed(0)
    return AttentionWalkLayer()


def example_inputs():
    return (make_graph(),)
