"""What to make of a fit, in words: for the terminal and the page alike."""

from typing import Any

from graphmix.experiments.names import title

_UNITS = {"accuracy": "points", "macro-f1": "points of macro F1"}


def method_title(method: str, backbone: str) -> str:
    """What to call a candidate: `GraphMix(GCN)`, `Features only (FCN)`."""
    return "Features only (FCN)" if method == "fcn" else title(method, backbone)


def recommend(metrics: dict[str, Any]) -> str:
    """Say which method to use and whether it is better than the next by more than noise.

    Args:
        metrics: what metrics.json holds.
    """
    names = {place["method"]: method_title(place["method"], metrics["backbone"]) for place in metrics["candidates"]}
    winner, *others = metrics["candidates"]
    judged = _judged(metrics, winner["method"])
    use = f"Use {names[winner['method']]}: it is right on {winner['accuracy']:.1f} % of {judged}."
    majority = metrics.get("majority")
    if majority and winner["accuracy"] <= majority["accuracy"]:
        use += (
            f" To say {majority['class']!r} always is right on {majority['accuracy']:.1f} %, so it may have learned "
            "nothing: try --balanced, or label more of the other classes."
        )
    if not others:
        return use
    second = others[0]
    mean, low, high = second["behind"]
    interval = f"95 % interval {low:+.1f} to {high:+.1f}".replace("-", "−")
    if not mean:
        return f"{use} {names[second['method']]} does as well ({interval})."
    margin = f"{mean:.1f} {_UNITS[metrics['chosen_by']]} ahead of {names[second['method']]} ({interval})"
    if second["certain"]:
        return f"{use} It is {margin}: more than noise."
    beaten = [names[place["method"]] for place in others if place["certain"]]
    rest = f" It is ahead of {' and '.join(beaten)} by more than that." if beaten else ""
    return f"{use} It is {margin}: that may be noise.{rest}"


def _judged(metrics: dict[str, Any], method: str) -> str:
    if metrics["judged_on"] == "held-out folds":
        return f"{metrics['held']:,} labels, each held out in its turn"
    selected = "" if method == "label-propagation" else ", by which its epochs were selected too"
    return f"{metrics['held']:,} validation labels{selected}"
