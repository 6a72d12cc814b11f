"""What PyTorch does with a network of the list: its export, its training, its output.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Called by run.py, in a process of its own for each network (exporters crash, and leave
things behind in modules). Writes into the network's folder:

  in.npz, data.npz           inputs of one batch; inputs and labels of all rows
  reference.npz              output (eval mode), losses of the steps, state/NAME after them,
                             initial/NAME before (float32)
  reference.json             parameters and running statistics by name, and what float32 costs
  WAY.onnx, WAY.json         the export, or the exporter's error

The reference is float64. Dropout is 0, so that only BatchNorm differs in training mode: a
network without it must compute the same in both modes, or no reference is made.
"""

import copy
import json
import os
import traceback

import numpy as np
import onnx
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from network import BATCH, ROWS, hasBatchNorm

WAYS = {
    "default": dict(dynamo=True),
    "no-optimize": dict(dynamo=True, optimize=False),
    "dynamo-false": dict(dynamo=False, training=torch.onnx.TrainingMode.PRESERVE,
                         do_constant_folding=False),
}


class KeepDouble(TorchFunctionMode):
    """Modules that ask for float32 (norms, softmax, rotary tables) stay in float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if args and isinstance(args[0], torch.Tensor) and args[0].dtype == torch.float64:
            if func is torch.Tensor.float:
                return args[0]
            args = tuple(torch.float64 if a is torch.float32 else a for a in args)
            if kwargs.get("dtype") is torch.float32:
                kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


def toDouble(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def lossOf(network, output, labels):
    if network.kind == "values":
        return F.mse_loss(output, labels)
    return F.cross_entropy(output.flatten(0, -2), labels.flatten())


def train(network, model, inputs, labels, steps):
    """The losses, and the state_dict after the last step; names without a gradient."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=network.rate, momentum=network.momentum)
    losses, without = [], set()
    for step in range(steps):
        begin = step * BATCH % ROWS
        rows = slice(begin, begin + BATCH)
        loss = lossOf(network, model(*[value[rows] for value in inputs]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        without = {name for name, p in model.named_parameters(remove_duplicate=False)
                   if p.grad is None}
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses), statesOf(model), without


def statesOf(model):
    """Parameters and running statistics by the names of state_dict, all aliases too."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    return {name: value.detach().clone().numpy() for name, value in model.state_dict().items()
            if name in parameters or name.endswith(("running_mean", "running_var"))}


def perturbed(model):
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 1e-7 * torch.randn(parameter.shape, generator=generator))
    return model


def tiedNames(model):
    """{name: all names of its parameter}, of parameters with several."""
    names = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    return {name: group for group in names.values() if len(group) > 1 for name in group}


def distance(ours, theirs):
    """norm(ours - theirs) / norm(theirs). What has a norm below 1e-5 (a bias whose gradient
    is 0 but for rounding) is compared absolutely: 1e-6 counts as 1e-5."""
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if not np.isfinite(ours).all():
        return float("inf")
    difference, norm = np.linalg.norm(ours - theirs), np.linalg.norm(theirs)
    return float(difference / norm if norm > 1e-5 else 10 * difference)


def writeReference(network, folder, steps):
    model = network.build().eval()
    inputs, labels = network.data(copy.deepcopy(model))
    arrays = {name: value.numpy() for name, value in inputs.items()}
    np.savez(os.path.join(folder, "in.npz"), **{n: a[:BATCH] for n, a in arrays.items()})
    np.savez(os.path.join(folder, "data.npz"), labels=labels.numpy(), **arrays)
    initial = statesOf(model)

    # What float32 costs, also from weights that are one rounding away: a network that is
    # near a kink differs by more in one of the two.
    singles = [train(network, copy.deepcopy(start), list(inputs.values()), labels, steps)
               for start in (model, perturbed(model))]
    with KeepDouble():
        double = [toDouble(value) for value in inputs.values()]
        with torch.no_grad():
            output = copy.deepcopy(model).double()(*[value[:BATCH] for value in double])
        if not hasBatchNorm(model):
            with torch.no_grad():
                trained = copy.deepcopy(model).double().train()(*[v[:BATCH] for v in double])
            assert distance(trained, output) < 1e-12, "train() computes what eval() does not"
        losses, states, without = train(network, copy.deepcopy(model).double(), double,
                                        toDouble(labels), steps)
    errors = {name: max(distance(single[1][name], states[name]) for single in singles)
              for name in states}
    worst = max(errors, key=errors.get)
    np.savez(os.path.join(folder, "reference.npz"), losses=losses, output=output.numpy(),
             **{f"state/{name}": value for name, value in states.items()},
             **{f"initial/{name}": value for name, value in initial.items()})
    return {
        "steps": steps,
        "parameters": [n for n in states if not n.endswith(("running_mean", "running_var"))],
        "statistics": [n for n in states if n.endswith(("running_mean", "running_var"))],
        "tied": tiedNames(model), "buffers": [name for name, _ in model.named_buffers()],
        "withoutGradient": sorted(n for n in without if (states[n] == initial[n]).all()),
        "batchNorm": hasBatchNorm(model), "first": losses[0], "last": losses[-1],
        "float32Loss": max(float(np.max(np.abs(single[0] - losses) / np.abs(losses)))
                           for single in singles),
        "float32State": errors[worst], "float32Worst": worst}


def firstCause(error):
    """The innermost cause, in one line: exporters wrap what went wrong in advice."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def writeExport(network, folder, way):
    path = os.path.join(folder, way + ".onnx")
    model = network.build().eval()
    inputs, _ = network.data(copy.deepcopy(model))
    example = tuple(value[:BATCH] for value in inputs.values())
    try:
        torch.onnx.export(model, example, path, input_names=list(inputs), external_data=False,
                          **WAYS[way])
    except Exception as error:  # whatever an exporter raises is its result
        traceback.print_exc()
        return {"error": firstCause(error)}
    graph = onnx.load(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    return {"inputs": [value.name for value in graph.input if value.name not in constants],
            "output": graph.output[0].name}


def write(network, folder, way, steps):
    """Makes WAY.json, or reference.json for the way 'reference'. For a process of its own."""
    log = os.open(os.path.join(folder, way + ".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    torch.set_num_threads(1)
    result = (writeReference(network, folder, steps) if way == "reference"
              else writeExport(network, folder, way))
    result["fingerprint"] = network.fingerprint
    temporary = os.path.join(folder, way + ".json.new")
    with open(temporary, "w") as file:
        json.dump(result, file, indent=1)
    os.replace(temporary, os.path.join(folder, way + ".json"))
