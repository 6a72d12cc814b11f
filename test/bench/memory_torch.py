#!/usr/bin/env python3
"""Compares the memory of training steps, planned by Sinter and allocated by PyTorch.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    /usr/bin/python3 memory_torch.py --build=BUILD FOLDER [NAME...]
                        (Debian: python3-torch, python3-onnx, libopenblas0-pthread)

FOLDER has the models of make_training_models.py (name those of MODELS here). Sinter's side
is the plan without a limit: arena, states and constants, and the inputs. PyTorch's is the
largest sum of its CPU allocator's memory in the second step, as its profiler
records it: gradients are freed before the forward pass (set_to_none), the optimizer has its
state. Neither includes what oneDNN allocates. Activations are the peak without
parameters, buffers, optimizer state and inputs. Prints a table and geometric means.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

import make_training_models

ADAM = (["--optimizer=adam"], lambda p: torch.optim.Adam(p))
ADAMW = (["--optimizer=adamw"], lambda p: torch.optim.AdamW(p))
MOMENTUM = (["--optimizer=sgd", "--momentum=0.9"], lambda p: torch.optim.SGD(p, 0.01, 0.9))
# Rows, optimizer, classes.
MODELS = {"mlp": (256, ADAM, 10), "cnn": (64, ADAM, 10), "resnet18": (32, MOMENTUM, 10),
          "resnet50": (16, MOMENTUM, 1000), "bert-4": (16, ADAMW, 2),
          "gpt-small": (16, ADAMW, None), "gpt2": (8, ADAMW, None)}
# Of PyTorch's: in all, and of the activations.
MOST_TOTAL, MOST_ACTIVATIONS = 0.8, 0.6


def planned(build, model, batch, flags, loss):
    """(bytes in all, bytes of parameters, state and inputs)"""
    with tempfile.TemporaryDirectory() as folder:
        remarks, log = os.path.join(folder, "remarks.json"), os.path.join(folder, "plan.mlir")
        subprocess.run([os.path.join(build, "bin", "sinterc"), model, "--train",
                        "--stop-after=plan", "-o", log, f"--batch={batch}", "--workspace=0",
                        "--remarks=" + remarks, *flags, *loss], check=True)
        with open(remarks, encoding="utf-8") as file:
            text = next(r["text"] for r in map(json.loads, file) if r["pass"] == "memory")
        with open(log, encoding="utf-8") as file:
            program = re.search(r"exec\.program @step\((.*?)\) ->", file.read())[1]
    total, arena = map(int, re.search(r"(\d+) bytes, of which arena (\d+)", text).groups())
    inputs = 0
    for dims, bits in re.findall(r"tensor<((?:\d+x)*)[fi](\d+)>", program):
        inputs += math.prod(int(d) for d in dims.split("x") if d) * int(bits) // 8
    return total + inputs, total - arena + inputs


def walk(events):
    for event in events:
        yield event
        yield from walk(event.children)


def bytesOf(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def allocated(name, batch, makeOptimizer, classes):
    """The same for PyTorch."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profiler:
        torch.manual_seed(1)
        model, example = make_training_models.MODELS[name]()
        model.train()
        inputs = [t.repeat(batch // 2, *[1] * (t.ndim - 1)) for t in example.values()]
        shape = (batch,) if classes else inputs[0].shape
        labels = torch.zeros(shape, dtype=torch.long)
        optimizer = makeOptimizer(model.parameters())
        example.clear()

        def step():
            optimizer.zero_grad(set_to_none=True)
            logits = model(*inputs)
            loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten())
            del logits
            loss.backward()
            optimizer.step()

        step()
        with torch.profiler.record_function("measured step"):
            step()
        fixed = bytesOf([*model.parameters(), *model.buffers(), *inputs, labels])
        for state in optimizer.state.values():
            fixed += bytesOf(v for v in state.values() if torch.is_tensor(v) and v.ndim > 0)
    events = list(walk(profiler.profiler.kineto_results.experimental_event_tree()))
    mark = next(e for e in events if e.name == "measured step")
    peak = max(e.extra_fields.total_allocated for e in events if e.name == "[memory]"
               and mark.start_time_ns <= e.start_time_ns <= mark.end_time_ns)
    return peak, fixed


def allocatedAlone(name):
    """The same in a process of its own: the allocator counts what others left, too."""
    done = subprocess.run([sys.executable, __file__, "--build=", "", "--alone=" + name],
                          check=True, stdout=subprocess.PIPE, text=True)
    return tuple(map(int, done.stdout.split()[-2:]))


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.alone:
        batch, (_, makeOptimizer), classes = MODELS[options.alone]
        print(*allocated(options.alone, batch, makeOptimizer, classes))
        return
    totals, activations = [], []
    print(f"{'MiB':18}{'Sinter':>9}{'PyTorch':>9}{'ratio':>7}"
          f"{'activations:':>14}{'Sinter':>8}{'PyTorch':>9}{'ratio':>7}")
    for name in options.names or MODELS:
        batch, (flags, _), classes = MODELS[name]
        loss = [] if classes else ["--loss=cross-entropy:axis=-1"]
        model = os.path.join(options.folder, name + ".onnx")
        total, fixed = planned(options.build, model, batch, flags, loss)
        otherTotal, otherFixed = allocatedAlone(name)
        own, other = total - fixed, otherTotal - otherFixed
        totals.append(total / otherTotal)
        activations.append(own / other)
        print(f"{name + ' b' + str(batch):18}{total / 2**20:9.1f}{otherTotal / 2**20:9.1f}"
              f"{totals[-1]:7.2f}{'':14}{own / 2**20:8.1f}{other / 2**20:9.1f}"
              f"{activations[-1]:7.2f}", flush=True)
    print(f"geometric means: {mean(totals):.2f} in all (at most {MOST_TOTAL}),"
          f" {mean(activations):.2f} of the activations (at most {MOST_ACTIVATIONS})")
    return mean(totals) > MOST_TOTAL or mean(activations) > MOST_ACTIVATIONS


if __name__ == "__main__":
    sys.exit(main())
