"""Chapter 15's machines: equal to the parts they are made of, blind where they must be, at home in any size."""

import copy
import math

import pytest
import torch
from torch import nn

from xformer_lib.nn.layers import DecoderLayer
from xformer_lib.nn.masks import causal_mask, padding_mask
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.nn.variants import (
    LanguageModel,
    SequenceClassifier,
    SeriesReader,
    TokenEncoder,
    VisionTransformer,
    left_half,
    masked_mean,
    next_token_loss,
    patches,
    write,
)

B, T, V, M, H, F, C = 3, 7, 23, 10, 5, 13, 11  # batch, tokens, vocabulary, width, heads, inner width, classes


def config(**changes):
    sizes = {
        "vocab_size": V,
        "d_model": M,
        "num_heads": H,
        "d_ff": F,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "dropout": 0.0,
        "max_len": 19,
    }
    return TransformerConfig(**{**sizes, **changes})


def tokens(seed=0):
    ids = torch.randint(3, V, (B, T), generator=torch.Generator().manual_seed(seed))
    ids[1, 5:] = 0
    return ids


def changed(ids, row, place):
    """The same ids with another word at one place."""
    other = ids.clone()
    other[row, place] = 3 + (int(ids[row, place]) - 2) % (V - 3)
    assert other[row, place] != ids[row, place]
    return other


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


# The mean and the classifier


def test_the_mean_takes_real_rows_alone():
    x = torch.randn(2, T, M)
    mask = torch.tensor([[True] * 4 + [False] * 3, [False, True] * 3 + [False]])
    x[0, 4:] = math.nan
    torch.testing.assert_close(masked_mean(x, mask), torch.stack([x[0, :4].mean(0), x[1, 1::2].mean(0)]))


def test_the_mean_of_nothing_is_zero_with_finite_gradients():
    x = torch.randn(2, 3, M, requires_grad=True)
    mean = masked_mean(x, torch.tensor([[False] * 3, [True] * 3]))
    assert torch.equal(mean[0], torch.zeros(M))
    mean.sum().backward()
    assert x.grad.isfinite().all() and not x.grad[0].any()


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "relative", "alibi", "none"])
def test_the_left_half_is_the_encoder_and_shares_it(positions):
    model = Transformer(config(positions=positions)).eval()
    half, ids = left_half(model), tokens()
    with torch.inference_mode():
        assert torch.equal(half(ids, mask=padding_mask(ids, 0)), model.encode(ids))
    own = {id(parameter) for parameter in model.parameters()}
    assert all(id(parameter) in own for parameter in half.parameters())
    assert not any("decoder" in name for name, _ in half.named_parameters())


@pytest.mark.parametrize("spared", [False, True])
def test_training_the_half_changes_the_translator_and_training_a_copys_half_does_not(spared):
    model, ids = Transformer(config()).eval(), tokens()
    before = model.encode(ids).detach()
    half = left_half(copy.deepcopy(model) if spared else model)
    half(ids, mask=padding_mask(ids, 0)).square().sum().backward()
    torch.optim.SGD(half.parameters(), lr=0.1).step()
    assert torch.equal(model.encode(ids), before) == spared
    assert not torch.allclose(half(ids, mask=padding_mask(ids, 0)), before)


def test_a_classifier_cannot_see_padding():
    machine, ids = SequenceClassifier(TokenEncoder(config()), C).eval(), tokens()
    with torch.inference_mode():
        logits = machine(ids)
        assert logits.shape == (B, C)
        longer = torch.cat([ids, torch.zeros(B, 4, dtype=torch.long)], dim=1)
        torch.testing.assert_close(machine(longer), logits)
        torch.testing.assert_close(machine(ids[1:2, :5]), logits[1:2])
        assert not torch.allclose(machine(changed(ids, 0, 6))[0], logits[0])


def classifier(num_classes=C):
    return SequenceClassifier(TokenEncoder(config()), num_classes)


BODY = r"body: expected a TokenEncoder, .*, got {}; write TokenEncoder\(config\), left_half\(transformer\) or language_model.body"
CLASSES = "num_classes: expected a whole number, 2 or more, got {}; two classes need two logits"


@pytest.mark.errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: classifier(1), CLASSES.format(1)),
        (lambda: classifier("2"), CLASSES.format("'2'")),
        (lambda: SequenceClassifier(config(), 2), BODY.format("TransformerConfig")),
        (lambda: SequenceClassifier(Transformer(config()), 2), BODY.format("Transformer")),
        (lambda: SequenceClassifier(LanguageModel(config()), 2), BODY.format("LanguageModel")),
        (lambda: left_half(config()), "model: expected a Transformer, got TransformerConfig; of a LanguageModel take model.body"),
        (lambda: left_half(LanguageModel(config())), "model: expected a Transformer, got LanguageModel; .* take model.body"),
        (lambda: classifier()(tokens()[0]), r"ids: expected integer ids .*; one sentence is a batch of one: ids\[None\]"),
        (lambda: classifier()(tokens().tolist()), r"ids: expected a torch.Tensor, got list; write torch.tensor\(ids\)"),
        (lambda: classifier()(tokens() + 100), "ids: expected ids from 0 to .*; was the text encoded by"),
        (lambda: LanguageModel(config())(tokens()[0]), r"ids: expected integer ids .*ids\[None\]"),
        (lambda: write(LanguageModel(config()), tokens(), max_len="9"), "max_len: expected a whole number, 1 or more, got '9'"),
        (lambda: write(LanguageModel(config()), tokens(), max_len=9, temperature=-1), "temperature: expected 0, or from 0.01 to 100"),
        (lambda: patches(torch.ones(2, 6, 6), 0), "size: expected a whole number, 1 or more, got 0"),
        (lambda: patches(torch.ones(2, 3, 6, 6), 3), r"images: expected .*\(batch, height, width\), got Tensor of shape \(2, 3, 6, 6\)"),
        (lambda: patches(torch.ones(6, 6), 3), r"images: expected .*, got Tensor of shape \(6, 6\); .*: images\[None\]"),
        (lambda: patches(torch.ones(2, 6, 6).int(), 3), r"images: expected floating-point .*; .*images.float\(\)"),
        (lambda: VisionTransformer(config(), num_patches=4, patch_size=2, num_classes=0), "num_classes: expected a whole .* got 0"),
        (lambda: VisionTransformer(config(), num_patches=0, patch_size=2), "num_patches: expected a whole number, 1 or more, got 0"),
        (lambda: SeriesReader(16, series_width=1, num_answers=2, max_frames=9), "config: expected a TransformerConfig, got 16"),
        (lambda: SeriesReader(config(), series_width=0, num_answers=2, max_frames=9), "series_width: expected a whole number"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_frozen_body_gets_no_gradient():
    machine = SequenceClassifier(TokenEncoder(config()), C)
    machine.body.requires_grad_(False)
    machine(tokens()).sum().backward()
    assert machine.classify.weight.grad is not None
    assert all(parameter.grad is None for parameter in machine.body.parameters())


# The language model


def test_a_decoder_layer_without_memory_is_an_encoder_layer_with_a_mask():
    """All of a LanguageModel's layers, rebuilt as decoder layers whose cross-attention adds nothing."""
    model, ids = LanguageModel(config()).double().eval(), torch.randint(3, V, (B, T))
    x = model.body.positions(model.body.embedding(ids))
    for layer in model.body.encoder.layers:
        twin = DecoderLayer(M, H, F).double().eval()
        twin.self_attention.load_state_dict(layer.self_attention.state_dict())
        twin.feed_forward.load_state_dict(layer.feed_forward.state_dict())
        for ours, theirs in ((0, 0), (2, 1)):
            twin.residuals[ours].load_state_dict(layer.residuals[theirs].state_dict())
        nn.init.zeros_(twin.cross_attention.w_o.weight)
        x = twin(x, torch.randn(B, 5, M, dtype=torch.float64), mask=causal_mask(T))
    logits = model.body.embedding.logits(model.body.encoder.norm(x))
    torch.testing.assert_close(model(ids), logits, atol=1e-12, rtol=0)


@pytest.mark.parametrize("place", range(T))
def test_the_future_cannot_leak(place):
    model, ids = LanguageModel(config()).eval(), torch.randint(3, V, (B, T))
    with torch.inference_mode():
        moved = (model(ids) - model(changed(ids, 2, place))).abs().amax(dim=-1) > 1e-7
    assert moved[2].tolist() == [t >= place for t in range(T)]
    assert not moved[:2].any()


def test_padding_changes_nothing_before_it():
    model, ids = LanguageModel(config()).eval(), tokens()
    with torch.inference_mode():
        torch.testing.assert_close(model(ids)[1:2, :5], model(ids[1:2, :5]))


def test_the_loss_is_the_next_token_at_every_real_place():
    logits, ids = torch.randn(B, T, V), tokens()
    terms = [-logits[b, t].log_softmax(-1)[ids[b, t + 1]] for b in range(B) for t in range(T - 1) if ids[b, t + 1]]
    assert len(terms) == 6 + 4 + 6
    torch.testing.assert_close(next_token_loss(logits, ids), torch.stack(terms).mean())


@pytest.mark.errors
def test_a_loss_of_nothing_is_refused():
    logits, ids = torch.randn(B, T, V), tokens()
    first = torch.zeros(B, T, dtype=torch.bool)
    first[:, 0] = True  # nothing foretells it
    for few, options in ((ids, {"counted": first}), (ids, {"counted": ~(ids != 0)}), (torch.zeros_like(ids), {}), (ids[:, :1], {})):
        with pytest.raises(ValueError, match="ids, counted: expected a token that counts .*got none; leave these rows out"):
            next_token_loss(logits[:, : few.shape[1]], few, **options)


class Scripted(nn.Module):
    """Says the token after the last one: 5, 6, 7, … and <eos> after 9; always tempted by <pad> and <bos>."""

    def __init__(self):
        super().__init__()
        self.config = config()

    def forward(self, ids):
        logits = torch.full((*ids.shape, V), -20.0)
        logits[..., :2] = 30.0
        after = torch.where(ids == 9, 2, ids + 1)
        return logits.scatter(-1, after.clamp(max=V - 1)[..., None], 20.0)


@pytest.mark.parametrize("generator", [None, torch.Generator().manual_seed(1)])
def test_writing_stops_at_eos_and_gives_what_is_new(generator):
    rows = write(Scripted(), torch.tensor([[3, 7], [1, 4], [3, 9]]), max_len=17, generator=generator)
    assert rows == [[8, 9], [5, 6, 7, 8, 9], []]


class Counting(LanguageModel):
    """Says what `Scripted` says, and minds its mode: dropout would make a mess of it."""

    def forward(self, ids):
        return Scripted()(ids) if not self.training else torch.zeros(*ids.shape, V)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("how", [{}, {"temperature": 0}, {"temperature": 0.5}, {"generator": torch.Generator().manual_seed(1)}])
def test_a_language_model_continues_its_prompts(how, training):
    """Prompt and all: up to <eos>, behind which there is padding; up to the limit; and the model stays in its mode."""
    model = Counting(config()).train(training)
    prompts = torch.tensor([[3, 7], [1, 4], [3, 9]])
    said = model.generate(prompts, max_new_tokens=9, **how)
    assert said.tolist() == [[3, 7, 8, 9, 2, 0, 0, 0], [1, 4, 5, 6, 7, 8, 9, 2], [3, 9, 2, 0, 0, 0, 0, 0]]
    assert model.generate(prompts, max_new_tokens=2, **how).tolist() == [[3, 7, 8, 9], [1, 4, 5, 6], [3, 9, 2, 0]]
    assert model.generate(prompts[:1], max_new_tokens=17, **how).tolist() == [[3, 7, 8, 9, 2]]  # all that max_len has room for
    assert model.training is training and not said.is_inference() and said.dtype == prompts.dtype


def test_each_token_is_the_likeliest_or_drawn_from_its_probabilities():
    torch.manual_seed(3)
    model, prompts = LanguageModel(config()).eval(), torch.randint(3, V, (200, 4), generator=torch.Generator().manual_seed(1))
    said, row = model.generate(prompts[:1], max_new_tokens=5)[0], prompts[0]
    while len(row) < len(said):
        logits = model(row[None])[0, -1]
        logits[:2] = -math.inf
        row = torch.cat([row, logits.argmax()[None]])
    assert said.tolist() == row.tolist()
    same = prompts[:1].expand(4000, -1)
    for temperature in (0.7, 2.0):
        drawn = model.generate(same, max_new_tokens=1, temperature=temperature, generator=torch.Generator().manual_seed(5))[:, -1]
        logits = model(prompts[:1])[0, -1] / temperature
        logits[:2] = -math.inf
        assert (torch.bincount(drawn, minlength=V) / 4000 - logits.softmax(-1)).abs().max() < 0.03
        again = model.generate(same, max_new_tokens=1, temperature=temperature, generator=torch.Generator().manual_seed(5))[:, -1]
        assert torch.equal(drawn, again)
    assert not torch.equal(model.generate(same, max_new_tokens=1), model.generate(same, max_new_tokens=1, temperature=1.0))


@pytest.mark.errors
@pytest.mark.parametrize(
    ("prompt", "options", "message"),
    [
        ([[3, 4], [5, 0]], {}, "ids: expected prompts of one length, of an id or more, got padding in it; continue those of another"),
        ([[]], {}, r"ids: expected prompts of one length, of an id or more, got \(1, 0\)"),
        ([3, 4], {}, r"ids: expected integer ids \(batch, length\)"),
        ([[3.0]], {}, r"ids: expected integer ids \(batch, length\)"),
        ([[3, 4]], {"max_new_tokens": 18}, "max_new_tokens: expected at most 17 behind 2 ids, .* got 18; ask for fewer"),
        ([[3, 4]], {"max_new_tokens": 0}, "max_new_tokens: expected a whole number, 1 or more, got 0"),
        ([[3, 4]], {"max_new_tokens": 2.0}, "max_new_tokens: expected a whole number"),
        ([[3, 4]], {"temperature": -1}, "temperature: expected 0, or from 0.01 to 100, got -1; 0 takes the likeliest"),
        ([[3, 4]], {"temperature": math.nan}, "temperature: expected"),
        ([[3, 4]], {"temperature": 1e-30}, "temperature: expected"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_refused(prompt, options, message):
    ids = torch.tensor(prompt, dtype=None if prompt[0] else torch.int64)
    with pytest.raises(ValueError, match=message):
        LanguageModel(config()).generate(ids, **({"max_new_tokens": 3} | options))


# Patches


@pytest.mark.parametrize(("height", "width", "size"), [(6, 10, 2), (9, 3, 3), (5, 7, 1)])
def test_patches_are_the_squares_in_reading_order(height, width, size):
    images = torch.randn(B, height, width)
    squares = [images[:, y : y + size, x : x + size].flatten(1) for y in range(0, height, size) for x in range(0, width, size)]
    assert torch.equal(patches(images, size), torch.stack(squares, dim=1))


@pytest.mark.errors
@pytest.mark.parametrize("shape", [(B, 7, 6), (B, 6, 7)])
def test_a_size_that_does_not_divide_is_refused(shape):
    with pytest.raises(ValueError, match="size: expected a divisor of 7, the pixels of a side, got 3"):
        patches(torch.randn(shape), 3)


def vision(pool, positions):
    machine = VisionTransformer(config(vocab_size=C, positions=positions), num_patches=15, patch_size=2, pool=pool)
    if pool == "token":
        nn.init.normal_(machine.token)
    return machine.double().eval()


@pytest.mark.parametrize("pool", ["token", "mean"])
@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal"])
def test_without_positions_the_order_of_patches_is_nothing(pool, positions):
    machine, squares = vision(pool, positions), patches(torch.randn(B, 6, 10).double(), 2)
    with torch.inference_mode():
        logits, mixed = machine.read(squares), machine.read(squares[:, torch.randperm(15)])
    assert logits.shape == (B, C)
    assert torch.allclose(logits, mixed, atol=1e-12) == (positions == "none")


@pytest.mark.parametrize("pool", ["token", "mean"])
def test_every_pixel_reaches_the_answer(pool):
    machine, images = vision(pool, "learned"), torch.randn(B, 6, 10, dtype=torch.float64, requires_grad=True)
    machine(images)[:, 4].sum().backward()
    assert (images.grad != 0).all()


@pytest.mark.errors
def test_an_unknown_pool_is_refused():
    with pytest.raises(ValueError, match='pool: expected "token" or "mean", got \'max\''):
        VisionTransformer(config(), num_patches=15, patch_size=2, pool="max")


# Two clocks

J, WIDTH = 17, 2  # frames, and numbers in each


def listening(**changes):
    reader = SeriesReader(config(**changes), series_width=WIDTH, num_answers=C, max_frames=29).double().eval()
    real = torch.ones(B, J, dtype=torch.bool)
    real[2, 13:] = False
    return reader, tokens(), torch.randn(B, J, WIDTH, dtype=torch.float64), real


def test_hidden_frames_and_padded_words_change_nothing():
    reader, words, series, real = listening()
    with torch.inference_mode():
        answers = reader(words, series, real)
        other = series.clone()
        other[2, 13:] += 7.0
        torch.testing.assert_close(reader(words, other, real), answers)
        torch.testing.assert_close(reader(words[2:], series[2:, :13], real[2:, :13]), answers[2:])
        torch.testing.assert_close(reader(words[1:2, :5], series[1:2], real[1:2]), answers[1:2, :5])


@pytest.mark.parametrize("place", [0, 6])
def test_words_see_each_other_in_both_directions(place):
    reader, words, series, real = listening()
    with torch.inference_mode():
        moved = (reader(words, series, real) - reader(changed(words, 0, place), series, real)).abs().amax(-1) > 1e-9
    assert moved[0].all() and not moved[1:].any()


def test_every_real_frame_reaches_every_word_and_no_other():
    reader, words, series, real = listening()
    series.requires_grad_(True)
    reader(words, series, real)[:, 3, 0].sum().backward()
    assert torch.equal((series.grad != 0).all(dim=-1), real)


def test_without_positions_frames_are_a_set():
    reader, words, series, real = listening(positions="none")
    order = torch.randperm(J)
    with torch.inference_mode():
        torch.testing.assert_close(reader(words, series[:, order], real[:, order]), reader(words, series, real))
