"""The least time of a row: the device cannot do its work faster.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. A floor is the larger of two times: that of the program's
products, counted by sinter-inspect, and that of moving the weights and the optimizer's
states once in and, in training, once out. It does not include activations, copies from and to
the host, and the cost of launches; it does include states that stay in a cache.
"""

import json
import math
import os

import workloads

# What GPUs, by nvidia-smi's name, were measured to do; the H200's fp32 is its data sheet's. The
# H100's bf16 is the most that its tensor cores did: a product of random data has 773.
RATES = {
    "NVIDIA H200": {"copy_gb_per_s": 4300, "fp32_tflop_per_s": 67, "bf16_tflop_per_s": 790},
    "NVIDIA H100 80GB HBM3":
        {"copy_gb_per_s": 2979, "fp32_tflop_per_s": 51.7, "bf16_tflop_per_s": 847},
}
KEYS = ("copy_gb_per_s", "fp32_tflop_per_s", "bf16_tflop_per_s")
STATES = {"sgd": 2, "adam": 3, "adamw": 3}  # tensors of a parameter's size, itself among them


def leastBytes(row, listing, small):
    """Of weights with at least two dimensions: others may become part of them. Inference reads
    single rows of tables that are nothing but tables, and all of the caches."""
    isTied = row.network.startswith("gpt2")
    tables = ("position.weight", "" if isTied else "word.weight")
    if row.kind == "train":
        size = 8 * STATES[workloads.TRAINING[row.network].optimizer]  # fp32, in and out
        tables = ()
    else:
        size = 2 if row.precision == "bf16" else 4
    caches = workloads.caches(row.network, small).values()  # in bfloat16
    return 2 * sum(map(math.prod, caches)) + sum(
        size * math.prod(shape) for name, shape in listing
        if len(shape) > 1 and name not in tables)


def measured(rows):
    """The rates in the rows of a machine group, or None."""
    return next(({key: row[key] for key in KEYS} for row in rows
                 if all(key in row for key in KEYS)), None)


def readMachine(path):
    """Those in the JSON of a machine group. ValueError: the file has none."""
    with open(path, encoding="utf-8") as file:
        rates = measured(json.load(file)["rows"])
    if rates is None:
        raise ValueError(f"{path}: no row has {', '.join(KEYS)}")
    return rates


def ceilings(rows, machine, gpu):
    """(rates, what they are of): of this run's machine group; of the file `machine`; of the GPU
    with the name `gpu`. ({}, why) if none of them is known."""
    if found := measured(rows):
        return found, "measured"
    if machine:
        return readMachine(machine), os.path.basename(machine)
    if gpu in RATES:
        return RATES[gpu], gpu
    return {}, f"no floor: the rates of '{gpu}' are not known; --machine=FILE gives them"


def floorMs(row, facts, rates):
    products = rates["fp32_tflop_per_s"] if row.precision == "fp32" else rates["bf16_tflop_per_s"]
    if row.precision == "tf32":
        products /= 2
    return max(facts["flops"] / products / 1e9, facts["least_bytes"] / rates["copy_gb_per_s"] / 1e6)
