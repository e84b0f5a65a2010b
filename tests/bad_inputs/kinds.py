"""The kinds of bad input, and how many of a thousand cases each gets."""

from random import Random

from bad_inputs.archives import npz
from bad_inputs.case import Draw
from bad_inputs.datasets import datasets
from bad_inputs.fits import fit_tables, fit_written, predict_tables
from bad_inputs.labels import labels
from bad_inputs.options import options
from bad_inputs.outputs import outputs
from bad_inputs.stored import fit_folder, model_folder, record, reproduction, run_folder, search_folder
from bad_inputs.surroundings import environment, moments, place_and_room, streams

KINDS: dict[str, tuple[int, Draw]] = {
    "tables to fit": (220, fit_tables),
    "tables as people write them": (55, fit_written),
    "tables to predict": (90, predict_tables),
    "model folders": (160, model_folder),
    "folders of fits": (20, fit_folder),
    "run folders": (50, run_folder),
    "records": (80, record),
    "folders of results": (20, reproduction),
    "folders of searches": (20, search_folder),
    "npz files": (80, npz),
    "datasets": (20, datasets),
    "labeling": (20, labels),
    "options": (110, options),
    "outputs": (70, outputs),
    "environments": (30, environment),
    "streams": (20, streams),
    "folders and room": (15, place_and_room),
    "signals": (15, moments),
}


def choose(rng: Random) -> tuple[str, Draw]:
    """Draw a kind."""
    (kind,) = rng.choices(list(KINDS), [share for share, _ in KINDS.values()])
    return kind, KINDS[kind][1]
