"""Writes a data file whose labels are the arg-max of a model's output.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    predictions.py OUTPUTS.npz NAME DATA.npz RESULT.npz

RESULT holds the arrays of DATA, its `labels` replaced. A trainer that evaluates it
reaches accuracy 1 exactly when it predicts the same classes.
"""

import os
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "tools", "scripts"))
from npz import npyBytes, readNpz


outputs, name, data, result = sys.argv[1:]
scores = readNpz(outputs)[name]
classes = scores.shape[-1]
labels = []
for row in range(len(scores.values) // classes):
    values = scores.values[row * classes:(row + 1) * classes]
    labels.append(values.index(max(values)))
with zipfile.ZipFile(data) as source, zipfile.ZipFile(result, "w") as target:
    for member in source.namelist():
        if member != "labels.npy":
            target.writestr(member, source.read(member))
    target.writestr("labels.npy", npyBytes("<i8", [len(labels)],
                                           struct.pack(f"<{len(labels)}q", *labels)))
