"""Finds what an exporter did with the parameters that a file does not have under their names.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by compare.py. Uses only initial values: a parameter went to the initializer that
has its initial values, in the same shape or in another order.
"""

import numpy as np


def homesOf(value, initializers):
    """[(kind, name)]: the initializers that hold `value`, the most alike first."""
    found = [[], [], [], []]
    for name, other in initializers.items():
        if other.size < value.size or other.size % max(value.size, 1):
            continue
        if other.shape == value.shape:
            if np.array_equal(other, value):
                found[0].append(("renamed", name))
            elif value.ndim == 2 and np.array_equal(other.T, value):
                found[1].append(("transposed", name))
        elif value.ndim == 2 and other.shape == value.T.shape and np.array_equal(other.T, value):
            found[1].append(("transposed", name))
        elif other.size == value.size and np.array_equal(other.ravel(), value.ravel()):
            found[2].append(("reshaped", name))
        elif (other.ndim == value.ndim
              and all(v in (1, o) for v, o in zip(value.shape, other.shape))
              and np.array_equal(other, np.broadcast_to(value, other.shape))):
            found[3].append(("expanded", name))
    return sum(found, [])


def fatesOf(missing, tied, initial, initializers, states):
    """{parameter: (kind, home)}. Tied: PyTorch has it under several names, and another one is
    here or went somewhere. Not trained: the file has it, the trainer holds it constant.
    Merged: all initializers that hold its initial values are another parameter's. Folded:
    none holds them. `tied`: {name: all names of its parameter}."""
    values = {name: array for name, array in initializers.items()
              if array.dtype.kind == "f" and array.ndim}
    taken = {name for name in initial if name in states or name in values}
    fates = {}
    for name in missing:
        homes = homesOf(initial[name], values)
        free = [home for home in homes if home[1] not in taken]
        other = next((n for n in tied.get(name, []) if n in states or n in fates), None)
        if other:
            fates[name] = "tied", other
        elif name in values:
            fates[name] = "not trained", name
        elif free:
            fates[name] = free[0]
            taken.add(free[0][1])
        else:
            fates[name] = ("merged", homes[0][1]) if homes else ("folded", None)
    return fates


def describe(fates):
    """`3 merged (one.bias), 1 folded (head.weight)`: each kind with an example."""
    kinds = {}
    for name, (kind, _) in fates.items():
        kinds.setdefault(kind, []).append(name)
    return ", ".join(f"{len(names)} {kind} ({names[0]})"
                     for kind, names in sorted(kinds.items()))


def describeStranger(name, initializers, nodes):
    """`val_14 ([4] of 1, used by InstanceNormalization)`: what it is, and who uses it."""
    value = initializers[name]
    equal = value.size and (value == value.flat[0]).all()
    user = next((node.op_type for node in nodes if name in node.input), "nothing")
    return (f"{name} ({list(value.shape)}{f' of {value.flat[0]:.4g}' if equal else ''},"
            f" used by {user})")


def strangers(trained, fates):
    """Trained initializers that hold no missing parameter."""
    homes = {home for _, home in fates.values()}
    return [name for name in trained if name not in homes]
