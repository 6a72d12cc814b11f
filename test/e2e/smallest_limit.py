"""Checks that the memory limit that sinterc calls the smallest works, and one byte less does not.

    smallest_limit.py MODELS WORK

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os
import re
import subprocess
import sys

PROGRAMS = [
    "train-bert-adamw.onnx --train --batch=8 --optimizer=adamw",
    "train-depthwise-sgd.onnx --train --batch=8 --momentum=0.9 --workspace=0",
    "train-encoder-adamw.onnx --train --batch=8 --optimizer=adamw --target=sim --workspace=0",
    "train-gpt2-lm.onnx --train --batch=8 --loss=cross-entropy:axis=-1,ignore_index=-100 --target=sim"
    " --libraries=none",
    "train-cnn-adam.onnx --train --batch=16 --remat=none --workspace=0",
    "train-cnn-adam.onnx --train --batch=64 --allow-microbatch --workspace=0",
    "lenet.onnx --batch=4 --workspace=0",
]


def main():
    models, work = sys.argv[1:]
    failed = 0
    for program in PROGRAMS:
        model, *options = program.split()

        def compiled(limit):
            done = subprocess.run(["sinterc", os.path.join(models, model), *options, f"--memory-limit={limit}",
                                   "-o", os.path.join(work, "program")], capture_output=True, text=True)
            named = re.findall(r"smallest limit(?: that fits)? is (\d+) bytes", done.stderr)
            errors = done.stderr.count("error:")
            return done.returncode, int(named[-1]) if named else 0, errors

        code, smallest, errors = compiled(1024)
        # From every limit the same one is named, in one line.
        results = [(code, smallest, errors), compiled(smallest - 1), compiled(smallest * 3 // 4)]
        good = compiled(smallest)
        if smallest == 0 or results != [(6, smallest, 1)] * 3 or (good[0], good[2]) != (0, 0):
            failed += 1
            print(f"{program}: {results}, at {smallest}: {good}")
    print(f"{len(PROGRAMS) - failed} passed, {failed} failed")


main()
