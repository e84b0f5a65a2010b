"""The names that benchmarks/wild.py and its tables share; needs neither torch nor scikit-learn."""

FEW, MANY = "few", "many"
BY_CLASS, ANY = "class", "any"
# The cheapest first, so that a run that is cut short has whole graphs. What each is, for the page.
GRAPHS = {
    "counties": "3,112 counties of the USA, joined by their borders; columns of statistics; who won in 2016",
    "acm": "3,025 papers; keywords; three areas",
    "cora-ml": "2,995 papers that cite each other; words; seven topics",
    "cora": "2,708 papers that cite each other; words; seven topics",
    "citeseer": "3,327 papers that cite each other; words; six fields",
    "minesweeper": "a grid of 10,000 cells; how many neighbours hold a mine, where that is known; mine or not",
    "amazon-photo": "7,650 goods, joined if bought together; words of reviews; eight kinds",
    "dblp": "17,716 papers; words of titles; four areas",
    "blogcatalog": "5,196 bloggers who follow each other; their words; six subjects; 60 % of edges join two classes",
    "pubmed": "19,717 papers on diabetes that cite each other; words; three types",
    "coauthor-cs": "18,333 authors who wrote together; keywords; fifteen fields",
}
COUNTIES = "counties"
# Labels a class; counties has two classes and noisy ones.
LABELS = {FEW: 5, MANY: 20}
COUNTIES_LABELS = {FEW: 10, MANY: 40}
OURS, BEFORE = "fit", "fit-before"
LOGISTIC, LOGISTIC_MEANS, BOOSTED = "logistic", "logistic-means", "boosted-means"
PROPAGATION, SMOOTHED, PYG_GCN = "label-propagation", "correct-and-smooth", "gcn"
# Ours first; then peers, the cheapest first.
TITLES = {
    OURS: "`graphmix fit`",
    BEFORE: "older `graphmix fit`",
    PROPAGATION: "label propagation",
    LOGISTIC: "logistic regression",
    LOGISTIC_MEANS: "logistic regression, neighbour means",
    SMOOTHED: "Correct and Smooth over an MLP",
    PYG_GCN: "GCN of PyG, five networks",
    BOOSTED: "boosted trees, neighbour means",
}


def labels_a_class(graph: str, amount: str) -> int:
    """How many labels a class has in a draw."""
    return (COUNTIES_LABELS if graph == COUNTIES else LABELS)[amount]
