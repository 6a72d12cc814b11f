"""Changes one byte of the first array of an npz file, near its end.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    change_byte.py FILE.npz
"""

import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as archive:
    members = {name: archive.read(name) for name in archive.namelist()}
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for i, (name, data) in enumerate(members.items()):
        if i == 0:
            data = data[:-4] + bytes([data[-4] ^ 1]) + data[-3:]
        archive.writestr(name, data)
