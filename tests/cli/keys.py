"""Configurations of the guide to multi-GPU training as they stand, and its options: sections, wishes that a plan replaces, where each value comes from.
usage: keys.py MESOFORGE MPIEXEC"""
import json
import os
import sys
import tempfile

import runs
from runs import check, finish

program, mpiexec = (os.path.abspath(a) if os.path.exists(a) else a for a in sys.argv[1:3])
EXAMPLES = os.path.abspath(os.path.dirname(__file__) + "/../../examples")
os.chdir(tempfile.mkdtemp())
WHOLE = """
data:
  mimic_cxr_jpg_path: "/path/to/images"
  quality_grade: "A"  # of the questions
  question_types: null
  normalize_mean: [0.485, 0.456, 0.406]
training:
  output_dir: "./run"
  batch_size_per_gpu: 6
  gradient_accumulation_steps: 2
  learning_rate: 5.0e-3
  weight_decay: 0.02
  warmup_ratio: 0.25
  lr_scheduler_type: "cosine"
  max_grad_norm: 0.5
  num_epochs: 2
  fp16: true
  gradient_checkpointing: true
  save_total_limit: 5
  metric_for_best_model: "accuracy"
  greater_is_better: true
  early_stopping_patience: 5
  dataloader_num_workers: 1
  max_samples_per_split: null
  seed: 42
wandb:
  enabled: false
  tags: ["a", "b"]
deepspeed:
  enabled: true
  config_path: "ds.json"
  stage: 1
hardware_optimization:
  auto_optimize: true
"""
IDLE = "data.mimic_cxr_jpg_path, data.quality_grade, data.normalize_mean, deepspeed.config_path"
WISHES = "training.batch_size_per_gpu, training.gradient_accumulation_steps, training.gradient_checkpointing, training.dataloader_num_workers, deepspeed.stage"
FIRM = {"results-dir": '"./run"  # file, training.output_dir', "learning-rate": "0.005  # file, training.learning_rate", "warmup-ratio": "0.25  # file, training.warmup_ratio",
        "clip": "0.5  # file, training.max_grad_norm", "precision-type": '"fp16"  # file, training.fp16', "patience": "5  # file, training.early_stopping_patience",
        "no-events": "true  # file, wandb.enabled", "keep-last": "5  # file, training.save_total_limit", "seed": "42  # file, training.seed"}
HEEDED = {"batch-size": "6  # file, training.batch_size_per_gpu", "accumulation-steps": "2  # file, training.gradient_accumulation_steps",
          "recompute": '"blocks"  # file, training.gradient_checkpointing', "num-workers": '"1"  # file, training.dataloader_num_workers', "zero": '"1"  # file, deepspeed.stage'}
SMALL = ("--data", "set.h5", "--arch", "mlp", "--width", 16, "--no-plots", "--no-csv")
run, _ = runs.tools(program, mpiexec)


def write(text, name="c.yaml"):
    with open(name, "w") as file:
        file.write(text)


def printed(*words, verb=("train", "classify"), config="c.yaml"):
    """What --print-config says: options that somebody has given; comments as well, with their '# '."""
    done = run(*verb, *(("--config", config) if config else ()), "--print-config", *words)
    check(done.status == 0, f"{words}: {done}")
    return {word: value.strip() for word, value in (line.split(":", 1) for line in done.out.splitlines() if ":" in line)}


def has(got, wanted, what):
    for word, value in wanted.items():
        check(got.get(word) == value, f"{what}: {word} is {got.get(word)}, not {value}")


def origins():
    write(WHOLE)
    for verb in (("train", "classify"), ("train", "moe"), ("plan", "train")):
        got = printed(verb=verb)
        has(got, {**FIRM, "# batch-size": "# planner", "# zero": '"auto"  # planner', "# training.batch_size_per_gpu": "6  # file, but the plan decides",
                  "# data.quality_grade": "# file, without effect here"}, verb)
    got = printed("--no_auto_optimize")
    has(got, {**FIRM, **HEEDED, "plan": '"off"  # flag, no_auto_optimize'}, "without a plan")
    check("# training.batch_size_per_gpu" not in got, "heeded and left at once")
    got = printed("--no_auto_optimize", "--batch_size", 3, "--use_ddp", "--learning_rate", 1, "--output_dir", "o", "--epochs", 9)
    has(got, {**HEEDED, "batch-size": "3  # flag", "zero": '"0"  # flag, use_ddp', "learning-rate": "1  # flag", "results-dir": '"o"  # flag, output_dir', "epochs": "9  # flag"}, "flags win")
    write(WHOLE.replace("auto_optimize: true", "auto_optimize: no"))
    has(printed(), HEEDED, "auto_optimize: no in the file")
    has(printed("--auto_optimize"), {"plan": '"auto"  # flag, auto_optimize', "# batch-size": "# planner"}, "the flag wins over it")
    write(WHOLE.replace("enabled: true", "enabled: false"))
    check("zero" not in printed("--no_auto_optimize"), "a section that is switched off")
    write(json.dumps({"training": {"batch_size_per_gpu": 8, "fp16": False}, "deepspeed": {"enabled": True, "offload_optimizer": {"device": "cpu", "pin_memory": True}}}), "c.json")
    has(printed("--no_auto_optimize", config="c.json"), {"batch-size": "8  # file, training.batch_size_per_gpu", "zero": '"2"  # file, deepspeed.enabled',
                                                         "offload": '"optimizer"  # file, deepspeed.offload_optimizer.device'}, "JSON")
    write("\n".join(f"{word}: {value}" for word, value in printed("--no_auto_optimize", config="c.json").items()), "again.yaml")
    has(printed(config="again.yaml"), {"batch-size": "8  # file", "zero": '"2"  # file', "plan": '"off"  # file'}, "what was printed, read again")


def refusals():
    for old, new, says in (("batch_size_per_gpu", "batch_size_per_gp", "c.yaml:9:3: no option 'training.batch_size_per_gp'; try: training.batch_size_per_gpu"),
                           ("batch_size_per_gpu: 6", "batch_size_per_gpu: -1", "--batch-size -1 of the configuration: it must be from 1 to 1048576"),
                           ("batch_size_per_gpu: 6", "batch_size_per_gpu: 600000", "2 x 600000 samples of a rank"),
                           ("batch_size_per_gpu: 6", "batch_size_per_gpu: six", "c.yaml:9:23: training.batch_size_per_gpu must be an integer, not 'six'"),
                           ("is_better: true", "is_better: false", "c.yaml:21:22: training.greater_is_better: 'false' is not supported here, only true"),
                           ("stage: 1", "stage: 4", ": deepspeed.stage: '4' is not one of auto|0|1|2|3"),
                           ("  seed: 42", "  seed: 42\nseed: 3", "'seed' and 'training.seed' set the same option"),
                           ("  seed: 42", "  seed: 42\n  learning_rate: 1", "set the same option"),
                           ("  seed: 42", "  speed: 42", "no option 'training.speed'"),
                           ("training:", "training: &t", "tags and anchors"), ("training:", "trainings:", "c.yaml:9:3: no option 'trainings.batch_size_per_gpu'; try: training.batch_size_per_gpu")):
        write(WHOLE.replace(old, new))
        done = run("train", "classify", *SMALL, "--config", "c.yaml", ranks=2 if old == "is_better: true" else 1)
        check(done.status == 2 and says in done.err and done.err.count("mesoforge: ") == 1, f"{new}: {done}")


def trains():
    """The planner may cut a step otherwise; the samples of a step stay those of the file, so that the result does."""
    write(WHOLE.replace("fp16: true", "fp16: false"))
    done = run("train", "classify", *SMALL, "--config", "c.yaml", "--results-dir", "planned", ranks=2)
    check(done.status == 0 and f"c.yaml: without effect here: {IDLE}\n" in done.err and f"c.yaml: the plan decides about {WISHES}\n" in done.err, f"{done}")
    check("a step has 24, and its passes are chosen" in done.err and "steps of 24 samples (2 ranks x 1 pass of 12)" in done.err, f"the step of the file: {done.err}")
    more = run("train", "classify", *SMALL, "--config", "c.yaml", "--results-dir", "planned", "--restart", "auto", ranks=3)
    check(more.status == 0 and "a step has 24 samples, as in the run that goes on\n" in more.err and "is finished" in more.err, f"other ranks: {more}")
    off = run("train", "classify", *SMALL, "--config", "c.yaml", "--results-dir", "off", "--no_auto_optimize", ranks=2)
    check(off.status == 0 and "(2 ranks x 2 passes of 6)" in off.err and "the plan decides" not in off.err, f"{off}")
    ours = run("train", "classify", *SMALL, "--results-dir", "ours", "--effective-batch", 24, "--learning-rate", 0.005, "--weight-decay", 0.02, "--warmup-ratio", 0.25, "--clip", 0.5,
               "--epochs", 2, "--seed", 42, "--no-events", "--patience", 5, "--keep-last", 5, ranks=2)
    check(ours.status == 0 and runs.weights("planned/model.safetensors") == runs.weights("ours/model.safetensors"), f"the training of our options: {ours}")


def small():
    """--debug, --max_samples, --skip_data_check, --resume_from_checkpoint."""
    base = ("train", "classify", *SMALL, "--results-dir")
    done = run(*base, "debug", "--debug", ranks=2)
    check(done.status == 0 and "(2 ranks x 1 pass of 4)" in done.err and "6 steps of 8 samples" in done.err, f"--debug: {done}")
    done = run(*base, "less", "--debug", "--max_samples", 20, "--batch_size", 2)
    check(done.status == 0 and "20 samples to learn from, 2 for validation, 2 for the test" in done.err and "10 steps of 2 samples (1 rank x 1 pass of 2)" in done.err, f"{done}")
    done = run(*base, "less", "--debug", "--max_samples", 30, "--restart", "auto")
    check(done.status in (0, 2, 3) and "20 samples" not in done.err, f"other samples are another run: {done}")
    doubtful = "have no sample in the train split"
    done = run(*base, "few", "--max_samples", 4, "--max-steps", 1)
    check(done.status == 0 and doubtful in done.err, f"classes without samples: {done}")
    done = run(*base, "few", "--max_samples", 4, "--max-steps", 1, "--skip_data_check", "--disable_wandb", "--restart", "no", env=runs.around(WANDB_API_KEY="secret"))
    check("WANDB_API_KEY is set, but no event files are written" in done.err and "secret" not in done.err, f"a key that nobody reads: {done.err}")
    check(done.status == 0 and doubtful not in done.err and not any("tfevents" in name for name in os.listdir("few")), f"--skip_data_check: {done}")
    done = run(*base, "more", "--resume_from_checkpoint", "few", "--max-steps", 1, "--print-config")
    check(done.status == 0 and 'model: "few"  # --resume-from-checkpoint\n' in done.out, f"weights of another run: {done}")
    done = run(*base, "few", "--resume_from_checkpoint", "few", "--max-steps", 1, "--print-config")
    check(done.status == 0 and 'restart: "auto"  # --resume-from-checkpoint\n' in done.out, f"the same run: {done}")
    for words, status, says in ((("--resume_from_checkpoint", "nowhere"), 3, "there is no 'nowhere'"), (("--warmup-ratio", 2), 2, "must be above 0 and at most 1"),
                                (("--warmup", 3, "--warmup-ratio", 0.1), 2, "say the same"), (("--max_samples", -1), 2, "--max-samples -1"),
                                (("--auto_optimize", "--no_auto_optimize"), 2, "--auto_optimize and --no_auto_optimize contradict each other")):
        done = run(*base, "r", *words)
        check(done.status == status and says in done.err, f"{words}: {done}")


def examples():
    """Those of examples/: one has the guide's sizes, the other one is trained as the guide says."""
    full = printed(verb=("train", "vqa"), config=f"{EXAMPLES}/vqa-full.yaml")
    has(full, {"image": '"convnext"  # --image', "width": "128  # --width", "deep": "27  # --deep", "text-width": "768  # file, model.hidden_size", "heads": "12  # file, model.num_attention_heads",
               "text-depth": "12  # file, model.text_encoder", "dropout": "0.1  # file, model.hidden_dropout_prob", "max-tokens": "128  # file, model.max_question_length",
               "phase": '"finetune"  # file, training.phase', "findings-weight": "0.3  # file, training.chexpert_loss_weight"}, "the full one")
    check(not any("without effect" in value for value in full.values()), f"keys without effect: {full}")
    done = run("train", "vqa", "--help")
    check("network: vqa," in done.out and "network: mlp" not in done.out, f"the networks of a verb: {done}")
    done = run("train", "vqa", "--config", f"{EXAMPLES}/vqa.yaml")
    check(done.status == 3 and f"(data.path of {EXAMPLES}/vqa.yaml); try: --data FILE\n" in done.err, f"no set: {done}")
    done = run("synth", "--num-samples", 60, "--questions", 2, "--size", 32, 32, "--output", "asked.h5")
    check(done.status == 0, f"{done}")
    done = run("train", "vqa", "--config", f"{EXAMPLES}/vqa.yaml", "--use_deepspeed", "--debug", "--max-steps", 3, "--no-plots", ranks=2)
    check(done.status == 0 and "3 steps of 8 samples (2 ranks x 1 pass of 4)" in done.err and os.path.exists("results/vqa/model.safetensors"), f"the small one: {done}")


done = run("synth", "--num-samples", 60, "--size", 16, 16, "--output", "set.h5")
check(done.status == 0, f"{done}")
examples()
origins()
refusals()
trains()
small()
finish("keys")
