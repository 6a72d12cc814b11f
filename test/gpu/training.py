"""Compares training with PyTorch in float64: 48 steps of each training test.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The tests are read, not copied: what their RUN lines compile, train and compare.
"""

import glob
import os
import re

import bundle as bundles

GROUP = "training"
SMALL = ["mlp-adam", "cnn-adam"]
# In 16 bits: the losses stay beside the reference.
NARROW = ["cnn-bf16", "cnn-fp16", "depthwise-bf16", "encoder-bf16", "encoder-fp16", "gpt2-bf16",
          "gpt2-fp16"]

# What a trainer's name says of how it was compiled -> (the end of its file's name, options).
VARIANTS = {"": ("", "--libraries=all"), ", no libraries": ("-none", "--libraries=none"),
            ", one kernel": ("-one", "--persistent-kernel=auto"),
            ", gradient stream": ("-streams", "--gradient-stream=on")}
# Tests that are made in some variants only.
ONLY = {", one kernel": ["mlp-adam", "mlp-momentum"],
        ", gradient stream": ["mlp-adam", "cnn-bf16", "gpt2-lm", "gpt2-bf16"]}


def readTest(path):
    """(model, sinterc's options, trainer's options, the script that compares with its
    arguments); None for a test of another form."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    compiled = re.search(r"RUN: sinterc (\S+) -o %t/trainer (.*)", text)
    trained = re.search(r"RUN: %t/trainer (--data.*?) --out=%t/run --log-json=%t/log.json\n", text)
    compared = re.search(r"RUN: %python \S+/(\w+\.py) (%t/log.json .*)", text)
    if not (compiled and trained and compared):
        return None
    options = [word for word in compiled.group(2).split()
               if not word.startswith("--save-precision-plan")]
    return (compiled.group(1), options, trained.group(1).split(),
            [compared.group(1), *compared.group(2).split()])


def tests(small):
    """(name, path, variant)"""
    root = os.path.join(bundles.ROOT, "test", "e2e")
    paths = [os.path.join(root, "training", name + ".test") for name in SMALL] if small else \
        sorted(glob.glob(os.path.join(root, "training", "*.test"))) + \
        [os.path.join(root, "precision", name + ".test") for name in NARROW]
    for variant in VARIANTS:
        for path in paths[:1] if small and variant else paths:
            name = os.path.basename(path)[:-len(".test")]
            if name in ONLY.get(variant, [name]):
                yield name, path, variant


def prepare(bundle):
    def make(test):
        name, path, variant = test
        found = readTest(path)
        if not found:
            raise SystemExit(f"prepare.py: {path}: its lines are of another form")
        model, options, training, comparison = found
        suffix, option = VARIANTS[variant]
        file = f"trainers/{name}{suffix}"
        bundle.compile(model, file, *options, option)
        bundle.addModel(training + comparison)
        return {"name": name + variant, "file": file,
                "training": training, "comparison": comparison}
    for script in ("compare_training.py", "npz.py"):
        bundle.add(os.path.join(bundles.ROOT, "tools", "scripts", script))
    bundle.add(os.path.join(bundles.ROOT, "test", "e2e", "Inputs", "close_losses.py"))
    bundle.write("training", bundle.inParallel(make, list(tests(bundle.small))))


def trainCommand(context, trainer, out):
    """Leaves the folder OUT and the log OUT.json."""
    return [*context.program(trainer["file"]), *context.models(trainer["training"]),
            f"--device={context.device}", "--quiet", f"--out={out}", f"--log-json={out}.json"]


def outputOf(context, trainer):
    return os.path.join(context.scratch, os.path.basename(trainer["file"]))


def check(context, trainer):
    """One row of an entry of training.json."""
    name, out, since = trainer["name"], outputOf(context, trainer), context.results.seconds()
    states = out + ".safetensors"
    if context.attempt(GROUP, name, trainCommand(context, trainer, out), 90) is None:
        return
    if any(word.endswith(".safetensors") for word in trainer["comparison"]) and \
            context.attempt(GROUP, name, [*context.program(trainer["file"]), "export",
                                          f"--checkpoint={out}", f"--device={context.device}",
                                          "-o", states], 60, since=since) is None:
        return
    script, *words = trainer["comparison"]
    words = [word.replace("%t/log.json", out + ".json")
             .replace("%t/states.safetensors", states) for word in context.models(words)]
    context.run(GROUP, name, context.script(script, *words), 60,
                lambda text: text.strip().splitlines()[0], env=None, since=since)


def run(context, results):
    del results
    context.inParallel(lambda trainer: check(context, trainer), context.list("training"))
