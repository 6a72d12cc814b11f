"""Changes one byte of the first array of an npz file, so many before its end.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

    change_byte.py FILE.npz COUNT
"""

import sys
import zipfile

path, count = sys.argv[1], int(sys.argv[2])
with zipfile.ZipFile(path) as archive:
    members = {name: archive.read(name) for name in archive.namelist()}
with zipfile.ZipFile(path, "w") as archive:
    for i, (name, data) in enumerate(members.items()):
        if i == 0:
            data = bytearray(data)
            data[-count] ^= 1
        archive.writestr(name, bytes(data))
