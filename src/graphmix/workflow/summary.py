"""What a model shows of itself in a notebook."""

from typing import Any

from graphmix.notebook import html_facts
from graphmix.results.fit import FitMetrics
from graphmix.results.names import method_title
from graphmix.results.recommendation import headline
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.problem import Problem


def describe_model(problem: Problem, mixture: Mixture, metrics: Any) -> str:
    """Return a small table on a model as HTML: its graph, its members, and how good it is if that was measured."""
    graph, held = problem.graph, mixture.held
    shares = (f"{method_title(each.method, each.config.backbone)} {each.share:.0%}" for each in mixture.members)
    right = f"{held.right.mean():.1%} of {len(held.labels):,} held-out labels" if len(held.labels) else None
    facts = [
        (problem.task, graph.num_nodes),
        ("edges", graph.num_edges),
        ("classes", ", ".join(mixture.classes)),
        ("labels", int(problem.known.sum())),
        ("methods", ", ".join(shares)),
        ("right on", right),
        ("in short", headline(metrics) if isinstance(metrics, FitMetrics) else None),
    ]
    return html_facts(f"Model of {graph.name}", facts)
