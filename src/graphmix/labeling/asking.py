"""What to ask next: the nodes that the last round chose, and given labels that look wrong."""

from collections.abc import Iterator, Sequence

from graphmix.labeling.answers import SKIP, Answers
from graphmix.labeling.round import Ask, Round

_USED_UP = "it has no label; the nodes that the last round chose are used up"
_SKIPPED = "you skipped it before"


def to_label(rounds: Sequence[Round], answers: Answers) -> Iterator[Ask]:
    """Yield nodes without a label: those that the last round chose, then all others, at last those that were skipped.

    Nothing before the first round. Nodes of which somebody was not sure are not asked about again.
    """
    if not rounds:
        return
    chosen = {ask.node: ask for ask in rounds[-1].queue}
    for node, ask in chosen.items():
        if _is_new(node, answers):
            yield ask
    for node in answers.given:
        if node not in chosen and _is_new(node, answers):
            yield Ask(node=node, reason=_USED_UP)
    for answer in answers.standing:
        said = answers.of(answer.node)
        if said is answer and answer.act == SKIP and answers.label_of(answer.node) is None:
            yield Ask(node=answer.node, reason=_SKIPPED)


def _is_new(node: str, answers: Answers) -> bool:
    return answers.of(node) is None and answers.label_of(node) is None


def to_check(rounds: Sequence[Round], answers: Answers) -> list[Ask]:
    """Return the labels that the last round which looked for them found wrong, unless something was said of them since.

    What was said before that round, it knew.
    """
    found = next((each for each in reversed(rounds) if each.suspects is not None), None)
    if found is None or found.suspects is None:
        return []
    return [ask for ask in found.suspects if _is_open(ask, found.answers, answers)]


def _is_open(ask: Ask, before: int, answers: Answers) -> bool:
    said = answers.of(ask.node)
    return answers.label_of(ask.node) is not None and (said is None or said.number <= before)
