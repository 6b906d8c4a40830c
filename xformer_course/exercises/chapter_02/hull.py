"""Chapter 02, exercises on where an answer can lie."""

import itertools

import numpy as np

from xformer_course.exercises.exercise import Exercise

REACHABLE = Exercise(
    id="2.3",
    title="Which answers are possible?",
    kind="predict",
    minutes=5,
    difficulty=2,
    statement="""\
A table holds four values, points of the plane: (0, 0), (4, 0), (0, 4) and (1, 1). Take the points A = (1, 2), \
B = (3, 3), C = (2, 1.5) and D = (3, 2). Which of them can be the output, for some weights that are at least 0 and add up \
to 1? Say `"yes"` or `"no"` for each.""",
    hints=(
        "What shape do all weighted means of the first three values fill? Draw it.",
        "The fourth value lies inside that shape. Can it add anything?",
        "In the triangle neither coordinate is below 0 and their sum is at most 4. Test the four points.",
    ),
    stub='answer = {"A": ..., "B": ..., "C": ..., "D": ...}',
    reference={"A": "yes", "B": "no", "C": "yes", "D": "no"},
    wrong={
        "box around the values": (
            {"A": "yes", "B": "yes", "C": "yes", "D": "yes"},
            "Each coordinate of your points is between the smallest and the largest value. But both coordinates must fit at once. How much weight would (4, 0) need for B, and how much would (0, 4)?",
        ),
        "only the values themselves": (
            {"A": "no", "B": "no", "C": "no", "D": "no"},
            "That would be the hard lookup. What does a weight of one half on each of two values give?",
        ),
        "box cut a little": (
            {"A": "yes", "B": "no", "C": "yes", "D": "yes"},
            "B is out, and so is every point beyond the line from (4, 0) to (0, 4). Add the two coordinates of D. What is their sum on that line?",
        ),
        "shape through the fourth value": (
            {"A": "no", "B": "no", "C": "no", "D": "yes"},
            "Test A by hand: half of (0, 4), a quarter of (4, 0), and the rest on (0, 0).",
        ),
        "yes and no swapped": (
            {"A": "no", "B": "yes", "C": "no", "D": "yes"},
            "Test A by hand: half of (0, 4), a quarter of (4, 0), and the rest on (0, 0).",
        ),
        "A thought out of reach": (
            {"A": "no", "B": "no", "C": "yes", "D": "no"},
            "Test A by hand: half of (0, 4), a quarter of (4, 0), and the rest on (0, 0).",
            lambda answer: answer["A"].strip().casefold() == "no",
        ),
        "C thought out of reach": (
            {"A": "yes", "B": "no", "C": "no", "D": "no"},
            "Test C by hand: half of (4, 0), three eighths of (0, 4), and the rest on (0, 0).",
            lambda answer: answer["C"].strip().casefold() == "no",
        ),
    },
    success="The answers fill the triangle. The fourth value lies inside it and adds nothing.",
    solution=r"""
The hull is the triangle with the corners (0, 0), (4, 0) and (0, 4), because (1, 1) lies inside it. A point is in the triangle if
neither coordinate is negative and their sum is at most 4. To be sure, solve for the three weights and see whether one is negative.

```python
corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
points = {"A": (1, 2), "B": (3, 3), "C": (2, 1.5), "D": (3, 2)}
answer = {}
for name, point in points.items():
    weights = np.linalg.solve(np.vstack([corners.T, np.ones(3)]), [*point, 1.0])
    answer[name] = "yes" if weights.min() >= 0 else "no"
    print(name, weights)

check(...)
```
""",
)

CAPITALS = np.array([[2.35, 48.86], [-0.13, 51.51], [13.40, 52.52]])  # Paris, London, Berlin
BRUSSELS = np.array([4.35, 50.85])
NEAR = 0.05  # degrees


def _weights(scores):
    raw = np.exp(scores - scores.max())
    return raw / raw.sum()


def _where(query):
    """The answer of the capital table to a query that is compared with one-hot keys."""
    return _weights(np.asarray(query, dtype=float)) @ CAPITALS


def _barycentric(point):
    return np.linalg.solve(np.vstack([CAPITALS.T, np.ones(3)]), np.append(point, 1.0))


def _accept_query(answer):
    query = np.asarray(answer, dtype=float)
    if query.shape != (3,):
        return f"a query has three numbers, one for each key; yours has shape {query.shape}."
    if not np.isfinite(query).all():
        return "the three numbers must be finite."
    longitude, latitude = _where(query)
    if np.abs(_where(query) - BRUSSELS).max() > NEAR:
        return (
            f"your query is answered with longitude {longitude:.2f} and latitude {latitude:.2f}; Brussels lies at "
            f"{BRUSSELS[0]:.2f} and {BRUSSELS[1]:.2f}."
        )
    return None


def _is_near(answer, point):
    return bool(np.abs(np.asarray(answer, dtype=float) - point).max() < 0.02)


def _points_like(answer, scores):
    """Whether the differences within a query are these, up to one positive factor."""
    one, other = (np.asarray(three, dtype=float) - np.mean(three) for three in (answer, scores))
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return one.shape == (3,) and lengths > 1e-9 and float(one @ other) / lengths > 0.9998


def _distances():
    return np.linalg.norm(CAPITALS - BRUSSELS, axis=1)


ASK_FOR_BRUSSELS = Exercise(
    id="2.4",
    title="Ask for Brussels",
    kind="explore",
    minutes=10,
    difficulty=2,
    statement="""\
The three keys are the rows of the identity matrix, so a query (a, b, c) has the scores a, b and c. The temperature is 1. \
The values are Paris (2.35, 48.86), London (−0.13, 51.51) and Berlin (13.40, 52.52), in degrees east and north. Find the \
three numbers of a query whose answer is Brussels, (4.35, 50.85), to within 0.05 degrees in both coordinates.""",
    hints=(
        "Which weights do you need? Two coordinates and the sum of the weights make three equations.",
        "`np.linalg.solve` finds the three weights. Softmax takes exponentials of the scores and divides. What undoes an exponential?",
        "The logarithms of the weights are scores that softmax turns into just these weights.",
    ),
    stub="query = ...",
    reference=np.log(_barycentric(BRUSSELS)),
    accepts=_accept_query,
    wrong={
        "weights as the query": (
            _barycentric(BRUSSELS),
            "Those are the weights that the answer needs. But a query holds scores, and softmax still acts on them.",
            lambda answer: _is_near(np.asarray(answer, dtype=float) @ CAPITALS, BRUSSELS),
        ),
        "all scores equal": (
            np.zeros(3),
            "Equal scores give the mean of the three capitals. That is near Brussels, but not near enough. Which capital should count more?",
            lambda answer: bool(np.ptp(np.asarray(answer, dtype=float)) < 1e-6),
        ),
        "coordinates as the query": (
            np.append(BRUSSELS, 0.0),
            "You asked with the coordinates of Brussels. The query is compared with the keys, not with the values.",
            lambda answer: _is_near(np.asarray(answer, dtype=float)[:2], BRUSSELS),
        ),
        "nearest capital": (
            np.array([100.0, 0.0, 0.0]),
            "Your query is answered with a single capital. Lower its score, so that the others count.",
            lambda answer: bool(_weights(np.asarray(answer, dtype=float)).max() > 0.99),
        ),
        "sign of the logarithm": (
            -np.log(_barycentric(BRUSSELS)),
            "Your largest score belongs to the capital that should count least. Check the sign.",
            lambda answer: _is_near(_where(-np.asarray(answer, dtype=float)), BRUSSELS),
        ),
        "one factor off": (
            np.log10(_barycentric(BRUSSELS)),
            "Your capitals are in the right order, but all differences between your scores are wrong by the same factor. Which logarithm undoes `np.exp`? Do you multiply anything afterwards?",
            lambda answer: _points_like(answer, np.log(_barycentric(BRUSSELS))),
        ),
        "capitals in another order": (
            np.log(_barycentric(BRUSSELS))[[2, 1, 0]],
            "You have the right three numbers, but some of them belong to another capital. In which order are the values?",
            lambda answer: any(_is_near(_where(np.asarray(answer)[list(p)]), BRUSSELS) for p in itertools.permutations(range(3))),
        ),
        "distances as scores": (
            -_distances(),
            "Your scores follow the distances to Brussels. But the answer is a mean of three places, and a mean does not know distances. Write down the three equations for the weights.",
            lambda answer: any(
                _points_like(answer, scores)
                for scores in (-_distances(), -(_distances() ** 2), 1 / _distances(), -np.log(_distances()), _distances())
            ),
        ),
        "weights in the wrong order": (
            _barycentric(BRUSSELS)[[2, 0, 1]],
            "Those are weights, and their order is not that of the capitals. A query holds scores, and softmax still acts on them.",
            lambda answer: any(
                _is_near(np.asarray(answer, dtype=float)[list(p)] @ CAPITALS, BRUSSELS) for p in itertools.permutations(range(3))
            ),
        ),
    },
    alternatives={
        "another shift": np.log(_barycentric(BRUSSELS)) + 7.0,
        "rounded, as a list": [round(float(a), 2) for a in np.log(_barycentric(BRUSSELS))],
    },
    success="Softmax turns the logarithms of weights into these weights. So with one-hot keys you can ask for any point inside.",
    solution=r"""
Two coordinates and the sum of the weights are three equations for three weights. Their logarithms are scores that softmax turns back
into these weights. Add the same number to all three, and you have another right query.

```python
capitals = np.array([[2.35, 48.86], [-0.13, 51.51], [13.40, 52.52]])
weights = np.linalg.solve(np.vstack([capitals.T, np.ones(3)]), [4.35, 50.85, 1.0])
query = np.log(weights)
print("weights", weights, " query", query)
check(...)
```
""",
)

EXERCISES = (REACHABLE, ASK_FOR_BRUSSELS)
