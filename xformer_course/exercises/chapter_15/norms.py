"""Chapter 15, an exercise on the norm and the gate of today's layers, worked out by hand."""

from xformer_course.exercises.exercise import Exercise, Misconception

LAYER = [-0.577, -0.577, -0.577, 1.732]
RMS = [0.577, 0.577, 0.577, 1.732]
GATED = -1.076
RIGHT = {"LayerNorm": LAYER, "RMSNorm": RMS, "gated": GATED}

BY_HAND = Exercise(
    id="15.2",
    title="Two norms and a gate by hand",
    kind="predict",
    minutes=8,
    difficulty=1,
    statement="""\
A token is the vector (2, 2, 2, 6). What do LayerNorm and RMSNorm make of it? All gains are 1, and there is no shift and no \
epsilon. Then take one number inside a SwiGLU: the gate's projection gives −1 and the other gives 4, so `"gated"` is silu(−1) · 4. \
Work all of it out by hand, to three decimals.""",
    hints=(
        "What is the mean of the four numbers, and what is the mean of their squares?",
        "The mean is 3 and the deviations are −1, −1, −1, 3. The squares of the token itself have the mean 48 / 4.",
        "LayerNorm divides the deviations by √3, RMSNorm the token by √12; silu(−1) is −1 / (1 + 2.718).",
    ),
    stub='answer = {"LayerNorm": [..., ..., ..., ...], "RMSNorm": [..., ..., ..., ...], "gated": ...}',
    reference=RIGHT,
    wrong={
        "n − 1": (
            {**RIGHT, "LayerNorm": [-0.5, -0.5, -0.5, 1.5]},
            "Your LayerNorm divides by n − 1 = 3 inside the root. It is a mean over all four numbers, not an estimate from a sample.",
        ),
        "by the length": (
            {**RIGHT, "RMSNorm": [0.289, 0.289, 0.289, 0.866]},
            "You divided by the length of the vector, √48. Take the root of the *mean* square: then a wide token keeps numbers near 1.",
        ),
        "no root": (
            {**RIGHT, "RMSNorm": [0.167, 0.167, 0.167, 0.5]},
            "You divided by the mean square, 12, without the root. If you double the token, your answer is halved. It should stay the same.",
        ),
        "the mean went, too": (
            {**RIGHT, "RMSNorm": LAYER},
            "Both of your norms subtract the mean. RMSNorm leaves it in, so all its numbers are positive here.",
        ),
        "names exchanged": Misconception(
            {**RIGHT, "LayerNorm": RMS, "RMSNorm": LAYER},
            "Both vectors are right, but each is under the other's name. Which of the two subtracts the mean?",
            whole=True,
        ),
        "a sigmoid as gate": ({**RIGHT, "gated": 1.076}, "You multiplied by 1 / (1 + e). silu(z) is z times that number, and z is −1."),
        "a closed gate": ({**RIGHT, "gated": 0.0}, "max(0, z) is closed at −1. silu bends more gently: z / (1 + e^(−z)) is not 0 there."),
        "e without its sign": ({**RIGHT, "gated": -2.924}, "For z = −1 the exponent −z is +1, so the denominator is 1 + 2.718."),
    },
    alternatives={"more decimals": {"LayerNorm": [-(3**-0.5)] * 3 + [3**0.5], "RMSNorm": [3**-0.5] * 3 + [3**0.5], "gated": -1.07577}},
    tolerance=2e-3,
    success="Here the two agree up to the sign of the small entries. On a token whose mean is 0 they agree entirely.",
    solution=r"""
The mean of (2, 2, 2, 6) is 3, so LayerNorm sees the deviations −1, −1, −1, 3 with a mean square of 3. RMSNorm sees the token itself,
with a mean square of 48 / 4 = 12. So we divide by $\sqrt 3$ and by $\sqrt{12}$. The gate is $\operatorname{silu}(-1) = -1 / (1 + e) =
-0.269$, and times 4 it gives −1.076.

```python
token = np.array([2.0, 2.0, 2.0, 6.0])
deviations = token - token.mean()
answer = {"LayerNorm": deviations / np.sqrt((deviations**2).mean()),
          "RMSNorm": token / np.sqrt((token**2).mean()),
          "gated": -1 / (1 + np.exp(1)) * 4}
print({name: np.round(value, 3) for name, value in answer.items()})
check(...)
```
""",
)

EXERCISES = (BY_HAND,)
