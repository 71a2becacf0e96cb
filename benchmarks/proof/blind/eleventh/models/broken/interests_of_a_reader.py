r"""MIND for recall: several interest vectors of a user, the best of which scores the items.

Source: https://github.com/datawhalechina/torch-rechub/issues/221
Fault: the product of interest and item embeddings is summed over dim 1, the list of items, and not
    over the embedding, so that one gets a "score" per embedding coordinate, not per item.
Cause: (sum|reduc|dot|inner|score|dim|axis).*(wrong|dim(ension)?\s?=?\s?(1|-1)|item)
    |(sum|reduc|dot|inner|score|dim|axis).*(candidate|list|embedding|coordinate)
    |(wrong|candidate|item|list|negative)s?.*(dim|axis|summed|sum)
    |(candidate|item|negative)s? .*(mix|average|add|collaps|lost|merged)
Place: \by\b|sum|item_embedding|forward|MIND|score|embedding|interest|cross_entropy|labels
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

N_ITEMS = 60
EMBED = 16
SEQ_LEN = 12
N_NEG = 15


class CapsuleNetwork(nn.Module):
    """capsules of interest by dynamic routing, with one bilinear map for all items"""

    def __init__(self, embedding_dim, seq_len, interest_num=4, routing_times=3):
        super(CapsuleNetwork, self).__init__()
        self.embedding_dim = embedding_dim
        self.seq_len = seq_len
        self.interest_num = interest_num
        self.routing_times = routing_times
        self.linear = nn.Linear(embedding_dim, embedding_dim * interest_num, bias=False)

    def forward(self, item_eb, mask):
        batch = item_eb.shape[0]
        item_eb_hat = self.linear(item_eb)
        item_eb_hat = item_eb_hat.view(batch, self.seq_len, self.interest_num, self.embedding_dim)
        item_eb_hat = item_eb_hat.transpose(1, 2)
        item_eb_hat_iter = item_eb_hat.detach()
        capsule_weight = torch.zeros(batch, self.interest_num, self.seq_len)
        atten_mask = mask.unsqueeze(1).expand(-1, self.interest_num, -1)

        for i in range(self.routing_times):
            softmax_weight = F.softmax(capsule_weight, dim=1)
            softmax_weight = torch.where(atten_mask == 0, torch.zeros_like(softmax_weight),
                                         softmax_weight).unsqueeze(2)
            if i < self.routing_times - 1:
                interest = self.squash(torch.matmul(softmax_weight, item_eb_hat_iter))
                delta = torch.matmul(item_eb_hat_iter, interest.transpose(2, 3)).squeeze(3)
                capsule_weight = capsule_weight + delta
            else:
                interest = self.squash(torch.matmul(softmax_weight, item_eb_hat))
        return interest.reshape(batch, self.interest_num, self.embedding_dim)

    @staticmethod
    def squash(caps):
        n = torch.sum(caps ** 2, dim=-1, keepdim=True)
        return n / (1 + n) * caps / torch.sqrt(n + 1e-9)


class MIND(nn.Module):
    def __init__(self, n_items=N_ITEMS, embed_dim=EMBED, max_length=SEQ_LEN, temperature=0.1,
                 interest_num=3):
        super(MIND, self).__init__()
        self.temperature = temperature
        self.interest_num = interest_num
        self.max_length = max_length
        self.embedding = nn.Embedding(n_items + 1, embed_dim, padding_idx=0)
        self.capsule = CapsuleNetwork(embed_dim, max_length, interest_num=interest_num)
        self.convert_user_weight = nn.Linear(embed_dim, embed_dim)

    def user_tower(self, history):
        mask = (history > 0).float()
        history_emb = self.embedding(history)
        multi_interest_emb = self.capsule(history_emb, mask)
        multi_interest_emb = self.convert_user_weight(multi_interest_emb)
        return F.normalize(multi_interest_emb, p=2, dim=-1)

    def item_tower(self, items):
        return F.normalize(self.embedding(items), p=2, dim=-1)

    def forward(self, history, pos_item, neg_items):
        user_embedding = self.user_tower(history)
        items = torch.cat([pos_item.unsqueeze(1), neg_items], dim=1)
        item_embedding = self.item_tower(items)

        pos_item_embedding = item_embedding[:, 0, :]
        dot_res = torch.bmm(user_embedding, pos_item_embedding.unsqueeze(1).permute(0, 2, 1))
        k_index = torch.argmax(dot_res, dim=1)
        best_interest_emb = torch.rand(user_embedding.shape[0], user_embedding.shape[2])
        for k in range(user_embedding.shape[0]):
            best_interest_emb[k, :] = user_embedding[k, k_index[k], :]
        best_interest_emb = best_interest_emb.unsqueeze(1)

        y = torch.mul(best_interest_emb, item_embedding).sum(dim=1)  # here
        labels = torch.zeros(y.shape[0], dtype=torch.long)
        return F.cross_entropy(y / self.temperature, labels)


def make_readers(n=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    topics = torch.stack([torch.randperm(6, generator=g)[:2] for _ in range(n)])
    pick = torch.randint(0, 2, (n, SEQ_LEN + 1), generator=g)
    topic = torch.gather(topics, 1, pick)
    items = topic * 10 + torch.randint(0, 10, (n, SEQ_LEN + 1), generator=g) + 1
    history, pos = items[:, :SEQ_LEN].clone(), items[:, SEQ_LEN]
    lens = torch.randint(6, SEQ_LEN + 1, (n, 1), generator=g)
    history[torch.arange(SEQ_LEN).expand(n, -1) >= lens] = 0
    other = torch.randint(0, 6, (n, N_NEG), generator=g)
    clash = (other == topics[:, :1]) | (other == topics[:, 1:])
    free = torch.tensor([[t for t in range(6) if t not in row][0] for row in topics.tolist()])
    other = torch.where(clash, free.unsqueeze(1), other)
    neg = other * 10 + torch.randint(0, 10, (n, N_NEG), generator=g) + 1
    return history, pos, neg


def build():
    torch.manual_seed(0)
    return MIND()


def example_inputs():
    return make_readers()
