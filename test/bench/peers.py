#!/usr/bin/env python3
"""Runs one row in one framework, controlled over a pipe.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    peers.py onnxruntime|openvino|torch-eager|torch-compile FOLDER NETWORK KIND BATCH TYPE THREADS

Needs the framework and numpy; PyTorch also takes modules from models.py. When the first run is
done it writes a line of JSON, {"compile_s": from the model to the first output, "version": text,
"losses": in training, of the first steps}, or {"skip": why}. Then it answers lines:
    {"run": N}           -> {"ms": of one run or step}
    {"check": ours.npz}  -> errorsOf() our output y
Each framework has the settings that it documents as the fastest for one stream of work.
"""

import importlib
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import rows

# Names on the command line, as in the tables; packages of PyPI.
PEERS = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch-eager": "PyTorch",
         "torch-compile": "torch.compile"}
PACKAGES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "torch-eager": "torch",
            "torch-compile": "torch"}


class Missing(Exception):
    """What a framework does not do."""


class OnnxRuntime:
    def __init__(self, row, graph, feeds):
        import onnxruntime
        if row.kind == "train":
            raise Missing("ONNX Runtime on PyPI does not train")
        if row.precision == "bf16":
            raise Missing("ONNX Runtime has no bf16 on the CPU")
        self.version, self.feeds = onnxruntime.__version__, feeds
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = row.threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        # Activations stay fp32, as the model says; by default they become 8-bit codes.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        self.session = onnxruntime.InferenceSession(graph, options,
                                                    providers=["CPUExecutionProvider"])

    def run(self):
        return self.session.run(None, self.feeds)[0]


class OpenVino:
    def __init__(self, row, graph, feeds):
        import openvino
        if row.kind == "train":
            raise Missing("OpenVINO does not train")
        self.version, self.feeds = openvino.__version__.split("-")[0], feeds
        core = openvino.Core()
        network = core.read_model(graph)
        network.reshape({name: list(array.shape) for name, array in feeds.items()})
        compiled = core.compile_model(network, "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
            "INFERENCE_NUM_THREADS": str(row.threads), "ENABLE_CPU_PINNING": "NO",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0",  # as above
            "INFERENCE_PRECISION_HINT": "bf16" if row.precision == "bf16" else "f32"})
        self.output, self.request = compiled.output(0), compiled.create_infer_request()

    def run(self):
        return self.request.infer(self.feeds, share_inputs=True, share_outputs=True)[self.output]


class Torch:
    def __init__(self, row, model, feeds, isCompiled):
        if row.precision in rows.QUANTIZED:
            raise Missing(f"PyTorch does not read ONNX, from which {row.precision} is made")
        import torch
        import models  # sets the number of threads
        torch.set_num_threads(row.threads)
        torch.set_num_interop_threads(1)
        self.torch, self.row, self.isCompiled = torch, row, isCompiled
        self.version = torch.__version__
        module = models.find(row.network, row.kind).make()
        module.load_state_dict(torch.load(model + ".pt"))
        tensors = [torch.from_numpy(array) for array in feeds.values()]
        if tensors[0].dim() == 4:
            module = module.to(memory_format=torch.channels_last)
            tensors[0] = tensors[0].contiguous(memory_format=torch.channels_last)
        if isCompiled:
            if not hasattr(torch, "compile"):
                raise Missing(f"PyTorch {self.version} has no torch.compile")
            import torch._dynamo.config
            import torch._inductor.config
            torch._inductor.config.freezing = row.kind == "infer"
            torch._dynamo.config.allow_rnn = True
        (self.train if row.kind == "train" else self.infer)(module, tensors)

    def autocast(self):
        return self.torch.autocast("cpu", self.torch.bfloat16, self.row.precision == "bf16")

    def compile(self, function):
        return (self.torch.compile(function, fullgraph=True, dynamic=False) if self.isCompiled
                else function)

    def infer(self, module, tensors):
        forward = self.compile(module.eval())

        def run():
            with self.torch.no_grad(), self.autocast():
                y = forward(*tensors)
            return (y if isinstance(y, self.torch.Tensor) else y[0]).float().numpy()
        self.run = run

    def train(self, module, tensors):
        import models
        module.train()
        network, (x, labels) = self.row.network, tensors
        optimizer = models.optimizerOf(network, module)

        def lossOf(x):
            with self.autocast():
                return models.lossOf(network, module(x), labels)
        forward = self.compile(lossOf)

        def run():
            optimizer.zero_grad(set_to_none=True)
            loss = forward(x)
            loss.backward()
            optimizer.step()
            self.loss = loss.detach()
        self.run = run


def makePeer(kind, row, folder, feeds):
    if kind == "onnxruntime":
        return OnnxRuntime(row, os.path.join(folder, row.graph), feeds)
    if kind == "openvino":
        return OpenVino(row, os.path.join(folder, row.graph), feeds)
    return Torch(row, os.path.join(folder, row.model), feeds, kind == "torch-compile")


def say(answer):
    print(json.dumps(answer), file=answers, flush=True)


def errorsOf(ours, theirs, exact):
    """`error`: how far ours is from theirs, relative to the largest. With `exact`, `distance`: how
    far it is from that, relative, and `farther`: by which share farther than theirs; both root
    mean square."""
    import numpy

    def finite(number):
        return float(number) if numpy.isfinite(number) else float("inf")

    own, ours = theirs.reshape(-1).astype(numpy.float64), ours.reshape(-1)
    if ours.shape != own.shape:
        return {"error": float("inf")}
    errors = {"error": finite(abs(ours - own).max() / max(abs(own).max(), 1e-30))}
    if exact is not None:
        exact = exact.reshape(-1).astype(numpy.float64)
        far = [numpy.linalg.norm(side - exact) for side in (ours, own)]
        errors["farther"] = finite(far[0] / max(far[1], 1e-30) - 1)
        errors["distance"] = finite(far[0] / max(numpy.linalg.norm(exact), 1e-30))
    return errors


def readArray(path, name):
    import numpy
    with numpy.load(path) as data:
        return data[name]


def main():
    kind, folder, network, task, batch, precision, threads = sys.argv[1:]
    row = rows.Row(network, task, int(batch), precision, int(threads))
    try:
        import numpy
        importlib.import_module(PACKAGES[kind])
        with numpy.load(os.path.join(folder, row.data)) as data:
            feeds = {name: data[name] for name in data.files}
        begin = time.perf_counter()
        peer = makePeer(kind, row, folder, feeds)
        output = peer.run()
        answer = {"compile_s": time.perf_counter() - begin, "version": peer.version}
        if row.kind == "train":
            answer["losses"] = [float(peer.loss)]
            for _ in range(rows.FIRST_STEPS - 1):
                peer.run()
                answer["losses"].append(float(peer.loss))
        else:
            output = output.copy()  # later runs may overwrite it
    except Exception as error:  # whatever a framework raises is the reason
        text = " ".join(str(error).split())[:200]
        name = "" if isinstance(error, Missing) else type(error).__name__ + ": "
        say({"skip": f"{name}{text}"})
        return
    say(answer)
    for line in sys.stdin:
        request = json.loads(line)
        if "check" in request:
            exact = (readArray(os.path.join(folder, row.exact), "y")
                     if row.precision in rows.ROUNDED else None)
            say(errorsOf(readArray(request["check"], "y"), output, exact))
            continue
        begin = time.perf_counter()
        for _ in range(request["run"]):
            peer.run()
        say({"ms": 1e3 * (time.perf_counter() - begin) / request["run"]})


if __name__ == "__main__":
    # Frameworks print what they like: what is read is a copy of standard output.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main()
