#!/bin/sh
# Every verb once on each of these numbers of ranks (launch: on one), with --verbose where it has that: what unit tests under
# sanitizers do not reach. And nothing of it tells what stands in the environment.
# usage: smoke.sh MESOFORGE MPIEXEC FOLDER RANKS ...
program=$1 mpiexec=$2 folder=$3
fixtures=$(cd "$(dirname "$0")/../fixtures" && pwd)
shift 3
failures=0 seen=
secret=canary-$$-in-the-mine
export AWS_SECRET_ACCESS_KEY="$secret" MESOFORGE_TOKEN="$secret" SLURM_PASSWORD="$secret"
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || exit 1

# ends STATUS RANKS VERB OPTION ...
ends() {
    want=$1 ranks=$2
    shift 2
    seen="$seen $* "
    if [ "$ranks" = 1 ]; then
        "$program" "$@" >out 2>err
    else
        "$mpiexec" -n "$ranks" "$program" "$@" >out 2>err
    fi
    status=$?
    if grep -q -e "$secret" out err; then
        echo "failed: it tells a secret: $ranks ranks: $*" >&2
        failures=$((failures + 1))
    fi
    [ $status -eq "$want" ] && ! grep -q -e 'Sanitizer' -e 'runtime error' err && return
    echo "failed: status $status, wanted $want: $ranks ranks: $*" >&2
    tail -n 40 err >&2
    failures=$((failures + 1))
}

for ranks; do
    ends 0 $ranks synth --kind gaussian --size 24 24 --volume-fraction 0.4 --correlation-length 2 --output image.npy
    ends 0 $ranks synth --kind hard-spheres --size 12 14 16 --volume-fraction 0.2 --radius 3 --output spheres.h5
    ends 0 $ranks characterize image.npy spheres.h5 --limit_to 5 --data_folder .
    ends 0 $ranks characterize image.npy --limit_to 5 --data_folder . --non_periodic --json
    ends 0 $ranks merge image_characterization.h5 image_characterization.h5 --output merged.h5
    ends 0 $ranks reconstruct --descriptor_filename merged.h5 --limit_to 5 --size 12 16 18 --max_iter 30 \
        --polish-rounds 2 --output volume.h5
    MF_FAULT=run.leave:visit=3 ends 75 $ranks match image.npy --limit_to 5 --size 10 12 14 --max_iter 30 --output again.h5
    ends 0 $ranks match image.npy --limit_to 5 --size 10 12 14 --max_iter 30 --output again.h5 --restart auto --json
    ends 0 $ranks match image.npy --limit_to 5 --max_iter 12 --optimizer_type Adam --use_multiphase --output like.npy
    ends 0 $ranks match image.npy --max_iter 0 --limit_to 5 --size 10 12 14 --save-gradient gradient.npy
    ends 0 $ranks view volume.h5 --original_ms image.npy --output picture.png
    ends 0 $ranks compare image.npy like.npy volume.h5 --output picture.png
    ends 0 $ranks info volume.h5 merged.h5 gradient.npy --json
    ends 0 $ranks verify volume.h5 merged.h5 again.h5
    ends 0 $ranks report again.h5 metrics.jsonl --output page.html
    ends 0 $ranks probe --json --verbose
    ends 0 $ranks doctor --verbose
    ends 0 $ranks bench io $([ $ranks = 1 ] || echo allreduce) --extent 8 --max_bytes 8 --seconds 0.01 --precision 50 --output net.json --verbose
    ends 0 $ranks plan match image.npy --limit_to 5 --size 12 12 12 --ranks "$ranks" --explain --verbose
    ends 0 $ranks plan reconstruct image_characterization.h5 --limit_to 5 --size 12 12 12
    ends 0 $ranks plan infer "$fixtures/language/gpt2" --ranks 2 --tp 2 --explain --show-list --verbose
    ends 0 $ranks plan serve "$fixtures/language/gpt2" --map '*=cuda:0,head=cuda:1' --explain
    ends 0 $ranks plan train classify --size 16 16 --arch mlp --ranks "$ranks" --explain --verbose
    ends 0 $ranks smooth volume.h5 --output smooth.h5 --verbose
    ends 0 $ranks match image.npy --limit_to 5 --size 10 12 14 --max_iter 60 --property conductivity_z=0.2 --conductivity 0.1 1 --output led.h5
    ends 0 $ranks plan match image.npy --limit_to 5 --size 10 12 14 --property conductivity_z=0.2 --conductivity 0.1 1
    ends 0 $ranks plan properties volume.h5 --conductivity 0.1 1 --ranks "$ranks" --explain --verbose
    ends 0 $ranks properties volume.h5 --conductivity 0.1 1 --boundary periodic --json --verbose
    ends 0 $ranks properties volume.h5 --young 1 2 --poisson 0.3 --tolerance 0.1 --verbose
    ends 0 $ranks interpolate image_characterization.h5 merged.h5 --n_steps 3 --output between.h5
    ends 0 $ranks match image.npy --limit_to 5 --max_iter 2 --no-polish --output loud.npy --verbose --logging_level 10
    ends 0 $ranks synth --num-samples 24 --size 12 12 --kinds gaussian lamellae --conductivity 0 1 --output set.h5
    ends 0 $ranks synth --num-samples 16 --questions 3 --size 12 12 --output asked.h5
    ends 0 $ranks data info set.h5
    ends 0 $ranks data verify set.h5
    ends 0 $ranks data export set.h5 --output x.npy
    ends 0 $ranks data import x.npy --table x.csv --phases 2 --output again-set.h5
    ends 0 $ranks data split again-set.h5 --train 0.5
    ends 0 $ranks train classify --data set.h5 --arch mlp --epochs 1 --results-dir class --verbose
    ends 0 $ranks train regress --data set.h5 --target length --arch mlp --epochs 1 --results-dir real
    ends 0 $ranks plan train vqa --data asked.h5 --ranks "$ranks" --explain
    ends 0 $ranks train vqa --data asked.h5 --arch vqa:width=8,depth=2,text-width=8,text-depth=1 --epochs 1 --results-dir asks --verbose
    ends 0 $ranks eval asks/model.safetensors --data asked.h5 --output table.csv --plot answers.png
    ends 0 $ranks infer answer asks/model.safetensors asked.h5 --question "what is the morphology?" --output table.csv --verbose
    ends 0 $ranks plan train moe --data set.h5 --experts 4 --ranks "$ranks" --explain --verbose
    ends 0 $ranks train moe --data set.h5 --experts 4 --width 8 --epochs 2 --sleep-every 1 --results-dir mixed --verbose
    ends 0 $ranks train unet --data set.h5 --arch unet:width=8,depth=2,blocks=1 --epochs 1 --made-samples 8 --results-dir makes --verbose
    ends 0 $ranks train unet --data set.h5 --teacher makes/model.safetensors --max-steps 2 --made-samples 8 --results-dir onestep
    ends 0 $ranks plan generate --model makes/model.safetensors --num-samples 10 --ranks "$ranks" --explain --verbose
    ends 0 $ranks generate --model makes/model.safetensors --num-samples 10 --steps 2 --layers midblock --output made.h5 --verbose
    ends 0 $ranks compare set.h5 made.h5 --output sets.png
    ends 0 $ranks eval class/model.safetensors --data set.h5 --output table.csv --plot confusion.png
    ends 0 $ranks infer classify class/model.safetensors image.npy set.h5 --output table.csv
    ends 0 $ranks infer regress real/model.safetensors image.npy --json
    ends 3 $ranks match missing.npy
    ends 2 $ranks match image.npy --limit_to 13
    ends 3 $ranks verify image.npy
done
printf '%s' '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}' >tokenizer.json
ends 0 1 infer tokens . --prompt abba --json
ends 0 1 infer tokens . --tokens 2,1
ends 0 1 infer embed "$fixtures/language/bert" --tokens 2,1 --normalize --output vectors.npy --json --verbose
ends 0 1 infer text-generation "$fixtures/language/gpt2" --tokens 2,1 --temperature 1 --logits logits.npy --json --verbose
mkdir served && cp "$fixtures/language/gpt2/"*.* tokenizer.json served
ends 0 1 serve served --dry-run --json --verbose
ends 0 1 serve mixed/model.safetensors --dry-run --json --verbose
ends 0 1 bench infer "$fixtures/language/gpt2" --requests 1,3 --new-tokens 3 --prompt-tokens 9 --verbose
ends 0 1 map "$fixtures/language/gpt2" --hardware "$fixtures/../../examples/hardware/l4x4.json" --output map.json --json --verbose
ends 0 2 map "$fixtures/language/gpt2" --measure --requests 2 --output tuned.json
ends 0 1 map class/model.safetensors --requests 4 --check
ends 0 1 launch --launcher sbatch --nodes 2 --ntasks-per-node 2 -- match image.npy --output volume.h5
ends 0 1 deploy docker --model "$fixtures/language/gpt2" --hardware "$fixtures/../../examples/hardware/l4x4.json" --auto-select --dry-run --json --verbose
ends 0 1 deploy --detect-only
ends 0 1 launch --container docker:image:1 --launcher mpirun -- match image.npy --output volume.h5
"$program" man --list >verbs && [ -s verbs ] || failures=$((failures + 1))
while read -r verb; do
    case $seen in *" $verb "*) ;; *)
        echo "failed: nothing of '$verb' was run" >&2
        failures=$((failures + 1))
    ;; esac
done <verbs
if grep -rl -e "$secret" .; then
    echo "failed: these files tell a secret" >&2
    failures=$((failures + 1))
fi
[ $failures -eq 0 ] || exit 1
