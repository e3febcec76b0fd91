"""Trained models: pictures of a training. usage: learn.py MESOFORGE MPIEXEC"""
import os
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
TRAIN = {"classify": ("--arch", "cnn", "--width", 4, "--depth", 2), "regress": ("--arch", "mlp", "--width", 8, "--target", "volume_fraction", "length")}


def run(*words, **more):
    return runs.run(program, *words, mpiexec=mpiexec, **more)


def good(*words, **more):
    done = run(*words, **more)
    check(done.status == 0, f"{words}: {done}")
    return done


def refused(status, said, *words, **more):
    done = run(*words, **more)
    check(done.status == status and said in done.err, f"{words}: not refused with {status} and '{said}': {done}")


def train(kind, folder, *more, **others):
    return good("train", kind, "--data", "set.h5", *TRAIN[kind], "--epochs", 2, "--effective-batch", 16, "--results-dir", folder, *more, **others)


def pictures_of(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".png"))


def is_picture(path):
    with open(path, "rb") as file:
        check(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{path} is no picture")


def draws_a_training():
    train("classify", "class")
    train("regress", "real", ranks=2)
    check(pictures_of("class") == ["confusion.png", "training.png"], f"pictures: {pictures_of('class')}")
    check(pictures_of("real") == ["predicted.png", "training.png"], f"pictures: {pictures_of('real')}")
    for name in ("class/confusion.png", "class/training.png", "real/predicted.png", "real/training.png"):
        is_picture(name)
    train("classify", "bare", "--no-plots")
    check(pictures_of("bare") == [], f"--no-plots draws {pictures_of('bare')}")
    train("classify", "bare", "--information", "b")
    check(pictures_of("bare") == ["model_b.confusion.png", "model_b.training.png"], f"pictures of another model: {pictures_of('bare')}")


def replaces_no_picture():
    os.mkdir("owned")
    with open("owned/confusion.png", "w") as file:
        file.write("mine")
    words = ("train", "classify", "--data", "set.h5", *TRAIN["classify"], "--epochs", 1, "--results-dir", "owned")
    refused(7, "owned/confusion.png", *words)
    good(*words, "--no-plots")
    with open("owned/confusion.png") as file:
        check(file.read() == "mine", "a picture of somebody else is replaced")


def ends_without_a_picture():
    """A picture that cannot be written costs a warning, a model that cannot costs the run."""
    drawn = 0
    for visit in range(1, 6):
        words = ("train", "classify", "--data", "set.h5", *TRAIN["classify"], "--epochs", 1, "--results-dir", f"late{visit}")
        done = run(*words, fault=f"io.create:visit={visit}")
        drawn += done.err.count("no picture")
        check(done.status == (0 if "no picture" in done.err or "injected" not in done.err else 7), f"visit {visit}: {done}")
        check(done.status != 0 or os.path.exists(f"late{visit}/model.safetensors"), f"visit {visit}: there is no model")
    check(drawn == 2, f"{drawn} pictures could not be written")


good("synth", "--num-samples", 60, "--size", 16, 16, "--kinds", "gaussian", "lamellae", "checkerboard", "--output", "set.h5")
draws_a_training()
replaces_no_picture()
ends_without_a_picture()
finish("learn")
