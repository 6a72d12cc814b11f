"""Small configurations of timm's networks: one of the lists of networks.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

from functools import partial

import timm
from timm.models import metaformer, mlp_mixer, resnet
from torch import nn

from network import Network, images, smooth

CLASSES = 10


def make(name, **options):
    return lambda: timm.create_model(name, pretrained=False, num_classes=CLASSES, **options)


def mixer(block, **options):
    return partial(mlp_mixer.MlpMixer, num_classes=CLASSES, img_size=32, patch_size=8,
                   embed_dim=32, num_blocks=2, block_layer=block, **options)


def poolformer():
    return metaformer.MetaFormer(
        num_classes=CLASSES, depths=(1, 1, 1, 1), dims=(16, 16, 24, 32), downsample_norm=None,
        token_mixers=metaformer.Pooling, mlp_act=nn.GELU, mlp_bias=True,
        norm_layers=metaformer.GroupNorm1, layer_scale_init_values=0.1,
        res_scale_init_values=None, use_mlp_head=False)


VIT = dict(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=4)

NETWORKS = [
    Network("timm-vit-tiny", make("vit_tiny_patch16_224", **VIT), images(32), momentum=0.9),
    Network("timm-vit-no-class-token", make("vit_base_patch16_siglip_gap_224", **VIT),
            images(32)),
    Network("timm-deit-distilled", make("deit_tiny_distilled_patch16_224", **VIT), images(32)),
    Network("timm-beit", make("beit_base_patch16_224", **VIT, init_values=0.1), images(32)),
    Network("timm-eva02", make("eva02_tiny_patch14_224", **VIT), images(32)),
    Network("timm-mixer", mixer(mlp_mixer.MixerBlock), images(32), momentum=0.9),
    Network("timm-gmlp", mixer(mlp_mixer.SpatialGatingBlock, mlp_ratio=4,
                               mlp_layer=timm.layers.GatedMlp), images(32)),
    Network("timm-resmlp", mixer(mlp_mixer.ResBlock, mlp_ratio=4,
                                 norm_layer=mlp_mixer.Affine), images(32)),
    Network("timm-cait", make("cait_xxs24_224", img_size=32, patch_size=8, embed_dim=32,
                              depth=2, num_heads=4), images(32)),
    Network("timm-convnext", make("convnext_atto", dims=(8, 16, 24, 32), depths=(1, 1, 2, 1)),
            images(32), rate=0.005, momentum=0.9),
    Network("timm-swin", make("swin_tiny_patch4_window7_224", img_size=32, patch_size=2,
                              window_size=4, embed_dim=16, depths=(2, 2), num_heads=(2, 4),
                              drop_path_rate=0.0),
            images(32)),
    Network("timm-poolformer", poolformer, images(64)),
    Network("timm-levit", make("levit_128s", img_size=64, embed_dim=(16, 24, 32), key_dim=8,
                               num_heads=(2, 3, 4), depth=(1, 1, 1)), images(64),
            rate=0.001, why="hard swish has kinks"),
    Network("timm-mobilenetv3", smooth(make("mobilenetv3_small_050")), images(64), rate=0.001),
    Network("timm-resnet", partial(resnet.ResNet, resnet.BasicBlock, (1, 1, 1, 1),
                                   channels=(8, 16, 16, 24), num_classes=CLASSES), images(48)),
]
