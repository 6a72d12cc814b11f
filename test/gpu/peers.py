#!/usr/bin/env python3
"""Training steps of PyTorch or JAX on a GPU; prints milliseconds of one.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    peers.py torch|torch-compile|jax mlp|cnn

As fast as their manuals say: fused Adam, one captured graph per step (torch), reduce-
overhead compilation (torch-compile), one jitted scan over steps with donated buffers (jax).
fp32 as IEEE has it, as in Sinter's rows. A step is forward, cross-entropy, backward, Adam
on a batch of 64 that is on the device.
"""

import sys
import time

BATCH, STEPS = 64, 2000


def median(times):
    return sorted(times)[len(times) // 2]


def runTorch(name, compiled):
    import torch
    from torch import nn
    from torch.nn import functional as F
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if name == "mlp":
        model = nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256),
                              nn.ReLU(), nn.Linear(256, 10))
    else:
        def block(i, o):
            return [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]
        model = nn.Sequential(*block(1, 16), *block(16, 32), *block(32, 64), nn.Flatten(),
                              nn.Linear(576, 64), nn.ReLU(), nn.Linear(64, 10))
        model = model.to(memory_format=torch.channels_last)
    model = model.cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True, capturable=True)
    x = torch.rand(BATCH, 1, 28, 28, device="cuda")
    labels = torch.randint(0, 10, (BATCH,), device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()

    if compiled:
        run = torch.compile(step, mode="reduce-overhead")
        for _ in range(20):
            run()
    else:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(5):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        run = graph.replay
    times = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / STEPS)
    return 1e3 * median(times)


def runJax(name):
    import jax
    import jax.numpy as jnp
    if name != "mlp":
        raise SystemExit("jax: only the mlp is written down")
    jax.config.update("jax_default_matmul_precision", "highest")
    sizes = [784, 512, 256, 10]
    keys = jax.random.split(jax.random.PRNGKey(1), 3)
    params = [(jax.random.normal(k, (i, o)) * i ** -0.5, jnp.zeros(o))
              for k, i, o in zip(keys, sizes, sizes[1:])]
    x = jax.random.uniform(keys[0], (BATCH, 784))
    labels = jax.random.randint(keys[1], (BATCH,), 0, 10)

    def loss(params):
        h = x
        for w, b in params[:-1]:
            h = jax.nn.relu(h @ w + b)
        logits = h @ params[-1][0] + params[-1][1]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def step(carry, _):
        params, m, v, t = carry
        grads = jax.grad(loss)(params)
        t = t + 1
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
        v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
        params = jax.tree.map(
            lambda p, a, b: p - 1e-3 * (a / (1 - 0.9 ** t)) /
            (jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8), params, m, v)
        return (params, m, v, t), None

    run = jax.jit(lambda carry: jax.lax.scan(step, carry, None, length=STEPS)[0],
                  donate_argnums=0)
    zeros = jax.tree.map(jnp.zeros_like, params)
    carry = jax.block_until_ready(run((params, zeros, jax.tree.map(jnp.copy, zeros),
                                       jnp.zeros(()))))
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        carry = jax.block_until_ready(run(carry))
        times.append((time.perf_counter() - begin) / STEPS)
    return 1e3 * median(times)


def main():
    peer, name = sys.argv[1:3]
    try:
        print(runJax(name) if peer == "jax" else runTorch(name, peer == "torch-compile"))
    except ImportError as error:
        sys.exit(f"{peer} is not installed ({error})")


main()
