#!/usr/bin/env python3
"""Trains PyTorch or JAX to classify images; prints a line for each epoch, like a trainer.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    learn.py torch-eager|torch-graph|torch-compile|jax FOLDER cuda:0|cpu ROW EPOCHS [--small]

FOLDER has what accuracy.py and weights.py wrote. Images are on the device; every epoch has a
new order, and rows that do not fill a batch are left over, as in a trainer. Then all
test images are counted.
"""

import os
import sys
from typing import NamedTuple

import peers
import workloads


class Images(NamedTuple):
    """As peers.Work; with those of the test."""
    row: workloads.Row
    weights: dict
    x: object  # [batches, batch, pixels], as labels
    labels: object
    testX: object
    testLabels: object


def read(row, folder, small):
    import numpy
    arrays = []
    for part in ("train", "test"):
        with numpy.load(os.path.join(folder, f"images-{part}.npz")) as data:
            arrays += [data["x"].astype(numpy.float32) / 255, data["labels"].astype(numpy.int64)]
    count = len(arrays[0]) // row.batch
    for index, shape in enumerate([(count, row.batch, -1), (count, row.batch)]):
        arrays[index] = arrays[index][:count * row.batch].reshape(shape)
    path = os.path.join(folder, workloads.weightsOf(row.network, small))
    return Images(row, peers.readWeights(path), *arrays)


def torchEpochs(side, images, device, small):
    """After each epoch, how many of the test are right."""
    way = side.removeprefix("torch-")
    peer = peers.Torch(device, small, False, way == "compile")
    peer.use(images.row)
    torch, training = peer.torch, peers.TorchTraining(peer, images, way)
    x, labels, testX, testLabels = map(peer.tensor, images[2:])
    count, batch = labels.shape
    while True:
        order = torch.randperm(count * batch, device=device)
        training.x = x.flatten(0, 1)[order].view_as(x)
        training.labels = labels.flatten()[order].view_as(labels)
        training.run(count)
        with torch.inference_mode(), torch.autocast(
                device.split(":")[0], torch.bfloat16, enabled=images.row.precision == "bf16"):
            yield int((training.model(testX).argmax(-1) == testLabels).sum())


def jaxEpochs(images, device, small):
    """The same; an epoch is one call."""
    peer = peers.Jax(device, small, False)
    peer.use(images.row)
    jax, row = peer.jax, images.row
    import jax.numpy as jnp
    state, step = peer.training(images)
    forward = peer.networks.forward(row.network, row.precision, small)
    x, labels, testX, testLabels = jax.device_put(images[2:])

    def epoch(state, key, x, labels, testX, testLabels):
        order = jax.random.permutation(key, labels.size)
        batches = (x.reshape(-1, x.shape[-1])[order].reshape(x.shape),
                   labels.flatten()[order].reshape(labels.shape))
        state, _ = jax.lax.scan(lambda state, given: step(state, *given), state, batches)
        y, _ = forward(state[0], state[1], testX, False)
        return state, (y.argmax(-1) == testLabels).sum(dtype=jnp.int32)

    call = jax.jit(epoch, donate_argnums=0)
    key = jax.random.key(1)
    while True:
        key, own = jax.random.split(key)
        state, right = call(state, own, x, labels, testX, testLabels)
        yield int(right)


def main():
    side, folder, device, name, epochs = sys.argv[1:6]
    row, small = next(workloads.rows(name)), "--small" in sys.argv
    images = read(row, folder, small)
    found = jaxEpochs(images, device, small) if side == "jax" else \
        torchEpochs(side, images, device, small)
    for epoch, right in zip(range(1, int(epochs) + 1), found):
        print(f"step {epoch * len(images.x)}: accuracy {100 * right / len(images.testX):.2f} %",
              flush=True)


if __name__ == "__main__":
    main()
