#!/usr/bin/env python3
"""Runs one network in PyTorch or JAX, controlled over a pipe.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    peers.py torch|torch-compile|jax FOLDER cuda:0|cpu [--small] [--once]

Reads requests and writes answers as lines of JSON:
    {"prepare": [network, kind, batch, precision]} -> {side: {"loss": x, "bytes": at most}}
    {"check": "row|side", "output": ours.npz}      -> {"error": x}
    {"run": "row|side", "count": N}                -> {"ms": of one}
or {"skip": why} if something is not available, also for one side only. With "broken" beside
it, the process ends: its CUDA context is lost, and no side of it has a figure. A run of training
is a step on batches that are on the device; a run of inference goes from host memory to
host memory and waits, as in sinter-run. With --once, for cold starts, preparing does only what
the first output needs: one step or run, and no choices by timing. FOLDER has what
workloads.py and weights.py wrote.
"""

import json
import math
import os
import sys
import time

import failures
import workloads

FIRST_STEPS = 3  # whose last loss is compared
WARM_RUNS = 5


def orWhyNot(function, *arguments):
    """What it gives, or {"skip": why}: whatever a framework raises is told, not fatal."""
    try:
        return function(*arguments)
    except Exception as error:
        return failures.whyNot(error)


def milliseconds(begin, count):
    return 1e3 * (time.perf_counter() - begin) / count


def readWeights(path):
    """{name: array}, not copied."""
    import numpy
    data = numpy.memmap(path, numpy.uint8, "r")
    length = int(data[:8].view(numpy.uint64)[0])
    entries = json.loads(bytes(data[8:8 + length]))
    return {name: data[8 + length + entry["data_offsets"][0]:
                       8 + length + entry["data_offsets"][1]]
            .view(numpy.float32).reshape(entry["shape"]) for name, entry in entries.items()}


class Side:
    """One way to run a row: `run(count)` leaves the last loss in `loss`, or the output in
    `output`, as a numpy array."""
    loss = output = bytes = None

    def run(self, count):
        raise NotImplementedError


class Work:
    """The row's data and weights, as numpy arrays."""

    def __init__(self, row, folder, small, once):
        import numpy
        self.row = row
        self.weights = readWeights(os.path.join(folder, workloads.weightsOf(row.network, small)))
        with numpy.load(os.path.join(folder, row.file + ".npz")) as data:
            arrays = {name: data[name] for name in data.files}
        count = workloads.batchesOf(row)

        def batches(array):
            found = array.reshape(count, row.batch, *array.shape[1:])
            return found[:1] if once else found
        self.x = batches(arrays["x"])
        self.labels = batches(arrays["labels"]) if row.kind == "train" else None
        self.position = arrays.get("position")
        # The bits of bfloat16.
        self.caches = [arrays[name] for name in workloads.caches(row.network, small)]


# --- PyTorch ---------------------------------------------------------------------------------


class Torch:
    """Sides of a row: eager, and one CUDA graph; or compiled."""

    def __init__(self, device, small, once, compiled):
        import torch
        self.torch, self.device, self.small, self.compiled = torch, device, small, compiled
        self.once, self.isCuda = once, device.startswith("cuda")
        self.firstSteps, self.warmRuns = (1, 0) if once else (FIRST_STEPS, WARM_RUNS)
        torch.backends.cudnn.benchmark = not once
        if self.isCuda:
            torch.cuda.set_device(torch.device(device))
            self.attention = self.chooseAttention()  # until this is gone

    @staticmethod
    def chooseAttention():
        """cuDNN's first, as it is the fastest on Hopper where it is there."""
        try:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            choice = sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION,
                                  SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH],
                                 set_priority=True)
        except (ImportError, TypeError):
            return None  # an older PyTorch has an order of its own
        choice.__enter__()
        return choice

    def use(self, row):
        """Sets what holds for the whole process and differs between rows."""
        torch = self.torch
        torch.set_float32_matmul_precision("highest" if row.precision == "fp32" else "high")
        torch.backends.cudnn.allow_tf32 = row.precision != "fp32"

    def prepare(self, work):
        row = work.row
        kind = TorchTraining if row.kind == "train" else TorchInference
        if self.compiled and not self.once:
            import torch._inductor.config as config
            # Choosing among Triton's products as well takes minutes for a large network.
            if row.network != "mlp":
                config.max_autotune_gemm_backends = "ATEN"
        isGraphed = self.isCuda and not self.once
        ways = ["compile"] if self.compiled else ["eager", "graph"] if isGraphed else ["eager"]
        sides = {}
        for way in ways:
            sides["torch-" + way] = orWhyNot(self.counted, lambda: kind(self, work, way))
            if isinstance(sides["torch-" + way], dict) and "broken" in sides["torch-" + way]:
                break
        return sides

    def counted(self, make):
        """What `make` makes, and the memory that it had at most."""
        if not self.isCuda:
            return make()
        cuda = self.torch.cuda
        cuda.synchronize()
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        side = make()
        cuda.synchronize()
        side.bytes = cuda.max_memory_allocated() - before
        return side

    def compile(self, function):
        """Of a cold start with the default mode, which compiles faster."""
        mode = "default" if self.once else "max-autotune"
        return self.torch.compile(function, mode=mode, fullgraph=True, dynamic=False)

    def synchronize(self):
        if self.isCuda:
            self.torch.cuda.synchronize()

    def tensor(self, array):
        return self.torch.from_numpy(array.copy()).to(self.device)

    def model(self, work):
        import networks
        if hasattr(self.torch.device, "__enter__"):  # without values drawn for nothing
            with self.torch.device("meta"):
                model = networks.make(work.row.network, self.small)
            model = model.to_empty(device="cpu")
        else:
            model = networks.make(work.row.network, self.small)
        own = networks.states(model)
        with self.torch.no_grad():
            for name, array in work.weights.items():
                if name in own:
                    own.pop(name).copy_(self.torch.from_numpy(array.copy()))
        if own:
            raise ValueError(f"no weights for {', '.join(own)}")
        model = model.to(self.device)
        if work.row.network == "resnet50":
            model = model.to(memory_format=self.torch.channels_last)
        return model

    def layout(self, tensor, row):
        """Of one batch of images: channels last."""
        return tensor.contiguous(memory_format=self.torch.channels_last) \
            if row.network == "resnet50" else tensor


class TorchTraining(Side):
    def __init__(self, peer, work, way):
        torch, row = peer.torch, work.row
        from torch.nn import functional as F
        self.peer, self.done = peer, 0
        self.model = model = peer.model(work).train()
        self.x = [peer.layout(peer.tensor(x), row) for x in work.x]
        self.labels = [peer.tensor(labels) for labels in work.labels]
        optimizer = self.optimizer(model, row)
        isGraph = way == "graph"

        def lossOf(x, labels):
            with torch.autocast(peer.device.split(":")[0], torch.bfloat16,
                                enabled=row.precision == "bf16", cache_enabled=not isGraph):
                y = model(x)
                return F.cross_entropy(y.flatten(0, -2), labels.flatten(), ignore_index=-100)

        forward = peer.compile(lossOf) if way == "compile" else lossOf

        def step(x, labels):
            optimizer.zero_grad(set_to_none=True)
            loss = forward(x, labels)
            loss.backward()
            optimizer.step()
            return loss.detach()

        self.step = step
        if isGraph:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.first()
            torch.cuda.current_stream().wait_stream(stream)
            self.capture(step, optimizer)
        else:
            self.first()
            self.run(peer.warmRuns)  # compiled: graphs are recorded, too

    def optimizer(self, model, row):
        torch, training = self.peer.torch, workloads.TRAINING[row.network]
        options = {key.replace("-", "_"): value for key, value in training.options.items()}
        if self.peer.isCuda:
            options["fused"] = True
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
                "sgd": torch.optim.SGD}[training.optimizer]
        if self.peer.isCuda and training.optimizer != "sgd":
            options["capturable"] = True
        return kind(model.parameters(), **options)

    def capture(self, step, optimizer):
        torch = self.peer.torch
        graph, x, labels = torch.cuda.CUDAGraph(), self.x[0].clone(), self.labels[0].clone()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = step(x, labels)

        def replay(nextX, nextLabels):
            x.copy_(nextX)
            labels.copy_(nextLabels)
            graph.replay()
            return loss
        self.step = replay

    def first(self):
        self.run(self.peer.firstSteps)
        self.loss = float(self.last)

    def run(self, count):
        for _ in range(count):
            index = self.done % len(self.x)
            self.last = self.step(self.x[index], self.labels[index])
            self.done += 1


class TorchInference(Side):
    def __init__(self, peer, work, way):
        torch, row = peer.torch, work.row
        self.peer = peer
        model = peer.model(work).eval()
        if row.precision == "bf16":
            model = model.bfloat16()
        isFloat = work.x.dtype.kind == "f"

        def pinned(tensor):
            return tensor.pin_memory() if peer.isCuda else tensor
        self.inputs = [pinned(torch.from_numpy(array.copy()))
                       for array in (work.x[0], work.position) if array is not None]
        caches = [peer.tensor(bits.view("int16")).view(torch.bfloat16) for bits in work.caches]
        if way == "compile":  # or its graphs would not be captured: caches are written
            from torch._dynamo import mark_static_address
            for cache in caches:
                mark_static_address(cache)
        forward = peer.compile(model) if way == "compile" else model

        def step():
            x, *others = [array.to(peer.device, non_blocking=True) for array in self.inputs]
            if isFloat and row.precision == "bf16":
                x = x.bfloat16()
            y = forward(peer.layout(x, row), *others, *caches)
            y = (y[0] if caches else y).float()
            if self.output is None:
                self.output = pinned(torch.empty(y.shape))
            self.output.copy_(y, non_blocking=True)

        self.step = step
        self.run(max(1, peer.warmRuns))
        if way == "graph":
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.run(3)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.inference_mode(), torch.cuda.graph(graph):
                step()
            self.step = graph.replay
            self.run(3)

    def run(self, count):
        with self.peer.torch.inference_mode():
            for _ in range(count):
                self.step()
                self.peer.synchronize()


# --- JAX -------------------------------------------------------------------------------------


class Jax:
    hasCounted = False

    def __init__(self, device, small, once):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        if device == "cpu":
            os.environ["JAX_PLATFORMS"] = "cpu"
        import jax
        import networks_jax
        self.jax, self.networks, self.small, self.once = jax, networks_jax, small, once
        kind, _, number = device.partition(":")
        self.device = jax.devices("gpu" if kind == "cuda" else kind)[int(number or 0)]
        jax.config.update("jax_default_device", self.device)
        self.networks.ATTENTION = "cudnn" if kind == "cuda" else None

    def use(self, row):
        self.jax.config.update("jax_default_matmul_precision", {
            "fp32": "highest", "tf32": "tensorfloat32"}.get(row.precision, "default"))

    def prepare(self, work):
        side = (JaxTraining if work.row.kind == "train" else JaxInference)(self, work)
        if not self.hasCounted:  # the peak is that of the whole process
            statistics = self.device.memory_stats() or {}
            side.bytes = statistics.get("peak_bytes_in_use")
        self.hasCounted = True
        return {"jax": side}

    def training(self, work):
        """(state, function(state, x, labels) -> (state, loss)); a state's last is the number of
        steps."""
        jax, row = self.jax, work.row
        import jax.numpy as jnp
        training = workloads.TRAINING[row.network]
        lossOf = self.networks.loss(row.network, row.precision, self.small)
        update = self.networks.UPDATES[training.optimizer]
        params, buffers = self.networks.split(row.network, work.weights)
        zeros = jax.tree.map(jnp.zeros_like, params)

        def step(state, x, labels):
            params, buffers, m, v, done = state
            (value, buffers), grads = jax.value_and_grad(lossOf, has_aux=True)(
                params, buffers, x, labels)
            params, m, v = update(params, grads, m, v, done + 1, training.options)
            return (params, buffers, m, v, done + 1), value
        return (params, buffers, zeros, jax.tree.map(jnp.copy, zeros),
                jnp.zeros((), jnp.int32)), step

    def synchronize(self):
        pass  # sides wait


class JaxTraining(Side):
    """One jitted scan over steps with donated state."""

    def __init__(self, peer, work):
        jax, row = peer.jax, work.row
        # Of a call; single steps where few are wanted.
        self.length = 1 if peer.once else \
            256 if row.network == "mlp" and not peer.small else FIRST_STEPS
        self.state, step = peer.training(work)
        x, labels = jax.device_put((peer.networks.images(row.network, work.x), work.labels))

        def advance(state, _):
            index = state[-1] % x.shape[0]
            return step(state, x[index], labels[index])

        self.call = jax.jit(lambda state: jax.lax.scan(advance, state, None, length=self.length),
                            donate_argnums=0)
        self.run(1)
        self.loss = float(self.losses[min(FIRST_STEPS, self.length) - 1])
        self.run(0 if peer.once else 1)

    def run(self, count):
        """At least so many steps, whole calls; returns how many."""
        calls = math.ceil(count / self.length)
        for _ in range(calls):
            self.state, self.losses = self.call(self.state)
        self.losses.block_until_ready()
        return calls * self.length


class JaxInference(Side):
    def __init__(self, peer, work):
        jax, row = peer.jax, work.row
        import jax.numpy as jnp
        forward = peer.networks.forward(row.network, row.precision, peer.small)
        params, buffers = peer.networks.split(row.network, work.weights)
        if row.precision == "bf16":  # once, ahead of all runs
            params = jax.tree.map(lambda w: w.astype(jnp.bfloat16), params)
        self.params, self.buffers = jax.device_put((params, buffers))
        self.x = peer.networks.images(row.network, work.x)[0]
        self.position = work.position
        # Positions before heads, as JAX's attention reads them.
        self.caches = jax.device_put([bits.view(jnp.bfloat16).swapaxes(1, 2)
                                      for bits in work.caches])

        def step(params, buffers, caches, x, position):
            if caches:
                y, caches = peer.networks.decode(params, x, position, caches, peer.small)
            else:
                y = forward(params, buffers, x, False)[0]
            return y.astype(jnp.float32), caches

        self.call = jax.jit(step, donate_argnums=2)
        self.run(1 if peer.once else WARM_RUNS)

    def run(self, count):
        import numpy
        for _ in range(count):
            y, self.caches = self.call(self.params, self.buffers, self.caches, self.x,
                                       self.position)
            self.output = numpy.asarray(y)


# --- requests --------------------------------------------------------------------------------


class Server:
    def __init__(self, kind, folder, device, small, once):
        self.folder, self.small, self.once = folder, small, once
        self.peer = Jax(device, small, once) if kind == "jax" else \
            Torch(device, small, once, kind == "torch-compile")
        self.sides = {}

    def prepare(self, row):
        row = workloads.Row(*row)
        self.peer.use(row)
        sides = self.peer.prepare(Work(row, self.folder, self.small, self.once))
        answer = {}
        for name, side in sides.items():
            if isinstance(side, Side):
                self.sides[f"{row.name}|{name}"] = row, side
                side = {"loss": side.loss, "bytes": side.bytes}
            answer[name] = side
        return answer

    def check(self, key, path):
        """The norm of the output's difference from Sinter's, relative to that of Sinter's."""
        import numpy
        with numpy.load(path) as arrays:
            ours = arrays[arrays.files[0]]
        theirs = numpy.asarray(self.sides[key][1].output, numpy.float32).reshape(ours.shape)
        return {"error": float(numpy.linalg.norm(theirs - ours) / numpy.linalg.norm(ours))}

    def run(self, key, count):
        row, side = self.sides[key]
        self.peer.use(row)
        begin = time.perf_counter()
        done = side.run(count) or count
        self.peer.synchronize()
        return {"ms": milliseconds(begin, done)}

    def answer(self, request):
        if "prepare" in request:
            return self.prepare(request["prepare"])
        if "check" in request:
            return self.check(request["check"], request["output"])
        return self.run(request["run"], request["count"])


def main():
    kind, folder, device = sys.argv[1:4]
    # What libraries print belongs to the log.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    server = None
    for line in sys.stdin:
        if not isinstance(server, Server):
            server = orWhyNot(Server, kind, folder, device, "--small" in sys.argv,
                              "--once" in sys.argv)
        answer = orWhyNot(server.answer, json.loads(line)) if isinstance(server, Server) \
            else server
        print(json.dumps(answer), file=answers, flush=True)
        if failures.brokenBy(answer):
            os._exit(1)  # a lost context may make an orderly end wait


if __name__ == "__main__":
    main()
