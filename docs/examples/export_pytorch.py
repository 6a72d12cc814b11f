#!/usr/bin/env python3
"""From a PyTorch module to files that Sinter trains exactly as PyTorch does.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    python3 export_pytorch.py [FOLDER]     exports the CNN below, as an example

exportModule() writes two files: NAME.onnx, the graph, and NAME.safetensors, the module's
own weights and buffers. The graph says which of its constants are parameters; where the
exporter folded one into something else, the weights tell what it was:

    sinterc NAME.onnx --parameters=NAME.safetensors -o trainer --train ...

loadWeights() reads what `./trainer export -o trained.safetensors` wrote back into the
module. Needs torch, onnx and onnxscript; NumPy comes with them.
"""

import json
import os
import struct
import sys

import numpy as np
import torch
from torch import nn

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
         "I8": "<i1", "U8": "<u1", "BOOL": "|b1"}


def writeSafetensors(path, state):
    """`state` is a state_dict; tensors that it has under two names are written twice, and the
    metadata says so, as safetensors.torch.save_model does."""
    header, chunks, at, first, shared = {}, [], 0, {}, {}
    for name, tensor in state.items():
        place = (tensor.device, tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and first.setdefault(place, name) != name:
            shared[name] = first[place]
        tensor = tensor.detach().cpu().contiguous()
        if tensor.dtype == torch.bfloat16:
            kind, array = "BF16", tensor.view(torch.int16).numpy()
        else:
            array = tensor.numpy()
            kind = next(k for k, v in TYPES.items() if np.dtype(v) == array.dtype)
        chunks.append(array.tobytes())
        header[name] = {"dtype": kind, "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(chunks[-1])]}
        at += len(chunks[-1])
    text = json.dumps({"__metadata__": shared, **header} if shared else header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for chunk in chunks:
            file.write(chunk)


def readSafetensors(path):
    """{name: tensor}."""
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    state = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind = entry["dtype"]
        array = np.frombuffer(data[begin:end], "<i2" if kind == "BF16" else TYPES[kind])
        tensor = torch.from_numpy(array.reshape(entry["shape"]).copy())
        state[name] = tensor.view(torch.bfloat16) if kind == "BF16" else tensor
    return state


def exportModule(model, example, path, dynamicBatch=True, **options):
    """Writes `path`.onnx and `path`.safetensors. `example` is a tuple of the inputs of one
    batch; with `dynamicBatch` the size of their first dimension stays open (sinterc
    --batch=N binds it). Further options go to torch.onnx.export.

    The module is exported in the mode that it is in: a Dropout that should drop in training
    must be there, so call model.train() before if the module has one."""
    if dynamicBatch and "dynamic_shapes" not in options:
        batch = torch.export.Dim("N", min=2)
        options["dynamic_shapes"] = tuple({0: batch} for _ in example)
    # Without its optimizer the exporter keeps BatchNorm, Dropout and every parameter.
    options = {"dynamo": True, "optimize": False, "external_data": False, **options}
    # Before the export: that of a module in training mode changes running statistics.
    writeSafetensors(path + ".safetensors", model.state_dict())
    torch.onnx.export(model, example, path + ".onnx", **options)
    frozen = [n for n, p in model.named_parameters() if not p.requires_grad]
    if frozen:  # no ONNX file has this
        print("frozen parameters: compile with --freeze='^("
              + "|".join(name.replace(".", r"\.") for name in frozen) + ")$'")


def loadWeights(model, path, unused=(), averages=None):
    """Reads an export of the trainer into the module; every name has to fit. Slots of the
    optimizer ("m/fc.weight") are left out. `unused` names what the module keeps: parameters
    that its forward() does not use are in no ONNX file, of which sinterc warns. `averages` says
    whether to take the averages of --ema, which evaluation and an exported ONNX file have, or the
    weights; a file that has averages needs it."""
    names, tensors = set(model.state_dict()), readSafetensors(path)
    state = {name: value for name, value in tensors.items() if name in names}
    found = {name.removeprefix("ema/"): value for name, value in tensors.items()
             if name.startswith("ema/")}
    if found and averages is None:
        raise ValueError(f"{path} has averages (--ema): say averages=True or False")
    if averages:
        state |= {name: value for name, value in found.items() if name in names}
    # Counters of batches are in no ONNX file. Buffers that forward() only reads, such as masks, are
    # constants there, which training keeps.
    statistics = ("running_mean", "running_var")
    constants = {name for name, _ in model.named_buffers() if not name.endswith(statistics)}
    for name, value in model.state_dict().items():
        if name in unused or name in constants:
            state.setdefault(name, value)
    model.load_state_dict(state, strict=True)


class Cnn(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32),
            nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.dropout, self.head = nn.Dropout(0.2), nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.dropout(self.features(x).flatten(1)))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    torch.manual_seed(1)
    path = os.path.join(folder, "cnn")
    exportModule(Cnn().train(), (torch.rand(4, 1, 28, 28),), path, input_names=["x"],
                 output_names=["logits"])
    print(f"wrote {path}.onnx and {path}.safetensors")


if __name__ == "__main__":
    main()
