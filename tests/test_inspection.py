"""Looking inside: labels and axes, pieces into words, alignment error, ablated and edited heads."""

import copy
import dataclasses
from contextlib import nullcontext

import numpy as np
import pytest
import torch

from xformer_lib.data.fragment import sample_pairs, split_words
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.decoding import Translator, greedy
from xformer_lib.engine import accelerate
from xformer_lib.inspection import (
    ablate_heads,
    alignment_error_rate,
    attention_heads,
    attention_links,
    attention_maps,
    edit_attention,
    merge_pieces,
    record_attention,
    word_maps,
    word_numbers,
)
from xformer_lib.nn.recurrent import GRUTranslator
from xformer_lib.nn.transformer import Transformer, TransformerConfig

ENGLISH, FRENCH = "The big yellow cat sleeps", "Le gros chat jaune"
LAYERS, HEADS = (2, 3), 5  # encoder and decoder


@pytest.fixture(scope="module")
def tokenizer():
    examples = sample_pairs(500, rng=np.random.default_rng(7))
    return Tokenizer.train([text for e in examples for text in (e.source, e.target)], vocab_size=331)


@pytest.fixture(scope="module")
def model(tokenizer):
    """Random and in float64, with weights large enough to make uneven maps."""
    torch.manual_seed(3)
    config = TransformerConfig(
        tokenizer.vocab_size,
        d_model=70,
        num_heads=HEADS,
        d_ff=29,
        dropout=0.3,
        num_encoder_layers=LAYERS[0],
        num_decoder_layers=LAYERS[1],
        max_len=41,
    )
    model = Transformer(config).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter *= 3 if "w_q" in name or "w_k" in name else 1
    return model


@pytest.fixture(scope="module")
def maps(model, tokenizer):
    return attention_maps(model, tokenizer, ENGLISH, FRENCH)


def run(model, batch=3, seed=11):
    """Logits for random sentences of 7 source and 5 target tokens."""
    draw = torch.Generator().manual_seed(seed)
    source, target = (torch.randint(4, model.config.vocab_size, (batch, n), generator=draw) for n in (7, 5))
    with torch.no_grad():
        return model(source, target)


class TestAttentionMaps:
    def test_tokens_stand_where_the_model_reads_and_writes_them(self, maps, tokenizer):
        source, target = (tokenizer.pieces(tokenizer.encode(text)) for text in (ENGLISH, FRENCH))
        assert maps.source == (*source, "<eos>")
        assert maps.read == ("<bos>", *target) and maps.written == (*target, "<eos>")
        assert maps.read[1:] == maps.written[:-1]
        assert len(maps.source) != len(maps.read)

    def test_axes_are_layer_head_query_key(self, maps):
        s, t = len(maps.source), len(maps.read)
        assert maps.encoder.shape == (LAYERS[0], HEADS, s, s)
        assert maps.decoder.shape == (LAYERS[1], HEADS, t, t)
        assert maps.cross.shape == (LAYERS[1], HEADS, t, s)
        assert (np.triu(maps.decoder, 1) == 0).all()  # no query sees what is read later

    def test_they_are_what_the_model_computes(self, model, tokenizer, maps):
        """The weights of layer 1, head 4, by hand from what enters the layer."""
        d = model.config.d_model // HEADS
        for part, name in (("encoder", "encoder.layers.1.self"), ("decoder", "decoder.layers.1.self"), ("cross", "decoder.layers.1.cross")):
            layer, seen = model.get_submodule(f"{name}_attention"), []
            hook = layer.register_forward_hook(lambda layer, args, out, seen=seen: seen.append(args))
            attention_maps(model, tokenizer, ENGLISH, FRENCH)
            hook.remove()
            with torch.inference_mode():
                q, k = layer.w_q(seen[0][0])[0, :, 4 * d :], layer.w_k(seen[0][1])[0, :, 4 * d :]
                scores = q @ k.T / d**0.5
            if part == "decoder":
                scores = scores + torch.full(scores.shape, -torch.inf).triu(1)
            np.testing.assert_allclose(getattr(maps, part)[1, 4], scores.softmax(-1), atol=1e-6)

    def test_a_row_is_the_query_that_writes_its_word(self, model, tokenizer, maps):
        """Changing what row 2 reads changes row 2 and later rows, none before."""
        ids = tokenizer.encode(FRENCH)
        other = attention_maps(model, tokenizer, ENGLISH, [*ids[:1], ids[1] + 1, *ids[2:]])
        changed = np.abs(other.cross - maps.cross).max(axis=(0, 1, 3)) > 1e-9
        assert other.read[2] != maps.read[2] and changed.tolist() == [False, False] + [True] * (len(ids) - 1)

    def test_ids_and_text_give_the_same_maps(self, model, tokenizer, maps):
        again = attention_maps(model, tokenizer, ENGLISH, tokenizer.encode(FRENCH))
        assert again.written == maps.written and np.array_equal(again.cross, maps.cross)

    def test_labels(self, maps):
        source, read, written = ([token.strip("▁") for token in tokens] for tokens in (maps.source, maps.read, maps.written))
        assert maps.source[1].startswith("▁") and source[1] == maps.source[1][1:]
        assert maps.labels("encoder") == (source, source)
        assert maps.labels("decoder") == (written, read)
        assert maps.labels("cross") == (written, source)

    def test_an_empty_translation_has_one_row(self, model, tokenizer):
        maps = word_maps(attention_maps(model, tokenizer, "Hello", ""))
        assert (maps.read, maps.written) == (("<bos>",), ("<eos>",)) and maps.cross.shape[2] == 1

    def test_the_translator_looks_at_its_own_words(self, model, tokenizer):
        translator = Translator(model, tokenizer)
        maps = translator.attention(ENGLISH)
        said = tokenizer.encode(translator.translate(ENGLISH))
        assert maps.written == (*tokenizer.pieces(said), "<eos>") and maps.cross.shape[0] == LAYERS[1]

    def test_swapped_axes_are_refused(self, maps):
        for part in ("encoder", "decoder", "cross"):
            turned = getattr(maps, part).swapaxes(2, 3)
            with pytest.raises(ValueError, match=f"{part}: expected .*; (rows are queries|are queries and keys)"):
                dataclasses.replace(maps, **{part: turned})

    def test_a_hidden_token_darkens_its_column(self, model, tokenizer, monkeypatch):
        """On square maps, where neither the shape nor rows put right afterwards would tell of a swap."""
        ids, hidden = tokenizer.encode(ENGLISH), 2
        source = [*ids[:hidden], model.config.pad_id, *ids[hidden + 1 :]]
        monkeypatch.setattr(Tokenizer, "encode", lambda self, text: source)
        maps = attention_maps(model, tokenizer, ENGLISH, ids)
        assert len(maps.source) == len(maps.written)
        for weights in (maps.encoder, maps.cross):
            assert (weights[..., hidden] == 0).all()
            np.testing.assert_allclose(weights[..., hidden, :].sum(axis=-1), 1.0, atol=1e-6)
            assert (np.delete(weights, hidden, axis=-1) > 0).all()

    def test_what_cannot_be_looked_at(self, model, tokenizer, maps):
        with pytest.raises(ValueError, match="model: expected a model in evaluation mode.*model.eval()"):
            attention_maps(Transformer(model.config), tokenizer, ENGLISH, FRENCH)
        with pytest.raises(ValueError, match="part: expected one of encoder, decoder, cross, got 'self'"):
            maps.labels("self")


class TestWords:
    def test_keys_are_added_and_queries_averaged(self):
        weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.1, 0.4], [0.3, 0.3, 0.4], [1.0, 0.0, 0.0]])
        merged = merge_pieces(weights, [0, 0, 1, 2], [0, 1, 1])
        np.testing.assert_allclose(merged, [[0.3, 0.7], [0.3, 0.7], [1.0, 0.0]])

    @pytest.mark.parametrize("text", ["L'homme n'est pas ici", FRENCH, "Extraordinairement, xylophone!"])
    def test_words_are_those_of_split_words(self, model, tokenizer, text):
        maps = attention_maps(model, tokenizer, ENGLISH, text)
        words = word_maps(maps)
        source, target = split_words(ENGLISH), split_words(text)
        assert words.labels("cross") == ([*target, "<eos>"], [*source, "<eos>"])
        assert words.labels("decoder")[1] == ["<bos>", *target]
        assert len(maps.written) > len(words.written)
        for part in ("encoder", "decoder", "cross"):
            np.testing.assert_allclose(getattr(words, part).sum(axis=-1), 1.0, atol=1e-6)
        total = maps.cross[..., -1, -1]
        np.testing.assert_allclose(words.cross[..., -1, -1], total)  # <eos> is a word of its own

    def test_only_a_word_of_several_pieces_looks_ahead(self, model, tokenizer):
        maps = attention_maps(model, tokenizer, ENGLISH, "Extraordinairement, le chat")
        pieces = np.bincount(word_numbers(maps.written))
        ahead = np.triu(word_maps(maps).decoder, k=1).max(axis=(0, 1))
        assert pieces[0] > 1 and np.array_equal(np.diag(ahead, k=1) > 0, pieces[:-1] > 1)
        assert np.triu(ahead, k=2).max() == 0

    def test_maps_of_whole_words_stay_as_they_are(self, maps):
        once, twice = word_maps(maps), word_maps(word_maps(maps))
        assert twice.written == once.written and np.array_equal(twice.cross, once.cross)


class TestAlignment:
    def test_links_are_the_largest_weights_without_the_ends(self):
        weights = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.9, 0.1, 0.0]])
        assert attention_links(weights) == {(0, 0), (1, 2)}

    def test_error_rate_by_hand(self):
        proposed = [{(0, 0), (1, 1), (2, 1)}, {(0, 1)}]
        sure = [{(0, 0), (3, 2)}, {(0, 1)}]
        possible = [{(0, 0), (3, 2), (1, 1)}, {(0, 1)}]
        assert alignment_error_rate(proposed, sure) == pytest.approx(1 - 4 / 7)
        assert alignment_error_rate(proposed, sure, possible) == pytest.approx(1 - 5 / 7)
        assert alignment_error_rate(sure, sure) == 0 and alignment_error_rate([{(5, 5)}], [{(0, 0)}]) == 1

    def test_sure_links_are_possible_ones(self):
        assert alignment_error_rate([{(0, 0)}], [{(0, 0)}], [set()]) == 0

    def test_errors(self):
        with pytest.raises(ValueError, match="sure: expected a set of links for each of 1 sentences, got 2"):
            alignment_error_rate([{(0, 0)}], [{(0, 0)}, set()])
        with pytest.raises(ValueError, match="possible: expected a set of links for each of 1 sentences, got 0"):
            alignment_error_rate([{(0, 0)}], [{(0, 0)}], [])
        with pytest.raises(ValueError, match="expected at least one link, got none"):
            alignment_error_rate([set()], [set()])


class TestAblation:
    def test_every_head_is_named_once(self, model):
        heads = attention_heads(model)
        assert len(set(heads)) == len(heads) == HEADS * (LAYERS[0] + 2 * LAYERS[1])
        assert heads[0] == ("encoder.layers.0.self_attention", 0)
        assert heads[-1] == ("decoder.layers.2.cross_attention", 4)

    @pytest.mark.parametrize(
        "chosen",
        [
            [("encoder.layers.1.self_attention", 3)],
            [("decoder.layers.0.self_attention", 0), ("decoder.layers.2.cross_attention", 1), ("decoder.layers.2.cross_attention", 4)],
        ],
    )
    def test_it_equals_zeroing_the_rows_of_w_o(self, model, tokenizer, chosen):
        whole = run(model)
        other, d = Transformer(model.config).double().eval(), model.config.d_model // HEADS
        other.load_state_dict(model.state_dict())
        with torch.no_grad():
            for name, head in chosen:  # w_o.weight is (out, in): the rows of W_O are its columns
                other.get_submodule(name).w_o.weight[:, head * d : (head + 1) * d] = 0
        with ablate_heads(model, chosen):
            silent = run(model)
        torch.testing.assert_close(silent, run(other), atol=1e-12, rtol=0)
        assert (silent - whole).abs().max() > 1e-3
        assert torch.equal(run(model), whole)  # and afterwards nothing has changed

    def test_decoding_with_a_cache_is_ablated_too(self, model):
        source = torch.randint(4, 200, (3, 7), generator=torch.Generator().manual_seed(2))
        with ablate_heads(model, attention_heads(model)[-12:]):
            silent = greedy(model, source, max_len=5)
            assert silent == greedy(model, source, max_len=5, engine="plain")
        assert silent != greedy(model, source, max_len=5)

    def test_the_model_is_whole_after_an_error(self, model):
        whole = run(model)
        with pytest.raises(RuntimeError), ablate_heads(model, attention_heads(model)):
            raise RuntimeError
        assert torch.equal(run(model), whole)

    @pytest.mark.parametrize("head", [("decoder.layers.0.cross_attention", 5), ("decoder.layers.7.cross_attention", 0)])
    def test_unknown_heads_are_refused(self, model, head):
        with pytest.raises(ValueError, match="heads: expected pairs from .*attention_heads"):
            with ablate_heads(model, [head]):
                pass


class TestEdit:
    @pytest.mark.parametrize(
        "name", ["encoder.layers.1.self_attention", "decoder.layers.0.self_attention", "decoder.layers.2.cross_attention"]
    )
    def test_unedited_weights_give_the_same_output(self, model, name):
        with edit_attention(model, {name: lambda weights: weights}):
            torch.testing.assert_close(run(model), run(model), atol=0, rtol=0)
            same = run(model)
        torch.testing.assert_close(same, run(model), atol=1e-12, rtol=0)

    def test_the_edited_weights_mix_the_values_and_are_recorded(self, model):
        name = "decoder.layers.1.cross_attention"
        first = lambda weights: torch.eye(weights.shape[-1]).double()[0].expand_as(weights)
        seen = []
        layer = model.get_submodule(name)
        with edit_attention(model, {name: first}), record_attention(model) as maps:
            hook = layer.register_forward_hook(lambda layer, args, out: seen.append((args[2], out[0])))
            run(model)
            hook.remove()
        value, output = seen[0]
        torch.testing.assert_close(output, layer.w_o(layer.w_v(value[:, :1])).expand_as(output), atol=1e-12, rtol=0)
        assert (maps[name][..., 0] == 1).all()

    def test_decoding_with_a_cache_is_edited_too(self, model):
        even = lambda weights: torch.ones_like(weights) / weights.shape[-1]
        names = [f"decoder.layers.{n}.cross_attention" for n in range(LAYERS[1])]
        source = torch.randint(4, 200, (3, 7), generator=torch.Generator().manual_seed(2))
        outputs = []
        for edits in ({name: even for name in names}, {}):
            with edit_attention(model, edits) if edits else nullcontext():
                outputs.append(greedy(model, source, max_len=5))
                assert outputs[-1] == greedy(model, source, max_len=5, engine="plain")
        assert outputs[0] != outputs[1]

    def test_the_model_is_whole_afterwards(self, model):
        whole = run(model)
        with edit_attention(model, {"decoder.layers.1.cross_attention": torch.zeros_like}):
            assert not torch.equal(run(model), whole)
        assert torch.equal(run(model), whole)

    def test_layers_that_cannot_be_edited(self, model):
        with pytest.raises(ValueError, match="edits: expected names of layers, encoder.layers.0.self_att"):
            with edit_attention(model, {"decoder.layers.0": torch.zeros_like}):
                pass
        config = dataclasses.replace(model.config, positions="relative")
        with pytest.raises(ValueError, match="encoder.layers.0.self_attention: expected a layer whose values depend"):
            with edit_attention(Transformer(config), {"encoder.layers.0.self_attention": torch.zeros_like}):
                pass


def test_edits_in_half_precision_and_with_dropout(model):
    same = {"encoder.layers.0.self_attention": lambda weights: weights}
    source, target = torch.tensor([[5, 7, 2]]), torch.tensor([[1, 9]])
    for kind in (torch.float16, torch.bfloat16):
        half = accelerate(copy.deepcopy(model).to(kind))
        with edit_attention(half, same):
            torch.testing.assert_close(half(source, target), accelerate(half)(source, target), atol=0.05, rtol=0.05)
    layer = copy.deepcopy(model).encoder.layers[0].train()
    layer.self_attention.dropout, x = 0.9, torch.randn(1, 13, 70).double()
    for part in layer.residuals:
        part.dropout.p = 0.0
    layer.feed_forward.dropout.p = 0.0
    with edit_attention(layer, {"self_attention": lambda weights: weights}):
        assert not torch.equal(layer(x), layer(x))


def test_maps_of_16_bits_and_of_a_model_that_was_copied_while_training(model, tokenizer):
    assert attention_maps(copy.deepcopy(model).bfloat16(), tokenizer, ENGLISH, FRENCH).cross.shape[0] == LAYERS[1]
    translator = Translator(copy.deepcopy(model).train(), tokenizer)
    assert len(translator.attention(ENGLISH).written) > 0 and translator.model.training


def test_a_model_without_attention_is_refused(tokenizer):
    recurrent = GRUTranslator(TransformerConfig(tokenizer.vocab_size, d_model=12, num_encoder_layers=1, num_decoder_layers=1)).eval()
    for look in (lambda: attention_maps(recurrent, tokenizer, ENGLISH, FRENCH), lambda: ablate_heads(recurrent, [("x", 0)]).__enter__()):
        with pytest.raises(ValueError, match="model: expected one with layers of attention, got GRUTranslator; take a Transformer"):
            look()


def test_a_map_is_shown_in_a_line(model, tokenizer):
    """The weights themselves, printed, fill pages."""
    maps = attention_maps(model, tokenizer, ENGLISH, FRENCH)
    assert repr(maps).startswith("AttentionMaps(source=") and f"cross {maps.cross.shape}" in repr(maps)
    assert len(repr(maps)) < 250 and "\n" not in repr(maps)
