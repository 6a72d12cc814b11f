"""The least time of a row: the device cannot do its work faster.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Python's standard library only. A floor is the larger of two times: that of the program's
products, counted by sinter-inspect, and that of moving the weights and the optimizer's
states once in and, in training, once out. It does not include activations, copies from and to
the host, and the cost of launches; it does include states that stay in a cache.
"""

import math

import workloads

# What an H200 was measured to do; fp32 is its data sheet's.
H200 = {"copy_gb_per_s": 4300, "fp32_tflop_per_s": 67, "bf16_tflop_per_s": 790}
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


def ceilings(device, rows):
    """Those of this run's machine group and "measured"; without it those of an H200, and ({},
    "") on what is no GPU."""
    for row in rows:
        if all(key in row for key in H200):
            return {key: row[key] for key in H200}, "measured"
    return (H200, "H200") if device.startswith("cuda") else ({}, "")


def floorMs(row, facts, rates):
    products = rates["fp32_tflop_per_s"] if row.precision == "fp32" else rates["bf16_tflop_per_s"]
    if row.precision == "tf32":
        products /= 2
    return max(facts["flops"] / products / 1e9, facts["least_bytes"] / rates["copy_gb_per_s"] / 1e6)
