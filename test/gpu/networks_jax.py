"""The networks of networks.py in JAX, with the same weights.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Parameters are a flat dictionary by PyTorch's names. Images are NHWC and filters HWIO, as XLA
likes them; products are bf16 where the row says so, norms, softmax and losses float32.
"""

import jax
import jax.numpy as jnp
import numpy
from jax import lax

# Of dot_product_attention in 16 bits; float32 has XLA's own.
ATTENTION = None
HEADS = {False: 12, True: 2}


def split(network, weights):
    """(parameters, buffers): filters turned to HWIO, statistics apart."""
    params, buffers = {}, {}
    for name, array in weights.items():
        array = array.transpose(2, 3, 1, 0) if array.ndim == 4 else array
        (buffers if "running_" in name else params)[name] = jnp.array(array)
    return params, buffers


def images(network, x):
    """Batches of images with their channels last; others as they are."""
    if x.dtype.kind != "f":
        return x.astype(numpy.int32)
    return numpy.ascontiguousarray(numpy.moveaxis(x, 2, -1)) if x.ndim == 5 else x


def linear(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def layerNorm(p, name, x, eps):
    wide = x.astype(jnp.float32)
    mean = wide.mean(-1, keepdims=True)
    y = (wide - mean) * lax.rsqrt(wide.var(-1, keepdims=True) + eps)
    return (y * p[name + ".weight"] + p[name + ".bias"]).astype(x.dtype)


def attention(p, name, x, heads, causal):
    batch, length, width = x.shape
    q, k, v = (part.reshape(batch, length, heads, width // heads)
               for part in jnp.split(linear(p, name + ".qkv", x), 3, -1))
    # cuDNN's, as JAX calls it, trains on even lengths only: not on ViT's 197.
    way = ATTENTION if x.dtype == jnp.bfloat16 and length % 2 == 0 else None
    y = jax.nn.dot_product_attention(q, k, v, is_causal=causal, implementation=way)
    return linear(p, name + ".output", y.reshape(batch, length, width))


def perceptron(p, name, x, tanh):
    return linear(p, name + ".2", jax.nn.gelu(linear(p, name + ".0", x), approximate=tanh))


def count(p, prefix):
    return 1 + max(int(name.split(".")[1]) for name in p if name.startswith(prefix + "."))


def blocks(p, x, heads, causal, tanh, eps):
    for i in range(count(p, "blocks")):
        name = f"blocks.{i}"
        x = x + attention(p, name + ".attention", layerNorm(p, name + ".norm1", x, eps), heads,
                          causal)
        x = x + perceptron(p, name + ".mlp", layerNorm(p, name + ".norm2", x, eps), tanh)
    return x


def mlp(p, b, x, training, heads):
    layers = range(0, 2 * (len(p) // 2), 2)
    for i in layers:
        x = linear(p, str(i), jax.nn.relu(x) if i else x)
    return x, b


def convNorm(p, b, name, x, stride, training):
    w = p[name + ".0.weight"]
    pad = w.shape[0] // 2
    y = lax.conv_general_dilated(x, w, (stride, stride), [(pad, pad)] * 2,
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"))
    wide, norm = y.astype(jnp.float32), name + ".1"
    mean, var = b[norm + ".running_mean"], b[norm + ".running_var"]
    if training:
        own, ownVar = wide.mean((0, 1, 2)), wide.var((0, 1, 2))
        b = {**b, norm + ".running_mean": 0.9 * mean + 0.1 * own,
             norm + ".running_var": 0.9 * var + 0.1 * ownVar}
        mean, var = own, ownVar
    scale = lax.rsqrt(var + 1e-5) * p[norm + ".weight"]
    return ((wide - mean) * scale + p[norm + ".bias"]).astype(y.dtype), b


def resnet(p, b, x, training, heads):
    x, b = convNorm(p, b, "stem", x, 2, training)
    x = lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i in range(count(p, "blocks")):
        name = f"blocks.{i}"
        skips = f"{name}.skip.0.weight" in p
        # The first block of each stage but the first halves the image.
        stride = 2 if skips and i else 1
        y, b = convNorm(p, b, name + ".first", x, 1, training)
        y, b = convNorm(p, b, name + ".second", jax.nn.relu(y), stride, training)
        y, b = convNorm(p, b, name + ".third", jax.nn.relu(y), 1, training)
        if skips:
            x, b = convNorm(p, b, name + ".skip", x, stride, training)
        x = jax.nn.relu(x + y)
    return linear(p, "head", x.mean((1, 2))), b


def bert(p, b, x, training, heads):
    x = layerNorm(p, "norm", p["word.weight"][x] + p["position.weight"][:x.shape[1]], 1e-12)
    for i in range(count(p, "layers")):
        name = f"layers.{i}"
        x = layerNorm(p, name + ".norm1", x + attention(p, name + ".attention", x, heads, False),
                      1e-12)
        x = layerNorm(p, name + ".norm2", x + perceptron(p, name + ".mlp", x, False), 1e-12)
    if "pooler.weight" in p:
        return jnp.tanh(linear(p, "pooler", x[:, 0])), b
    y = jax.nn.gelu(linear(p, "transform", x), approximate=False)
    return layerNorm(p, "transformNorm", y, 1e-12) @ p["word.weight"].T + p["bias"], b


def vit(p, b, x, training, heads):
    w = p["patch.weight"]
    x = lax.conv_general_dilated(x, w, w.shape[:2], "VALID",
                                 dimension_numbers=("NHWC", "HWIO", "NHWC")) + p["patch.bias"]
    x = x.reshape(x.shape[0], -1, x.shape[3])
    token = jnp.broadcast_to(p["token"], (x.shape[0], 1, x.shape[2]))
    x = blocks(p, jnp.concatenate([token, x], 1) + p["position"], heads, False, False, 1e-6)
    return linear(p, "head", layerNorm(p, "norm", x, 1e-6)[:, 0]), b


def gpt2(p, b, x, training, heads, last=False):
    x = p["word.weight"][x] + p["position.weight"][:x.shape[1]]
    x = layerNorm(p, "norm", blocks(p, x, heads, True, True, 1e-5), 1e-5)
    return (x[:, -1] if last else x) @ p["word.weight"].T, b


def prefill(*arguments):
    return gpt2(*arguments, last=True)


def decode(p, word, position, caches, small):
    """(logits after a word at `position`, of shape [1], new caches): keys and values of each
    layer in turn, [batch, positions, heads, size]."""
    x = p["word.weight"][word] + p["position.weight"][position]
    caches = list(caches)
    for i in range(count(p, "blocks")):
        name = f"blocks.{i}"
        y = linear(p, name + ".attention.qkv", layerNorm(p, name + ".norm1", x, 1e-5))
        q, k, v = (part.reshape(*part.shape[:2], HEADS[small], -1)
                   for part in jnp.split(y, 3, -1))
        for index, new in ((2 * i, k), (2 * i + 1, v)):
            caches[index] = lax.dynamic_update_slice_in_dim(
                caches[index], new.astype(caches[index].dtype), position[0], 1)
        keys, values = (cache.astype(x.dtype) for cache in caches[2 * i:2 * i + 2])
        mask = (jnp.arange(keys.shape[1]) <= position)[None, None, None]
        y = jax.nn.dot_product_attention(q, keys, values, mask=mask)
        x = x + linear(p, name + ".attention.output", y.reshape(x.shape))
        x = x + perceptron(p, name + ".mlp", layerNorm(p, name + ".norm2", x, 1e-5), True)
    return layerNorm(p, "norm", x, 1e-5)[:, -1] @ p["word.weight"].T, caches


NETWORKS = {"mlp": mlp, "resnet50": resnet, "bert": bert, "bert-384": bert, "bert-mlm": bert,
            "vit": vit, "gpt2": gpt2, "gpt2-prefill": prefill}


def forward(network, precision, small):
    """function(parameters, buffers, x, training) -> (output, buffers)"""
    kind = jnp.bfloat16 if precision == "bf16" else jnp.float32

    def run(p, b, x, training):
        p = {name: w.astype(kind) for name, w in p.items()}
        x = x if jnp.issubdtype(x.dtype, jnp.integer) else x.astype(kind)
        return NETWORKS[network](p, b, x, training, HEADS[small])
    return run


def loss(network, precision, small):
    """function(parameters, buffers, x, labels) -> (mean loss of labels >= 0, buffers)"""
    run = forward(network, precision, small)

    def mean(p, b, x, labels):
        y, b = run(p, b, x, True)
        logits = jax.nn.log_softmax(y.astype(jnp.float32))
        own = jnp.take_along_axis(logits, jnp.maximum(labels, 0)[..., None], -1)[..., 0]
        counts = labels >= 0
        return -jnp.where(counts, own, 0).sum() / counts.sum(), b
    return mean


# --- updates, with PyTorch's formulas: (parameters, gradients, m, v, step, options) ----------


def adam(params, grads, m, v, step, options):
    lr, decay = options["lr"], options.get("weight-decay", 0)
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
    firsts, seconds = 1 - 0.9**step.astype(jnp.float32), 1 - 0.999**step.astype(jnp.float32)
    params = jax.tree.map(lambda p, a, b: p * (1 - lr * decay) - lr * (a / firsts) /
                          (jnp.sqrt(b / seconds) + 1e-8), params, m, v)
    return params, m, v


def sgd(params, grads, m, v, step, options):
    m = jax.tree.map(lambda a, g: options["momentum"] * a + g, m, grads)
    return jax.tree.map(lambda p, a: p - options["lr"] * a, params, m), m, v


UPDATES = {"adam": adam, "adamw": adam, "sgd": sgd}
