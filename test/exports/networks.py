"""The list of networks whose exports are compared; run.py and reference.py read it.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Small configurations of what people export today, and hand-written networks with the
constructs that exporters rewrite. They are chosen for being usual, not for being easy.
Initial values are PyTorch's: zeros and ones are what exporters merge and fold.
"""

import networks_attention
import networks_folded
import networks_plain
import networks_timm
import networks_torchvision
import networks_transformers

NETWORKS = [*networks_plain.NETWORKS, *networks_attention.NETWORKS, *networks_folded.NETWORKS,
            *networks_timm.NETWORKS, *networks_torchvision.NETWORKS,
            *networks_transformers.NETWORKS]
assert len({network.name for network in NETWORKS}) == len(NETWORKS), "two networks of one name"
