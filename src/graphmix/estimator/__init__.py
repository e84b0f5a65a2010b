"""GraphMixClassifier, scikit-learn style. Imported when asked for: `import graphmix` does without scikit-learn."""

from graphmix.estimator.classifier import GraphMixClassifier

__all__ = ["GraphMixClassifier"]
