"""What to say when memory runs out: what would help in the command that ran."""

from graphmix.cli.flags import running

_ADVICE = {
    "fit": "lower --trials or --hidden, or leave out columns of the tables with --ignore",
    "predict": "predict the new nodes in several smaller tables",
    "advise": "save a model with fewer --trials, or of a smaller graph",
    "train": "train fewer trials at once with --chunk, or lower --hidden",
    "select": "lower --trials",
    "demo": "lower --trials",
    "reproduce": "lower --trials, or compute fewer cells with --only",
    "report": "report fewer runs at once",
}


def out_of_memory() -> str:
    """Say that memory ran out, and what would help."""
    advice = _ADVICE.get(running())
    return f"out of memory; {advice}" if advice else "out of memory"
