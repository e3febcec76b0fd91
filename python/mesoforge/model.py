"""Models that stay loaded between calls."""

from __future__ import annotations

import json
import os
import weakref
from typing import Any, Sequence

import numpy as np

from .errors import InputError, UsageError
from .library import byref, c_void_p, encoded, lib
from .result import Path, Result
from .session import _ALL_VALUES, Progress, Session, _quoted, _words, default


class Made(Result):
    """What a model makes: `array` are its samples. `arrays` has also "class" and "condition" where it knows them."""

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The first of `arrays`."""
        return next(iter(self.arrays.values()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.array, dtype)


class Texts(Result):
    """What a language model continues: `texts` behind the prompts, without them."""

    @property
    def texts(self) -> list[str]:
        """A text for each prompt. `figures["results"]` has its tokens, too."""
        return [one.get("text", "") for one in self.figures["results"]]


class Predictions(Made):
    """What a model says of images: `array` [image][output] has probabilities or values, `outputs` the names of its
    columns, and `said` a dictionary for each image, as infer() gives it. Of questions it has one for each answer."""

    outputs: list[str] = []

    @property
    def said(self) -> list[dict[str, Any]]:
        """What the program prints of each image."""
        found: list[dict[str, Any]] = self.figures.get("predictions") or self.figures["answers"]
        return found


def _free(session: Session, handle: c_void_p, process: int) -> None:
    if session._handle is None or os.getpid() != process:
        return
    if lib.mesoforge_model_free(session._handle, handle):
        session._left_models.append(handle)  # the session is in a call, behind which it frees the model


class Model:
    """A trained model that is read once. Its weights stay in memory until close().

    path: a model file of train(). options: those of the model, as batch_size=16. `facts` says what it reads and
    returns, `bytes` how much memory it has, and `map` where its parts are. With ranks, all of them close it.

    >>> import os, tempfile, numpy, mesoforge
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = os.path.join(folder.name, "set.h5")
    >>> session = mesoforge.Session(trust_files=True, threads=1)
    >>> made = mesoforge.synth(num_samples=40, size=[16, 16], output=data, session=session)
    >>> trained = mesoforge.train("regress", data, target=["volume_fraction"], epochs=1, arch="mlp",
    ...                           results_dir=folder.name, session=session)
    >>> with Model(os.path.join(folder.name, "model.safetensors"), session=session) as model:
    ...     said = model.predict(numpy.zeros((3, 16, 16), "u1"), labels=[0, 1])
    >>> said.array.shape, said.outputs
    ((3, 1), ['volume_fraction'])
    >>> folder.cleanup()
    """

    def __init__(self, path: Path, *, session: Session | None = None, **options: Any) -> None:
        handle = c_void_p()
        self._session = session or default()
        self._finalizer: Any = None
        with self._session._call_of(None):
            try:
                self._session._ask(lib.mesoforge_model_load, encoded(path, "the path"), _words(options), byref(handle))
            except BaseException:  # also of a signal that came late: then the model is loaded
                if handle and self._session._alone:
                    self._session._left_models.append(handle)
                raise
        self._handle: c_void_p | None = handle
        self.facts: dict[str, Any] = json.loads(lib.mesoforge_model_json(handle))
        # Whoever has ranks closes it on all of them.
        if self._session._alone:
            self._finalizer = weakref.finalize(self, _free, self._session, handle, os.getpid())

    def __reduce_ex__(self, _: object) -> Any:
        raise UsageError("a model is memory of this process, and cannot be pickled or copied", "its path, loaded there")

    def __repr__(self) -> str:
        return f"Model({self.facts['model']!r}, {self.facts['verb']!r})"

    @property
    def bytes(self) -> int:
        """Memory of the model on this rank."""
        return sum(self.facts["bytes"].values())

    @property
    def map(self) -> dict[str, str]:
        """The place of each part: "cpu", "cuda", or "rank:1" of a pipeline. The part "" is the whole model."""
        places: dict[str, str] = self.facts["map"]
        return places

    def _open(self) -> c_void_p:
        self._session._open()
        if self._handle is None:
            raise UsageError("the model is closed")
        return self._handle

    def predict(self, *images: Any, progress: Progress = None, **options: Any) -> Predictions:
        """Asks about images [y][x], stacks of them [n][y][x], or volumes in the same way; paths are files.

        options: those of `mesoforge infer` about images, as threshold="otsu", labels=[0, 255]. progress: as of match().
        """
        if any(np.ma.is_masked(image) for image in images):
            raise InputError("a model reads whole images, and the array is masked", _ALL_VALUES)

        def ask(session: c_void_p, words: Any, text: Any, result: Any) -> int:
            code: int = lib.mesoforge_model_predict(session, self._open(), words, text, result)
            return code

        with self._session._call_of(progress):
            said = self._session._call_on(ask, images, options, Predictions)
        said.outputs = self.facts["outputs"]
        return said

    def generate(
        self, what: int | str | Sequence[str] = 1, *, progress: Progress = None, **options: Any
    ) -> Made | Texts:
        """So many samples of a model of train("unet", ..), or the texts that continue one or several prompts.

        options: those of `mesoforge generate` about samples, as seed=3, first=100, condition=["volume_fraction=0.3"],
        or those of `mesoforge infer text-generation`, as max_new_tokens=40, temperature=0.7.
        """
        prompts = [what] if isinstance(what, str) else None if isinstance(what, (int, np.integer)) else list(what)
        words = encoded(" ".join(_quoted(prompt) for prompt in prompts or ()), "a prompt")
        if prompts is None and "family" in self.facts:
            raise UsageError("a language model continues texts", 'generate("The pore network")')
        if prompts is None:
            options["num_samples"] = what

        def ask(session: c_void_p, _: Any, text: Any, result: Any) -> int:
            code: int = lib.mesoforge_model_generate(session, self._open(), words, text, result)
            return code

        with self._session._call_of(progress):
            if prompts is None:
                return self._session._call_on(ask, (), options, Made)
            return self._session._call_on(ask, (), options, Texts)

    def close(self) -> None:
        """Frees the memory; results stay."""
        if self._handle is None:
            return
        if self._session._handle is not None:  # a session ends its models
            with self._session._call_of(None):
                self._session._ask(lib.mesoforge_model_free, self._handle)
        if self._finalizer:
            self._finalizer.detach()
        self._handle = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load_model(path: Path, *, session: Session | None = None, **options: Any) -> Model:
    """Loads a model: Model(path), by another name."""
    return Model(path, session=session, **options)
