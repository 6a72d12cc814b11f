"""The files of a checkout, as the checks see them.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import os

# Folders that hold no sources of ours.
SKIPPED = {".git", "build", ".venv", "__pycache__", ".cache"}
SOURCES = (".h", ".cpp", ".c", ".td")


class Tree:
    """Paths are relative to the root, with '/'."""

    def __init__(self, root):
        self.root = root
        self.files = []
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED)
            relative = os.path.relpath(folder, root)
            for name in sorted(names):
                self.files.append(os.path.normpath(os.path.join(relative, name)))
        self._texts = {}

    def sources(self, *suffixes):
        """The files with one of these suffixes (default: C, C++ and TableGen)."""
        return [f for f in self.files if f.endswith(suffixes or SOURCES)]

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8",
                      errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]
