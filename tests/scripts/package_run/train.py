import torch


def batches():
    for _ in range(3):
        x = torch.randn(7, 3)
        yield x, x.amax(1, keepdim=True)


def fit(net, *, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(epochs):
        for x, y in batches():
            loss = torch.nn.functional.huber_loss(net(x, scale=2.0), y)
            optimizer.zero_grad()
            loss.backward()
            # truth: before("net", optimizer, loss)
            optimizer.step()
            # truth: after("net")
            print(epoch, loss.item())
