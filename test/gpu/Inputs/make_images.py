#!/usr/bin/env python3
"""make_images.py FOLDER COUNT: files as Fashion-MNIST's, whose classes are easy: which part is bright.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import gzip
import os
import random
import struct
import sys

generator = random.Random(1)
os.makedirs(sys.argv[1])
for name, count in (("train", int(sys.argv[2])), ("t10k", 64)):
    labels = bytes(generator.randrange(10) for _ in range(count))
    images = b"".join(bytes(generator.randrange(100) + 80 * (i // 79 == label) for i in range(784))
                      for label in labels)
    for kind, shape, data in (("images-idx3", (count, 28, 28), images),
                              ("labels-idx1", (count,), labels)):
        head = struct.pack(f">4B{len(shape)}I", 0, 0, 8, len(shape), *shape)
        with gzip.open(os.path.join(sys.argv[1], f"{name}-{kind}-ubyte.gz"), "wb") as file:
            file.write(head + data)
