#!/usr/bin/env bash
# A training is killed after step 100 and goes on from its checkpoint of step 79, with a second event file. One would guess
# that TensorBoard shows the new points of steps 80 to 100 in place of the old ones. It keeps both: the curve goes back from
# 100 to 80, and step 90 has two values. Old points vanish only where the second file has a SessionLog START at step 80.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/v" && "$folder/v/bin/pip" -q install tensorboard==2.21.0
cd "$folder"
v/bin/python - <<'PY'
import logging
import time

logging.disable(logging.WARNING)
import tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def shown(folder, start):
    for number, (first, last, loss) in enumerate(((1, 100, 1.0), (80, 120, 2.0))):
        writer = EventFileWriter(folder, filename_suffix=f".{number}")
        if number and start:
            writer.add_event(Event(step=first, wall_time=time.time(), session_log=SessionLog(status=SessionLog.START)))
        for step in range(first, last + 1):
            value = Summary.Value(tag="loss", simple_value=loss)
            writer.add_event(Event(step=step, wall_time=time.time(), summary=Summary(value=[value])))
        writer.close()
        time.sleep(1.1)  # names of files have seconds
    reader = EventAccumulator(folder)
    reader.Reload()
    return reader.Scalars("loss")


print("tensorboard", tensorboard.__version__)
counts = []
for start in (False, True):
    points = shown(f"start{start}", start)
    at_90 = [point.value for point in points if point.step == 90]
    counts.append(len(points))
    print(f"  SessionLog START {start}: {len(points)} points of 120 steps, values at step 90: {at_90}")
assert counts == [141, 120], "the behaviour has changed"
PY
