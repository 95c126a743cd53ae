"""Trains a small neural network on scikit-learn's handwritten digits, epoch by epoch.

Resumes from the checkpoint of an earlier attempt, keeps the model under /data and leaves a result of a few fields for
the control plane to show. Run it by hand with CUBEPLANE_CHECKPOINT_DIR, DIGITS_MODEL_DIR and DIGITS_RESULT set.
"""

import json
import os
import pathlib
import pickle
import time

import numpy
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

EPOCHS = int(os.environ.get("DIGITS_EPOCHS", "20"))
BATCH = 32
# Epochs of this size take milliseconds; a pause lets a person watch them pass.
PAUSE_SECONDS = float(os.environ.get("DIGITS_PAUSE", "0.3"))
WORKLOAD = os.environ.get("CUBEPLANE_WORKLOAD", "digits")
CHECKPOINTS = pathlib.Path(os.environ.get("CUBEPLANE_CHECKPOINT_DIR", f"/data/checkpoints/{WORKLOAD}"))
MODELS = pathlib.Path(os.environ.get("DIGITS_MODEL_DIR", f"/data/models/{WORKLOAD}"))
RESULT = pathlib.Path(os.environ.get("DIGITS_RESULT", "/dev/termination-log"))


def replace(path, content):
    """Writes the file so that a kill leaves the old or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def start_or_resume():
    """The network and the number of epochs that it has behind it."""
    checkpoint = CHECKPOINTS / "digits.pickle"
    if checkpoint.exists():
        state = pickle.loads(checkpoint.read_bytes())
        if state["epoch"] < EPOCHS:
            print(f"resuming after epoch {state['epoch']} of {EPOCHS}", flush=True)
            return state["model"], state["epoch"]
    return MLPClassifier(hidden_layer_sizes=(64,), learning_rate_init=0.002, random_state=7), 0


def main():
    began = time.monotonic()
    images, labels = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(
        images / 16.0, labels, test_size=0.25, random_state=7, stratify=labels)
    print(f"digits: {len(train_x)} images to learn from, {len(test_x)} to test, {EPOCHS} epochs", flush=True)

    model, done = start_or_resume()
    order = numpy.random.default_rng(7 + done)
    classes = numpy.unique(labels)
    accuracy = 0.0
    for epoch in range(done + 1, EPOCHS + 1):
        mixed = order.permutation(len(train_x))
        for first in range(0, len(mixed), BATCH):
            batch = mixed[first:first + BATCH]
            model.partial_fit(train_x[batch], train_y[batch], classes=classes)
        loss = log_loss(test_y, model.predict_proba(test_x), labels=classes)
        accuracy = accuracy_score(test_y, model.predict(test_x))
        print(f"epoch {epoch:2d}/{EPOCHS}  loss {loss:.4f}  accuracy {accuracy:.4f}", flush=True)
        replace(CHECKPOINTS / "digits.pickle", pickle.dumps({"epoch": epoch, "model": model}))
        time.sleep(PAUSE_SECONDS)

    model_file = MODELS / "digits.pickle"
    replace(model_file, pickle.dumps(model))
    seconds = round(time.monotonic() - began, 1)
    result = {"accuracy": round(float(accuracy), 4), "epochs": EPOCHS, "seconds": seconds, "model": str(model_file)}
    RESULT.write_text(json.dumps(result))
    print(f"accuracy {accuracy:.4f} after {seconds} s; model in {model_file}", flush=True)


if __name__ == "__main__":
    main()
