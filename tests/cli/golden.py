"""Reading golden files: what nobody looked at is known afterwards."""
import hashlib
import json
import os
import subprocess

import numpy as np

PLAIN = {"file", "synth", "sha256", "shape", "dtype", "fortran_order", "definition", "mcrpy", "multiphase", "phi_half", "phase", "field",
         "L", "loss", "weights", "types", "phases", "levels", "periodic"}  # what a value is of, and no value


class Part(dict):
    """A part of a file whose members are noted as they are read."""

    def __init__(self, members):
        super().__init__({k: Part(v) if isinstance(v, dict) else [Part(x) if isinstance(x, dict) else x for x in v] if isinstance(v, list) else v
                          for k, v in members.items()})
        self.read = set()

    def __getitem__(self, key):
        self.read.add(key)
        return super().__getitem__(key)

    def items(self):
        return [(k, self[k]) for k in self]

    def unread(self, place=""):
        """Names of values that were not read."""
        left = []
        for key in self:
            value = super().__getitem__(key)
            for i, part in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(part, Part):
                    left += part.unread(f"{place}/{key}[{i}]" if isinstance(value, list) else f"{place}/{key}")
                elif i == 0 and key not in self.read and key not in PLAIN:
                    left.append(f"{place}/{key}")
        return left


def files(folder):
    """Name and contents of every golden file in a folder."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                yield name, Part(json.load(file))


def folders(where):
    """Of published values, where they lie, and of those that the micrographs of synth have (tests/data)."""
    return [f for f in (os.path.join(where, "golden"), os.path.join(where, "golden", "mcrpy-0.2.0")) if os.path.isdir(f)]


def image(values, where, program, place):
    """The path of the field that a file is of; one that synth makes is made, and must be the one that the values are of."""
    if "synth" not in values:
        return os.path.join(where, "data", "mcrpy", values["file"])
    path = os.path.join(place, values["file"])
    if not os.path.exists(path):
        subprocess.run([program, "synth", *values["synth"], "--output", path], check=True, capture_output=True)
        labels = np.load(path)
        if hashlib.sha256(labels.astype("u1").tobytes()).hexdigest() != values["sha256"]:
            raise SystemExit(f"synth {' '.join(values['synth'])} makes another micrograph than the golden values are of (tests/data/definitions.py)")
        np.save(path, np.asfortranarray(labels.astype("i8"))) # as some authors save theirs
    return path
