"""Compares the default values in `sinterc --help` with those of compiled trainers.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    defaults.py FOLDER MODEL
"""

import json
import os
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def defaults(text):
    """"...; default A; adagrad, lion: B" as {"": A, "adagrad": B, "lion": B}."""
    found, values = False, {}
    for part in text.split("; "):
        if part.startswith("default "):
            found, values[""] = True, float(part.removeprefix("default "))
        elif found:
            names, value = part.split(": ")
            values.update(dict.fromkeys(names.split(", "), float(value)))
    return values


def main():
    folder, model = sys.argv[1:]
    text = run("sinterc", "--help")
    options = dict(re.findall(r"^ +--(lr|momentum|weight-decay|beta1|beta2|eps)=X +(.+)$", text, re.M))
    optimizers = re.search(r"--optimizer=(\S+)", text).group(1).split("|")
    trainer, compared = os.path.join(folder, "trainer"), 0
    for optimizer in optimizers:
        run("sinterc", model, "-o", trainer, "--train", "--batch=2", "--optimizer=" + optimizer)
        info = json.loads(run(trainer, "info", "--json"))
        values = info["overridable"] | info["manifest"]["training"]
        for option, meaning in options.items():
            if option not in values:
                continue
            value, expected = float(values[option]), defaults(meaning)
            if abs(value - expected.get(optimizer, expected[""])) > 1e-6 * abs(value):
                sys.exit(f"{optimizer}: --{option} is {value}; --help: {meaning}")
            compared += 1
    print(f"{compared} values of {len(optimizers)} optimizers are those of --help")


main()
