"""Small configurations of torchvision's networks: one of the lists of networks.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from functools import partial

from torch import nn
from torchvision import models
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.swin_transformer import (PatchMergingV2, SwinTransformer,
                                                 SwinTransformerBlockV2)
from torchvision.models.vision_transformer import VisionTransformer

from network import Network, images, smooth


def resnet():
    return models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=10)


def resnetGroupNorm():
    return models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=10,
                         norm_layer=lambda channels: nn.GroupNorm(8, channels))


def vit():
    model = VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=4,
                              hidden_dim=32, mlp_dim=64, num_classes=10)
    # torchvision's head begins with zeros: the first step's gradients would all be zero.
    nn.init.normal_(model.heads.head.weight, std=0.1)
    return model


def swin(**options):
    return SwinTransformer(patch_size=[2, 2], embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                           window_size=[4, 4], stochastic_depth_prob=0.0, num_classes=10,
                           **options)


def convnext():
    return ConvNeXt([CNBlockConfig(8, 16, 1), CNBlockConfig(16, 24, 1),
                     CNBlockConfig(24, None, 1)], layer_scale=0.1, num_classes=10)


NETWORKS = [
    Network("tv-resnet", smooth(resnet), images(32), rate=0.001),
    Network("tv-resnet-group-norm", smooth(resnetGroupNorm), images(32), rate=0.001,
            momentum=0.9),
    Network("tv-squeezenet", smooth(partial(models.squeezenet1_1, num_classes=10, dropout=0.0)),
            images(32)),
    Network("tv-mobilenet-v3", smooth(partial(models.mobilenet_v3_small, num_classes=10,
                                              dropout=0.0)), images(64), rate=0.002),
    Network("tv-vit", vit, images(32), momentum=0.9),
    Network("tv-swin", swin, images(32)),
    Network("tv-swin-v2", smooth(partial(swin, block=SwinTransformerBlockV2,
                                         downsample_layer=PatchMergingV2)), images(32),
            rate=0.005),
    Network("tv-convnext", convnext, images(32)),
]
