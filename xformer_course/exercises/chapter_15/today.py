"""Chapter 15, exercises on what recent models changed. Torch is imported where it is used."""

from xformer_course.exercises import comparison
from xformer_course.exercises.exercise import Exercise, Misconception, case

EACH, MORE = "one expert a token", "more experts a token"


def _mixture(x, router, experts):
    import torch

    gates = (x @ router).softmax(dim=-1)
    chosen = gates.argmax(dim=-1)
    return torch.stack([gates[n, chosen[n]] * experts[chosen[n]](x[n]) for n in range(len(x))])


def _with_readers(function):
    """The output, and whether the experts read each token once; asked only where the output is right."""

    def counted(x, router, experts):
        read = []

        def reader(expert):
            def expert_that_counts(tokens):
                read.append(tokens.numel() // x.shape[-1])
                return expert(tokens)

            return expert_that_counts

        output = function(x, router, [reader(expert) for expert in experts])
        is_right = sum(read) > len(x) and comparison.difference(_mixture(x, router, experts), output, tolerance=MIXTURE.tolerance) is None
        return output, MORE if is_right else EACH

    return counted


def _mixture_difference(expected, got):
    found = comparison.difference(expected[0], got[0], tolerance=MIXTURE.tolerance, name="output")
    if found is None and expected[1] != got[1]:
        return "the output is right, but experts read tokens that are not theirs"
    return found


def _mixture_cases(rng):
    import torch

    def inputs(n, d_model, num_experts):
        layers = [torch.nn.Linear(d_model, d_model, dtype=torch.float64).requires_grad_(False) for _ in range(num_experts)]
        for layer in layers:
            for parameter in layer.parameters():
                parameter.copy_(torch.from_numpy(rng.normal(size=parameter.shape)))
        return (torch.from_numpy(rng.normal(size=(n, d_model))), torch.from_numpy(rng.normal(size=(d_model, num_experts))), layers)

    return [case(*inputs(2, 3, 2)), case(*inputs(7, 5, 3)), case(*inputs(11, 2, 5)), case(*inputs(5, 3, 1), note="a single expert")]


def _mixture_variant(gate=lambda gates, logits, best: gates[best], pick=lambda row: row.argmax()):
    def mixture(x, router, experts):
        import torch

        rows = []
        for token, logits in zip(x, x @ router):
            gates = logits.softmax(dim=-1)
            best = int(pick(logits))
            rows.append(gate(gates, logits, best) * experts[best](token))
        return torch.stack(rows)

    return mixture


def _soft(x, router, experts):
    import torch

    gates = (x @ router).softmax(dim=-1)
    return torch.stack([g * expert(x) for g, expert in zip(gates.T[..., None], experts)]).sum(dim=0)


def _one_for_all(x, router, experts):
    gates = (x @ router).softmax(dim=-1)
    best = int(gates.mean(dim=0).argmax())
    return gates[:, best, None] * experts[best](x)


def _over_tokens(x, router, experts):
    import torch

    logits = x @ router
    gates, chosen = logits.softmax(dim=0), logits.argmax(dim=-1)
    return torch.stack([gates[n, chosen[n]] * experts[chosen[n]](x[n]) for n in range(len(x))])


def _one_of_all(x, router, experts):
    import torch

    gate, chosen = (x @ router).softmax(dim=-1).max(dim=-1)
    outputs = torch.stack([expert(x) for expert in experts])
    return gate[:, None] * outputs[chosen, torch.arange(len(x))]


def _grouped(x, router, experts):
    import torch

    gate, chosen = (x @ router).softmax(dim=-1).max(dim=-1)
    out = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        rows = chosen == number
        out[rows] = gate[rows, None] * expert(x[rows])
    return out


MIXTURE = Exercise(
    id="15.4",
    title="One expert for each token",
    kind="implement",
    minutes=12,
    difficulty=3,
    requires="torch",
    statement="""\
In PyTorch, write `mixture(x, router, experts)` for tokens `x` (n, m), a matrix `router` (m, e) and a list of e \
functions from (…, m) to (…, m). The softmax of `x @ router` gives each token e probabilities. Only the most likely expert \
reads the token, and its answer is multiplied by its probability. Return (n, m).""",
    hints=(
        "How many experts read one token? May another token have a different expert?",
        "Over which axis must the probabilities of one token add up to 1? Which probability reaches the output?",
        "`gate, chosen = (x @ router).softmax(dim=-1).max(dim=-1)`; then, for each expert, the rows where `chosen` is its number.",
    ),
    stub="def mixture(x, router, experts):\n    return ...",
    reference=_mixture,
    cases=_mixture_cases,
    probe=_with_readers,
    compare=_mixture_difference,
    returns=("output", "readers"),
    tolerance=1e-8,
    wrong={
        "all experts blended": (_soft, "Every expert reads every token. That is a mixture, but it saves no work."),
        "everything computed, one kept": (
            _one_of_all,
            "The output is right, but every expert read every token, and you threw most answers away. Which tokens should an expert read?",
        ),
        "no gate": (
            _mixture_variant(lambda gates, logits, best: 1.0),
            "You chose the right experts, but you do not multiply their answers by the probability. Then how does the router get a gradient?",
        ),
        "gate without softmax": (
            _mixture_variant(lambda gates, logits, best: logits[best]),
            "You multiply by the score. The statement asks for the probability.",
        ),
        "the worst expert": (_mixture_variant(pick=lambda row: row.argmin()), "You chose the expert with the smallest probability."),
        "one expert for all tokens": (_one_for_all, "All tokens go to one expert. Each token chooses for itself."),
        "softmax over tokens": (
            _over_tokens,
            "Your probabilities add up to 1 over the tokens. A token chooses among experts: which axis is that?",
        ),
    },
    alternatives={"grouped by expert": _grouped},
    success="Parameters grow with the number of experts. The work for one token does not.",
    solution=r"""
Each expert gets the rows that chose it, all at once. The probability stays as a factor, and through it the router gets a gradient.

```python
def mixture(x, router, experts):
    gate, chosen = (x @ router).softmax(dim=-1).max(dim=-1)
    output = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        rows = chosen == number
        output[rows] = gate[rows, None] * expert(x[rows])
    return output


check(...)
```
""",
)

ALL, PAST = "all", "past"
MODELS = {"BERT": ALL, "GPT-3": PAST, "T5 encoder": ALL, "ViT": ALL, "Whisper decoder": PAST}

MASKS = Exercise(
    id="15.5",
    title="Who may look ahead",
    kind="predict",
    minutes=5,
    difficulty=1,
    statement="""\
For each of five models, say what a place may read in *self*-attention, padding aside: `"all"` places, or only the \
`"past"` and itself. BERT fills in words that were hidden in a sentence; GPT-3 predicts the next word of a text; T5 is an \
encoder–decoder, and we ask for its encoder; ViT names what is in an image; Whisper writes down what it hears, and \
we ask for its decoder.""",
    hints=(
        "Which models must predict a word to the right of the words they have read?",
        "You need a mask for the future where the future is the answer. Where is the whole input known from the start?",
        "Two of the five write from left to right; the other three get everything at once.",
    ),
    stub='answer = {"BERT": ..., "GPT-3": ..., "T5 encoder": ..., "ViT": ..., "Whisper decoder": ...}',
    reference=MODELS,
    wrong={
        "everything past": ({name: PAST for name in MODELS}, "Where the whole input is there from the start, there is nothing to hide."),
        "everything open": (
            {name: ALL for name in MODELS},
            "Two of the five write from left to right. What would they see of the word they must predict?",
        ),
        "BERT as a writer": ({**MODELS, "BERT": PAST}, "BERT's missing word is in the middle of the sentence. Which side of it helps?"),
        "Whisper hears everything": (
            {**MODELS, "Whisper decoder": ALL},
            "Whisper's *encoder* hears everything, and cross-attention reads that. Its decoder writes words.",
        ),
        "all reversed": Misconception(
            {name: ALL if kind == PAST else PAST for name, kind in MODELS.items()},
            "Each answer is the opposite. Which of these models writes a text from left to right?",
            whole=True,
        ),
    },
    alternatives={"upper case": {name: kind.upper() for name, kind in MODELS.items()}},
    success="The mask follows from the task: hide the answer.",
    page="15a_one_body_other_tasks",
    solution=r"""
Hide the answer. BERT, T5's encoder and ViT have their whole input from the start; GPT-3 and Whisper's decoder predict the next
token.

```python
answer = {"BERT": "all", "GPT-3": "past", "T5 encoder": "all", "ViT": "all",
          "Whisper decoder": "past"}
check(...)
```
""",
)

EXERCISES = (MASKS, MIXTURE)
