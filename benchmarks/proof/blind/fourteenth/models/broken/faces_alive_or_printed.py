r"""An embedding of real and printed faces of several cameras, with the triplets of a batch.

Source: https://github.com/taylover-pei/SSDG-CVPR2020/issues/2
Fault: the margin that is given to the triplet loss is stored and never used, the loss has 0.1
    written into it instead; a larger margin changes nothing and the kinds stay close together.
Cause: margin.{0,120}(never|not|unused|ignored|hard.?cod|no effect|constant|fixed|literal|0\.1
    |without|discard|nowhere|dead)
    |(hard.?cod|constant|fixed|literal|0\.1|unused|ignored|never (read|used)).{0,100}(margin)
    |self\.margin
Place: margin|0\.1|HardTripletLoss|forward
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def _pairwise_distance(x, squared=False, eps=1e-16):
    # Compute the 2D matrix of distances between all the embeddings.
    cor_mat = torch.matmul(x, x.t())
    norm_mat = cor_mat.diag()
    distances = norm_mat.unsqueeze(1) - 2 * cor_mat + norm_mat.unsqueeze(0)
    distances = F.relu(distances)

    if not squared:
        mask = torch.eq(distances, 0.0).float()
        distances = distances + mask * eps
        distances = torch.sqrt(distances)
        distances = distances * (1.0 - mask)

    return distances


def _get_anchor_positive_triplet_mask(labels):
    # Return a 2D mask where mask[a, p] is True iff a and p are distinct and have same label.
    indices_not_equal = torch.eye(labels.shape[0]) == 0
    labels_equal = torch.unsqueeze(labels, 0) == torch.unsqueeze(labels, 1)
    return indices_not_equal & labels_equal


def _get_anchor_negative_triplet_mask(labels):
    # Return a 2D mask where mask[a, n] is True iff a and n have distinct labels.
    labels_equal = torch.unsqueeze(labels, 0) == torch.unsqueeze(labels, 1)
    return ~labels_equal


class HardTripletLoss(nn.Module):
    """Hard/Hardest Triplet Loss
    (pytorch implementation of https://omoindrot.github.io/triplet-loss)
    For each anchor, we get the hardest positive and hardest negative to form a triplet.
    """

    def __init__(self, margin=0.1, hardest=False, squared=False):
        """
        Args:
            margin: margin for triplet loss
            hardest: If true, loss is considered only hardest triplets.
            squared: If true, output is the pairwise squared euclidean distance matrix.
        """
        super(HardTripletLoss, self).__init__()
        self.margin = margin
        self.hardest = hardest
        self.squared = squared

    def forward(self, embeddings, labels):
        pairwise_dist = _pairwise_distance(embeddings, squared=self.squared)
        mask_anchor_positive = _get_anchor_positive_triplet_mask(labels).float()
        mask_anchor_negative = _get_anchor_negative_triplet_mask(labels).float()

        if self.hardest:
            # Get the hardest positive pairs
            valid_positive_dist = pairwise_dist * mask_anchor_positive
            hardest_positive_dist, _ = torch.max(valid_positive_dist, dim=1, keepdim=True)

            # Get the hardest negative pairs
            max_anchor_negative_dist, _ = torch.max(pairwise_dist, dim=1, keepdim=True)
            anchor_negative_dist = pairwise_dist + max_anchor_negative_dist * (
                1.0 - mask_anchor_negative)
            hardest_negative_dist, _ = torch.min(anchor_negative_dist, dim=1, keepdim=True)

            # Combine biggest d(a, p) and smallest d(a, n) into final triplet loss
            triplet_loss = F.relu(hardest_positive_dist - hardest_negative_dist + 0.1)  # here
            triplet_loss = torch.mean(triplet_loss)
        else:
            anc_pos_dist = pairwise_dist.unsqueeze(dim=2)
            anc_neg_dist = pairwise_dist.unsqueeze(dim=1)
            loss = anc_pos_dist - anc_neg_dist + 0.1  # here
            mask = mask_anchor_positive.unsqueeze(2) * mask_anchor_negative.unsqueeze(1)
            triplet_loss = F.relu(loss * mask)
            hard_triplets = torch.gt(triplet_loss, 1e-16).float()
            num_hard_triplets = torch.sum(hard_triplets)
            triplet_loss = torch.sum(triplet_loss) / (num_hard_triplets + 1e-16)

        return triplet_loss


class FeatureGenerator(nn.Module):
    def __init__(self):
        super(FeatureGenerator, self).__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.Conv2d(32, 48, 3, 2, 1), nn.BatchNorm2d(48), nn.ReLU(inplace=True))
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, input):
        return self.pool(self.conv(input)).flatten(1)


class FeatureEmbedder(nn.Module):
    def __init__(self):
        super(FeatureEmbedder, self).__init__()
        self.bottleneck_layer_fc = nn.Linear(48, 32)
        self.bottleneck_layer = nn.Sequential(self.bottleneck_layer_fc, nn.ReLU(), nn.Dropout(0.1))

    def forward(self, input, norm_flag=True):
        feature = self.bottleneck_layer(input)
        if norm_flag:
            feature_norm = torch.norm(feature, p=2, dim=1, keepdim=True).clamp(min=1e-12) ** 0.5
            feature = torch.div(feature, feature_norm ** 2)
        return feature


class DG_model(nn.Module):
    def __init__(self, lambda_triplet=2):
        super(DG_model, self).__init__()
        self.backbone = FeatureGenerator()
        self.embedder = FeatureEmbedder()
        self.classifier_layer = nn.Linear(32, 2)
        self.lambda_triplet = lambda_triplet
        self.triplet = HardTripletLoss(margin=0.6, hardest=False)

    def forward(self, input, domain, label):
        feature = self.embedder(self.backbone(input))
        cls_loss = F.cross_entropy(self.classifier_layer(feature), label)
        # real faces of all cameras are one kind, printed ones a kind for each camera
        kind = torch.where(label == 1, torch.zeros_like(domain), domain + 1)
        return cls_loss + self.lambda_triplet * self.triplet(feature, kind)


def build():
    torch.manual_seed(0)
    return DG_model()


def example_inputs():
    torch.manual_seed(1)
    label = torch.arange(24) % 2
    domain = torch.arange(24) // 8
    faces = torch.randn(2, 3, 24, 24)
    cameras = torch.randn(3, 3, 1, 1)
    x = faces[label] + 0.5 * cameras[domain] + 0.5 * torch.randn(24, 3, 24, 24)
    return x, domain, label
