import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Waves(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        assert get_worker_info() is not None
        phase = torch.tensor(index / 24 * 6.28)
        return torch.sin(torch.arange(8) / 2 + phase), phase.cos()


def seed_worker(worker_id):
    torch.manual_seed(torch.initial_seed() % 2**32)
    # a model in a worker is nobody's business
    helper = nn.Linear(2, 2)
    helper(torch.ones(1, 2)).sum().backward()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    torch.manual_seed(6)
    loader = DataLoader(
        Waves(), batch_size=6, shuffle=True, num_workers=args.workers, worker_init_fn=seed_worker
    )
    net = nn.Sequential(nn.Linear(8, 6), nn.SiLU(), nn.Linear(6, 1))
    optimizer = torch.optim.NAdam(net.parameters(), lr=0.02)
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(net(x).squeeze(1), y)
            loss.backward()
            # truth: before("net", optimizer, loss)
            optimizer.step()
            # truth: after("net")
            print(epoch, loss.item())
    torch.save(net.state_dict(), args.out)
