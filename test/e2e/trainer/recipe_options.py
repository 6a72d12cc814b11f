"""Tries every option of sinterc: one that changes the numbers of a run is told at --resume.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    recipe_options.py SCRATCH_FOLDER MODELS_FOLDER

Takes the options from `sinterc --help`. Each needs a row here: samples in SAMPLES, or in
SAME the reason why it changes no number of a training run. Of each sample, a trainer with the
option and one without it must describe themselves differently, and the one with it must tell the
difference when it resumes a run of the other (or refuse to). A training option must also
change the program: its IR after the phase train.
"""

import json
import os
import re
import shutil
import subprocess
import sys

ADAM = ("train-mlp-adam", "--batch=8", "--optimizer=adam", "--loss=cross-entropy")
SGD = ("train-mlp-sgd", "--batch=8", "--optimizer=sgd", "--momentum=0.9",
       "--loss=cross-entropy")
NORM = ("train-depthwise-sgd", "--batch=8", "--optimizer=sgd", "--loss=cross-entropy")
LSTM = ("train-lstm-adam", "--batch=8", "--optimizer=adam", "--loss=cross-entropy")
MSE = ("train-mlp-mse", "--batch=8", "--optimizer=sgd", "--loss=mse")
TOKENS = ("export-tokens", "--batch=8", "--optimizer=sgd", "--loss=cross-entropy")
LAYERS = ("fusion-layers-packed", "--loss=mse", "--optimizer=adam")
OTHER_STATES = "was written by another recipe"


class Sample:
    """`base` with `more` (a later flag replaces the same one of `base`) differs from `base` in
    the recipe's `key`. `refused`: what the trainer says if it does not resume. `runs`: whether
    there are data for it. `changesIr`: whether the model's own answer is another one."""

    def __init__(self, key, base, *more, refused="", runs=True, changesIr=True):
        self.key, self.model, self.base = key, base[0], list(base[1:])
        self.more, self.refused, self.runs, self.changesIr = more, refused, runs, changesIr

    def changed(self):
        given = {flag.split("=")[0] for flag in self.more}
        return [flag for flag in self.base if flag.split("=")[0] not in given] + list(self.more)


SAMPLES = {
    "--batch": [Sample("batch", ADAM, "--batch=4", refused="made with a batch size of 8, not 4")],
    "--dim": [Sample("dim S", LAYERS + ("--dim=N=2", "--dim=S=24"), "--dim=N=2", "--dim=S=32",
                     runs=False)],
    "--shape": [Sample("shape x", LAYERS + ("--shape=x=2x24x16",), "--shape=x=2x32x16",
                       runs=False)],
    "--loss": [
        Sample("loss", MSE, "--loss=huber"),
        Sample("label_smoothing", ADAM, "--loss=cross-entropy:label_smoothing=0.1"),
        Sample("label_smoothing", ADAM, "--loss=cross-entropy:label_smoothing=1"),
        Sample("ignore_index", ADAM, "--loss=cross-entropy:ignore_index=-1"),
        Sample("loss_axis", ADAM, "--loss=cross-entropy:axis=1", changesIr=False),
        Sample("labels", ADAM, "--loss=cross-entropy:labels=y", runs=False)],
    "--optimizer": [Sample("optimizer", ADAM, "--optimizer=adamw")],
    "--lr": [Sample("lr", ADAM, "--lr=0.5")],
    "--momentum": [Sample("momentum", SGD, "--momentum=0.8")],
    "--nesterov": [Sample("nesterov", SGD, "--nesterov")],
    "--weight-decay": [Sample("weight_decay", ADAM, "--weight-decay=0.1")],
    "--no-decay": [Sample("no_decay", ADAM, "--no-decay=bias")],
    "--beta1": [Sample("beta1", ADAM, "--beta1=0.8")],
    "--beta2": [Sample("beta2", ADAM, "--beta2=0.9")],
    "--eps": [Sample("eps", ADAM, "--eps=1e-6")],
    "--trainable": [Sample("trainable", ADAM, "--trainable=weight", refused=OTHER_STATES)],
    "--freeze": [Sample("freeze", ADAM, "--freeze=bias", refused=OTHER_STATES)],
    "--parameters": [Sample("parameters", TOKENS + ("--allow-rewritten-parameters",),
                            "--parameters=@MODELS/export-tokens.safetensors",
                            refused='"first" is missing')],
    "--allow-rewritten-parameters": [
        Sample("allow_rewritten_parameters", ADAM, "--allow-rewritten-parameters",
               changesIr=False)],
    "--pad-last-batch": [Sample("pad_last_batch", ADAM, "--pad-last-batch")],
    "--freeze-bn": [Sample("freeze_bn", NORM, "--freeze-bn")],
    "--bn-running-var": [Sample("bn_running_var", NORM, "--bn-running-var=unbiased")],
    "--clip-norm": [Sample("clip_norm", ADAM, "--clip-norm=1")],
    "--clip-value": [Sample("clip_value", ADAM, "--clip-value=2")],
    "--accumulate": [Sample("accumulate", ADAM, "--batch=4", "--accumulate=2")],
    "--replicas": [Sample("replicas", ADAM, "--batch=4", "--replicas=2")],
    "--shard": [Sample("shard", ADAM, "--batch=4", "--replicas=2", "--shard=optimizer")],
    "--ema": [Sample("ema", ADAM, "--ema=0.9", refused=OTHER_STATES)],
    "--target": [Sample("target", ADAM, "--target=sim")],
    "--mcpu": [Sample("mcpu", ADAM, "--mcpu=x86-64-v3")],
    "--libraries": [Sample("libraries", ADAM, "--libraries=none")],
    "--persistent-kernel": [Sample("persistent_kernel", ADAM + ("--target=sim",),
                                   "--persistent-kernel=auto")],
    "--gradient-stream": [Sample("gradient_stream", ADAM + ("--target=sim",),
                                 "--gradient-stream=on")],
    "--unroll-scans": [Sample("scans", LSTM, "--unroll-scans=0")],
    "--precision": [Sample("precision", ADAM, "--precision=bf16")],
    "--keep-fp32": [Sample("keep_fp32", ADAM + ("--precision=bf16",), "--keep-fp32=.*")],
    "--precision-plan": [Sample("ops_of_other_precision", ADAM + ("--precision=bf16",),
                                "--precision-plan=@PLAN")],
    "--lockfile": [Sample("decisions", NORM, "--lockfile=@LOCK")],
    "--loss-scale": [Sample("loss_scale", ADAM, "--loss-scale=128")],
    "--place": [Sample("place", ADAM + ("--target=sim",), "--place=.*=sim:0")],
    "--allow-cpu": [Sample("allow_cpu", ADAM + ("--target=sim",), "--allow-cpu=.")],
    "--workspace": [Sample("workspace", ADAM, "--workspace=1MiB")],
    "--deterministic": [Sample("deterministic", ADAM, "--deterministic=arch"),
                        Sample("deterministic", ADAM, "--deterministic=none")],
}
FILES = "names a file that is written"
PRINTS = "only prints or checks"
SAME_BITS = "gives the same bits"
SAME = {
    "--output": FILES, "--emit": FILES, "--name": "names symbols",
    "--unchecked-indices": "only refuses less", "--state": "is for inference",
    "--check": PRINTS, "--train": "makes the trainer", "--gpu-arch": SAME_BITS,
    "--cubin": SAME_BITS,
    "--save-precision-plan": FILES,
    "--quantize": "is for inference", "--fast-convolutions": "is for inference",
    "--calibrate": "acts as --precision-plan: ops_of_other_precision",
    "--log-placement": PRINTS, "--list-devices": PRINTS, "--memory-limit": SAME_BITS,
    "--remat": SAME_BITS, "--allow-microbatch": "split_batch; see micro_batches.py",
    "--require": PRINTS, "--stop-after": FILES, "--dump-phases": FILES, "--trace": FILES,
    "--remarks": FILES, "--time-report": PRINTS, "-O": SAME_BITS, "-W": PRINTS,
    "-j": SAME_BITS, "--verbose": PRINTS, "--help": PRINTS, "--version": PRINTS,
    "--verify": PRINTS, "--tune": "writes what --lockfile then reads", "--tune-time": FILES,
    "--log-norms": SAME_BITS,
}


def options():
    """Option -> group, as the help of sinterc has them."""
    found, group = {}, ""
    text = subprocess.run(["sinterc", "--help"], capture_output=True, text=True, check=True)
    for line in text.stdout.split("\nWarnings of -W:")[0].splitlines():
        if re.fullmatch(r"\w[\w ]*:", line):
            group = line[:-1]
        elif flag := re.match(r"  (?:-\w,)?(--[\w-]+|-\w)", line):
            found[flag.group(1)] = group
    return found


class NotCompiled(Exception):
    pass


class Runs:
    """Trainers and runs, each made once."""

    def __init__(self, folder, models):
        self.folder, self.models, self.made = folder, models, {}

    def path(self, *name):
        return os.path.join(self.folder, *name)

    def expand(self, flags):
        return [flag.replace("@MODELS", self.models).replace("@PLAN", self.path("plan.json"))
                .replace("@LOCK", self.path("lock.json")) for flag in flags]

    def sinterc(self, model, flags, *more):
        command = ["sinterc", os.path.join(self.models, model + ".onnx"), "--train",
                   *self.expand(flags), *more]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NotCompiled(f"{' '.join(command)}: {done.stderr}")

    def make(self, model, flags, kind, build):
        key = (kind, model, *flags)
        if key not in self.made:
            self.made[key] = self.path(f"{kind}{len(self.made)}")
            build(self.made[key])
        return self.made[key]

    def trainer(self, model, flags):
        return self.make(model, flags, "trainer",
                         lambda path: self.sinterc(model, flags, "-o", path))

    def description(self, model, flags):
        """What a trainer says of its compilation."""
        info = subprocess.run([self.trainer(model, flags), "info", "--json"],
                              capture_output=True, text=True, check=True)
        info = json.loads(info.stdout)
        return {**info["manifest"]["training"], "precision": info["manifest"]["precision"],
                "batch": info["batch"], **{key.replace("-", "_"): value for key, value
                                           in info["overridable"].items()}}

    def ir(self, model, flags):
        path = self.make(model, flags, "ir", lambda path: self.sinterc(
            model, flags, "--stop-after=train", "-o", path))
        with open(path, encoding="utf-8") as file:
            return file.read()

    def run(self, model, flags):
        """The folder of a run of one step."""
        data = os.path.join(self.models, model + "-data.npz")
        return self.make(model, flags, "run", lambda path: subprocess.run(
            [self.trainer(model, flags), "--data=npz:" + data, "--steps=1", "--quiet",
             "--out=" + path], check=True, capture_output=True))

    def resumed(self, sample):
        """What the changed trainer says when it resumes the run of the other one."""
        folder = self.path("resumed")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.run(sample.model, sample.base), folder)
        done = subprocess.run(
            [self.trainer(sample.model, sample.changed()), "--resume", "--steps=2", "--quiet",
             "--allow-changed-recipe", "--out=" + folder], capture_output=True, text=True)
        return done.returncode, done.stderr

    def problem(self, sample, trains):
        """What is wrong with the sample; "" if nothing."""
        model, base, changed = sample.model, sample.base, sample.changed()
        before, after = (self.description(model, flags) for flags in (base, changed))
        if before.get(sample.key) == after.get(sample.key):
            return f"the manifest does not tell {sample.key}: {after.get(sample.key)}"
        if trains and sample.changesIr and self.ir(model, base) == self.ir(model, changed):
            return "the program is the same"
        if not sample.runs:
            return ""
        code, said = self.resumed(sample)
        if sample.refused and code == 2 and sample.refused in said:
            return ""
        if code == 0 and f"resume: compiled with {sample.key} " in said:
            return ""
        return f"resuming ends with {code} and says:\n{said}"


def writePlan(runs):
    """A precision plan that keeps all ops in fp32."""
    path = runs.path("plan.json")
    runs.sinterc(ADAM[0], [*ADAM[1:], "--precision=bf16"], "-o", runs.path("planned"),
                 "--save-precision-plan=" + path)
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    for op in plan["ops"]:
        op["precision"] = "fp32"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(plan, file)


def writeLock(runs):
    """A lock file with another answer to each question whose answer may change bits."""
    path = runs.path("lock.json")
    runs.sinterc(NORM[0], NORM[1:], "-o", runs.path("locked"), "--lockfile=" + path)
    with open(path, encoding="utf-8") as file:
        lock = json.load(file)
    for decision in lock["decisions"]:
        if decision["what"] == "layout":
            decision["answer"] = next(answer for answer in decision["possible"]
                                      if answer != decision["answer"])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(lock, file)


def main():
    runs = Runs(*sys.argv[1:3])
    known = options()
    failed = 0
    for option in sorted(known.keys() | SAMPLES.keys() | SAME.keys()):
        rows = (option in SAMPLES) + (option in SAME)
        if option not in known or rows != 1:
            print(f"{option}: " + ("needs one row in recipe_options.py" if option in known
                                   else "sinterc has no such option"))
            failed += 1
    writePlan(runs)
    writeLock(runs)
    for option, samples in SAMPLES.items():
        for sample in samples:
            try:
                problem = runs.problem(sample, known.get(option) == "Training")
            except NotCompiled as error:
                problem = str(error)
            failed += problem != ""
            if problem:
                print(f"{option}, {' '.join(sample.more)}: {problem}")
    print(f"{sum(map(len, SAMPLES.values()))} samples, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
