"""For the scripts' tests: a small tree of files in a folder of its own."""
import contextlib
import os
import tempfile


@contextlib.contextmanager
def tree(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        yield root
