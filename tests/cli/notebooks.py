"""The notebooks of examples/notebooks run from the first cell to the last, and show pictures.

    notebooks.py LIBRARY ROOT [FOLDER]     exit status 77: nbclient, ipykernel or matplotlib is missing

FOLDER: where their pictures are kept, to be looked at.
"""
import base64
import importlib.util
import os
import sys
import tempfile

MISSING = [name for name in ("nbclient", "nbformat", "ipykernel", "matplotlib") if not importlib.util.find_spec(name)]
if MISSING:
    print(f"no {', '.join(MISSING)}")
    sys.exit(77)

import nbclient  # noqa: E402
import nbformat  # noqa: E402

from runs import check, finish  # noqa: E402

LIBRARY, ROOT = (os.path.abspath(word) for word in sys.argv[1:3])
KEPT = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
PICTURES = {"micrograph_to_volume": 3, "ensemble_error_bars": 3, "properties": 2, "surrogate": 1}
os.environ.update(MESOFORGE_LIBRARY=LIBRARY, OMP_NUM_THREADS="1",
                  PYTHONPATH=os.pathsep.join([os.path.join(ROOT, "python"), os.environ.get("PYTHONPATH", "")]))


def pictures(book):
    for cell in book.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                yield base64.b64decode(data["image/png"])


def execute(name):
    book = nbformat.read(os.path.join(ROOT, "examples/notebooks", f"{name}.ipynb"), as_version=4)
    check(all(not cell.get("outputs") for cell in book.cells), f"{name}: it is stored with outputs")
    with tempfile.TemporaryDirectory() as folder:
        try:
            nbclient.NotebookClient(book, timeout=200, kernel_name="python3",
                                    resources={"metadata": {"path": folder}}).execute()
        except nbclient.exceptions.CellExecutionError as error:
            check(False, f"{name}: {error}")
    made = list(pictures(book))
    check(len(made) == PICTURES[name] and all(one.startswith(b"\x89PNG") for one in made),
          f"{name}: {len(made)} pictures, not {PICTURES[name]}")
    for k, one in enumerate(made if KEPT else []):
        with open(os.path.join(KEPT, f"{name}-{k}.png"), "wb") as file:
            file.write(one)


for notebook in PICTURES:
    execute(notebook)
finish("notebooks")
