#!/usr/bin/env bash
# A page of samples and what mesoforge makes of them: images, volumes, several phases, a material that changes, a tomogram.
#
#   examples/gallery/gallery.sh [-o FOLDER] [-q] [IMAGE ...]
#     -o  folder of what is made (gallery): index.html, which needs nothing beside it, sheet.png, all fields
#     -q  small and few evaluations: does it work?
#   IMAGE: micrographs of your own, in place of the samples; grey ones want OPTIONS="--threshold otsu" (or a value)
set -euo pipefail
program=${MESOFORGE:-mesoforge} folder=gallery pixels=64 voxels=64 lag=16 short=()
while getopts o:q option; do
    case $option in
    o) folder=$OPTARG ;;
    q) pixels=32 voxels=12 lag=4 short=(--max_iter 10 --polish_rounds 1) ;;
    *) sed -n '4,7s/^# *//p' "$0" >&2 && exit 2 ;;
    esac
done
shift $((OPTIND - 1))
read -ra options <<<"${OPTIONS:-}"
images=()
for image in "$@"; do images+=("$(realpath "$image")"); done
[[ $program != */* ]] || program=$(realpath "$program")
mkdir -p "$folder"
cd "$folder"
commands=() sheet=()

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }

# Runs the program; the command is shown on the page.
run() {
    commands+=("mesoforge $*")
    echo "mesoforge $*" >&2
    "$program" "$@" >>log.txt 2>&1 || { tail -n 3 log.txt >&2 && exit 1; }
}

# card TITLE TEXT PICTURE: under the commands since the last card.
card() {
    {
        printf '<section><h2>%s</h2><p>%s</p>\n<pre>%s</pre>\n<img alt="%s" src="data:image/png;base64,' "$1" "$2" \
            "$(printf '%s\n' "${commands[@]}" | escape)" "$1"
        base64 -w 0 "$3"
        printf '"></section>\n'
    } >>cards.html
    commands=()
}

sample() { run synth --output "$1.npy" --exact "${@:2}"; }

# like NAME TITLE TEXT: an image like the sample of that name.
like() {
    run match "$1.npy" --output "$1_like.npy" "${short[@]}"
    run view "$1_like.npy" --original_ms "$1.npy" --output "$1.png"
    card "$2" "$3" "$1.png"
    sheet+=("$1.npy" "$1_like.npy")
}

textures() {
    local image=(--size "$pixels" "$pixels" --seed 2)
    sample blobs "${image[@]}" --correlation-length 3 --volume-fraction 0.4
    like blobs "Blobs" "An image like another, with what to compare chosen from the image itself."
    sample lamellae "${image[@]}" --kind lamellae --period 10 --waviness 2 --wavelength 24 --normal 1 0.4 --volume-fraction 0.4
    like lamellae "Lamellae" "Long and joined, as correlations alone would not keep them."
    sample discs "${image[@]}" --kind hard-spheres --radius 5 --gap 1 --volume-fraction 0.35
    like discs "Discs" "Particles that keep apart."
    sample phases "${image[@]}" --phases 3 --volume-fraction 0.5 0.3 0.2 --correlation-length 3
    like phases "Three phases" "What lies beside what: every phase is compared, and they share patches."
}

volumes() {
    local made=(--limit_to "$lag" --descriptor_types FFTCorrelations Variation "${short[@]}") normal seed=0
    run match blobs.npy --add_dimension "$voxels" --symmetry square "${made[@]}" --output volume.npy
    run characterize blobs.npy --limit_to "$lag" --symmetry square --output turned.h5
    run view volume.npy --original_ms blobs.npy --target turned.h5 --output volume.png
    card "From an image to a volume" "Slices in all three directions have the correlations of the image, meant over its turns; circles are those." volume.png
    sheet+=(blobs.npy volume.npy)
    for normal in z y x; do
        sample "normal_$normal" --size $((4 * pixels)) $((4 * pixels)) --volume-fraction 0.4 --correlation-length 2.5 \
            --stretch 1 "$([ $normal = x ] && echo 1 || echo 3)" --seed $((seed += 1))
        run characterize "normal_$normal.npy" --limit_to "$lag" --output "normal_$normal.h5"
        sheet+=("normal_$normal.npy")
    done
    run merge normal_z.h5 normal_y.h5 normal.h5 --z_file normal_x.h5
    run reconstruct --descriptor_filename normal.h5 --size "$voxels" "$voxels" "$voxels" "${made[@]}" --output drawn_out.npy
    run view drawn_out.npy --target normal.h5 --output drawn_out.png
    card "Drawn out along x" "Three images, of slices normal to z, y and x, make one volume; circles are the images'." drawn_out.png
    sheet+=(drawn_out.npy)
}

gradation() {
    local step before=() made=()
    sample fine --size "$pixels" "$pixels" --correlation-length 2 --volume-fraction 0.3 --seed 2
    sample coarse --size "$pixels" "$pixels" --correlation-length 5 --volume-fraction 0.5 --seed 2
    run characterize fine.npy coarse.npy --limit_to "$lag" --data_folder .
    run interpolate fine_characterization.h5 coarse_characterization.h5 --n_steps 4 --output target.h5
    for step in 0 1 2 3; do
        run reconstruct --descriptor_filename "target_$step.h5" --limit_to "$lag" --size "$pixels" "$pixels" "${before[@]}" "${short[@]}" --output "step_$step.npy"
        before=(--initial_microstructure_file "step_$step.npy")
        made+=("step_$step.npy")
    done
    run view fine.npy "${made[@]}" coarse.npy --noaxis --output gradation.png
    card "A material that changes" "Targets between those of two images; each result starts from the one before." gradation.png
    sheet+=(fine.npy "${made[@]}" coarse.npy)
}

tomogram() {
    sample tomogram --size "$((voxels * 3 / 4))" "$((voxels * 3 / 4))" "$((voxels * 3 / 4))" --correlation-length 3 --volume-fraction 0.35 --seed 2
    run match tomogram.npy --descriptor_types S2_3D Variation FFTCorrelations --descriptor_weights 2 5 1 --use_multigrid_reconstruction \
        --limit_to $((lag / 2)) "${short[@]}" --output tomogram_like.npy
    run view tomogram.npy tomogram_like.npy --noaxis --columns 3 --output tomogram.png
    card "A tomogram" "Volume in (above), volume out: the correlation in space, oblique lags too." tomogram.png
    sheet+=(tomogram.npy tomogram_like.npy)
}

own() {
    local image name
    for image in "${images[@]}"; do
        name=$(basename "${image%.*}")
        run match "$image" "${options[@]}" "${short[@]}" --output "${name}_like.npy"
        run view "${name}_like.npy" --original_ms "$image" "${options[@]}" --output "${name}_like.png"
        card "$(basename "$image" | escape)" "An image like it." "${name}_like.png"
        sheet+=("${name}_like.npy")
    done
}

rm -f cards.html log.txt
if [ ${#images[@]} -gt 0 ]; then
    own
else
    textures
    volumes
    gradation
    tomogram
fi
[ ${#sheet[@]} -lt 2 ] || "$program" view "${sheet[@]}" --noaxis --columns 6 --output sheet.png >>log.txt 2>&1
{
    cat <<'HEAD'
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>mesoforge gallery</title><style>
body { font: 16px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; color: #202020 }
img { width: 100% } pre { background: #f4f4f4; padding: .7em; overflow-x: auto; font-size: 13px } section { margin-bottom: 3em }
</style></head><body><h1>mesoforge gallery</h1>
<p>Samples, what was made of them, and the commands. Circles in curves: the sample's.</p>
HEAD
    cat cards.html
    echo '</body></html>'
} >index.html
rm cards.html
echo "$PWD/index.html"
