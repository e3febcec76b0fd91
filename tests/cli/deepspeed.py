"""Configurations of DeepSpeed as they stand: every key becomes an option, is what happens anyway, or is refused; all that are refused stand in one
sentence. A given option that says otherwise is named beside the key. The training is that of the same options.
usage: deepspeed.py MESOFORGE MPIEXEC"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
os.chdir(tempfile.mkdtemp())
WHOLE = {
    "train_batch_size": 24, "train_micro_batch_size_per_gpu": 6, "gradient_accumulation_steps": 2, "gradient_clipping": 0.5, "steps_per_print": 100,
    "zero_optimization": {
        "stage": 1, "overlap_comm": True, "contiguous_gradients": True, "reduce_scatter": True, "reduce_bucket_size": 2e8, "allgather_bucket_size": 2e8,
        "round_robin_gradients": True, "offload_optimizer": {"device": "none", "pin_memory": True}},
    "optimizer": {"type": "AdamW", "params": {"lr": 5e-5, "betas": [0.8, 0.99], "eps": 1e-7, "weight_decay": 0.02}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 0.002, "warmup_num_steps": 3, "total_num_steps": 6}},
    "activation_checkpointing": {"partition_activations": True, "contiguous_memory_optimization": True},
    "fp16": {"enabled": False, "anything": 1}, "bf16": {"enabled": "auto"}, "wall_clock_breakdown": False}
SAME = ("--effective-batch", 24, "--batch-size", 6, "--accumulation-steps", 2, "--clip", 0.5, "--zero", 1, "--optimizer", "adamw", "--learning-rate", 0.002,
        "--beta-1", 0.8, "--beta-2", 0.99, "--epsilon", 1e-7, "--weight-decay", 0.02, "--schedule", "warmup-decay", "--warmup", 3, "--warmup-shape", "log",
        "--max-steps", 6, "--recompute", "blocks", "--offload", "none")
SMALL = ("--data", "set.h5", "--arch", "mlp", "--width", 16, "--no-plots", "--no-events")
run, _ = runs.tools(program, mpiexec)


def write(config):
    with open("ds.json", "w") as file:
        json.dump(config, file)


def options(config, *words, verb=("train", "classify")):
    """What --print-config says: option, then value and origin."""
    write(config)
    done = run(*verb, "--deepspeed", "ds.json", "--print-config", *words)
    check(done.status == 0, f"{config}: {done}")
    lines = [line.split(": ", 1) for line in done.out.splitlines() if not line.startswith("#")]
    return {word: value.strip() for word, value in lines}


def has(config, wanted, *words):
    got = options(config, *words)
    for word, value in wanted.items():
        check(got.get(word) == value, f"{config}: {word} is {got.get(word)}, not {value}")
    return got


def whole():
    got = has(WHOLE, {"effective-batch": "24  # train_batch_size", "learning-rate": "0.002  # scheduler.params.warmup_max_lr", "beta-2": "0.99  # optimizer.params.betas[1]",
                      "warmup-shape": '"log"  # scheduler.params.warmup_type', "zero": '"1"  # zero_optimization.stage'})
    for word, value in zip(SAME[::2], SAME[1::2]):
        said = got.get(word[2:], "").split("  # ")[0].strip('"')
        check(said == str(value) or float(said) == float(value), f"{word}: {said}, not {value}")
    check(got["partition-activations"] == "true  # activation_checkpointing.partition_activations", f"pieces: {got}")
    check(len(got) == len(SAME) // 2 + 2, f"and nothing else: {got}")
    check(options(WHOLE, verb=("plan", "train")) == got, "plan train takes the same")


def meanings():
    has({"optimizer": {"type": "Adam"}}, {"optimizer": '"adamw"  # optimizer.type', "weight-decay": "0  # optimizer.params.weight_decay", "clip": "0  # gradient_clipping"})
    has({"optimizer": {"type": "Adam", "params": {"adam_w_mode": False}}}, {"optimizer": '"adam"  # optimizer.type'})
    has({"optimizer": {"type": "SGD", "params": {"lr": 0.1}}}, {"momentum": "0  # optimizer.params.momentum", "learning-rate": "0.1  # optimizer.params.lr"})
    got = has({"scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear"}}},
              {"schedule": '"constant"  # scheduler.type', "warmup": "1000  # scheduler.params.warmup_num_steps", "warmup-shape": '"linear"  # scheduler.params.warmup_type'})
    check("learning-rate" not in got, f"left open: {got}")
    got = options({"train_batch_size": "auto", "gradient_clipping": "auto", "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "weight_decay": "auto"}},
                   "zero_optimization": "auto"})
    check(set(got) == {"optimizer", "deepspeed"}, f"auto leaves the choice to the program: {got}")
    has({"zero_optimization": {"stage": 3}}, {"zero": '"3"  # zero_optimization.stage'})
    has({"zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1e9}}, {"zero": '"3"  # zero_optimization.stage'})
    has({"zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu", "pin_memory": True}}, "activation_checkpointing": {"cpu_checkpointing": True}},
        {"offload": '"optimizer"  # zero_optimization.offload_optimizer.device', "spill-activations": "true  # activation_checkpointing.cpu_checkpointing"})
    scale = {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 20, "hysteresis": 3, "min_loss_scale": 1}
    got = has({"fp16": scale}, {"loss-scale": "1048576  # fp16.initial_scale_power"})
    check("precision-type" not in got and "loss-scale-window" not in got, f"left to the program: {got}")
    has({"fp16": {**scale, "enabled": True}}, {"precision-type": '"fp16"  # fp16.enabled', "loss-scale-hysteresis": "3  # fp16.hysteresis",
                                                 "loss-scale-window": "1000  # fp16.loss_scale_window"})
    has({"bf16": {"enabled": True}, "fp16": {"enabled": False}}, {"precision-type": '"bf16"  # bf16.enabled'})
    refused({"fp16": {"enabled": True}, "bf16": {"enabled": True}}, 2, "ds.json: bf16.enabled bf16 and fp16.enabled fp16 contradict each other")
    has({"tensorboard": {"enabled": False}}, {"no-events": "true  # tensorboard.enabled"})
    check(set(options({"train_batch_size": None, "gradient_clipping": None})) == {"clip", "deepspeed"}, "null is as if the key were missing")
    has({"gradient_clipping": 2}, {"clip": "2  # flag"}, "--clip", "2.0")
    has({}, {"clip": "3  # flag"}, "--clip", 3)


def refused(config, status, says, *words, ranks=1):
    write(config)
    done = run("train", "classify", *SMALL, "--deepspeed", "ds.json", *words, ranks=ranks)
    check(done.status == status and says in done.err and done.err.count("mesoforge: ") == 1, f"{config} {words}: {done}")


def refusals():
    many = {"train_batch_size": 8, "zero_optimization": {"stage": 1, "stag": 2, "offload_param": {"device": "nvme"}}, "compression_training": {"x": {}},
            "scheduler": {"type": "OneCycle", "params": {"warmup_min_lr": 1e-6}}, "optimizer": {"type": "Lamb", "params": {"betas": [0.9, 0.99, 0.999]}}}
    refused(many, 2, "ds.json: not supported: zero_optimization.stag, zero_optimization.offload_param.device nvme, compression_training, scheduler.type OneCycle, "
            "scheduler.params.warmup_min_lr 1e-06, optimizer.type Lamb, optimizer.params.betas[2]; docs/LEARNING.md has", "--effective-batch", 9)
    refused({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 2}, 2,
            "--batch-size 8 x --accumulation-steps 2 x 2 ranks is 32, and --effective-batch is 64; leave one of them out "
            "(ds.json: train_batch_size, train_micro_batch_size_per_gpu, gradient_accumulation_steps)", ranks=2)
    refused({"gradient_clipping": 1}, 2, "ds.json: gradient_clipping 1 and --clip 2 contradict each other", "--clip", 2)
    refused({"gradient_clipping": "much"}, 2, "ds.json: gradient_clipping must be a number, not 'much'")
    refused({"train_batch_size": 0.5}, 2, "ds.json: train_batch_size must be an integer, not '0.5'")
    refused({"train_batch_size": 0}, 2, "--effective-batch 0: it must be from 1 to 1048576 (ds.json: train_batch_size)")
    refused({"optimizer": {"type": "Adam", "params": {"betas": [0.9, 1.5]}}}, 2, "(ds.json: optimizer.params.betas[1])")
    refused({"optimizer": {"type": "Adam", "params": {"betas": [0.9]}}}, 2, "not supported: optimizer.params.betas of fewer than two numbers;")
    refused({f"key{i}": i for i in range(3000)}, 2, ", key19 and 2980 more; docs/LEARNING.md has")
    refused([1], 3, "'ds.json' is no configuration of DeepSpeed: it has an array")
    with open("broken.json", "w") as file:
        file.write('{"train_batch_size": 3,')
    for path, says in (("broken.json", "'broken.json' is not JSON"), ("nowhere.json", "cannot open 'nowhere.json'")):
        done = run("train", "classify", *SMALL, "--deepspeed", path, ranks=2)
        check(done.status == 3 and says in done.err and len(done.err.splitlines()) == 1, f"{path}: {done}")
    write(many)
    done = run("launch", "--dry-run", "--launcher", "mpirun", "--ntasks", 2, "--", "train", "classify", *SMALL, "--deepspeed", "ds.json")
    check(done.status == 2 and "not supported: zero_optimization.stag" in done.err, f"before a job begins: {done}")


def trains():
    with open("marked.json", "w", encoding="utf-8-sig") as file:
        json.dump({"scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 0.001}}}, file)
    done = run("train", "classify", *SMALL, "--results-dir", "short", "--max-steps", 2, "--deepspeed", "marked.json")
    check(done.status == 0 and "rises for 1000 steps, and the run has 2: it never reaches 0.001" in done.err, f"{done}")
    write(WHOLE)
    done = run("train", "classify", *SMALL, "--results-dir", "theirs", "--deepspeed", "ds.json", ranks=2)
    check(done.status == 0 and "without effect here: steps_per_print, zero_optimization.overlap_comm" in done.err, f"{done}")
    done = run("train", "classify", *SMALL, "--results-dir", "ours", *SAME, ranks=2)
    check(done.status == 0, f"{done}")
    check(runs.weights("theirs/model.safetensors") == runs.weights("ours/model.safetensors"), "the same training as with the same options")


done = run("synth", "--num-samples", 60, "--size", 16, 16, "--output", "set.h5")
check(done.status == 0, f"{done}")
whole()
meanings()
refusals()
trains()
finish("deepspeed")
