r"""Kind of a ship from its voyage, a packed sequence of positions read by a GRU.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html
Fault: the packed sequence is built anew from data and batch_sizes only; its sorted and unsorted
    indices are lost, so the last states come sorted by length and meet the labels of other ships.
Cause: (un)?sorted[_ ](indices|index|order)
    |PackedSequence.{0,120}(order|sort|indices|lost|built)
    |(order|permut).{0,100}(lost|sorted|length|label|wrong|restor|mismatch|batch|not)
    |(sorted by|by) length
    |(labels?|targets?|rows?|states?).{0,60}(other|wrong) (ship|example|row)
Place: PackedSequence|packed|batch_sizes|sorted_indices|gru|last
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

STEPS, KINDS = 20, 4


class ShipFromVoyage(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, dim), nn.LayerNorm(dim), nn.SiLU())
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, KINDS)

    def forward(self, voyage, lengths, kind=None):
        packed = pack_padded_sequence(voyage, lengths, batch_first=True, enforce_sorted=False)
        packed = PackedSequence(self.embed(packed.data), packed.batch_sizes)  # here
        _, last = self.gru(packed)
        scores = self.head(last[-1])
        if kind is None:
            return scores
        return F.cross_entropy(scores, kind)


def make_voyages(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (n,), generator=g)
    lengths = torch.randint(6, STEPS + 1, (n,), generator=g)
    speed = torch.tensor([0.2, 0.5, 0.2, 0.5])[kind].view(-1, 1)
    turn = torch.tensor([0.1, 0.1, 0.8, 0.8])[kind].view(-1, 1)
    heading = torch.cumsum(turn * torch.randn(n, STEPS, generator=g), dim=1)
    move = torch.stack([heading.cos(), heading.sin()], dim=-1) * speed.unsqueeze(-1)
    move = move + 0.02 * torch.randn(n, STEPS, 2, generator=g)
    voyage = torch.cat([move.cumsum(1) / 4, move], dim=-1)
    past = torch.arange(STEPS).view(1, -1, 1) >= lengths.view(-1, 1, 1)
    return voyage.masked_fill(past, 0.0), lengths, kind


def build():
    torch.manual_seed(0)
    return ShipFromVoyage()


def example_inputs():
    return make_voyages(64, seed=54)
