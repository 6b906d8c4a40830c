"""The comparison with other libraries: it runs, everyone works, and the same weights say the same words."""

import json
import math
import time

import numpy as np
import pytest
import torch

from benchmarks import peers, turns
from benchmarks.contenders import CONTENDERS, SETTINGS, Contender, Sizes, contender_class, is_installed, useful_flops
from tests.ci import continuous
from xformer_lib.data.batching import make_batch

TRAINING = [name for name in CONTENDERS if contender_class(name).trains]
PEERS = [name for name in CONTENDERS if not name.startswith("ours")]


def need(name):
    if not is_installed(name):
        pytest.skip(f"{name} is not installed; `make bench` adds it (requirements-bench.lock)")


class Here(turns.Worker):
    """A worker without a process."""

    def __init__(self, make, *arguments, threads=1):
        self.subject = make(*arguments)

    def ask(self, method, *arguments):
        cpu, wall = time.process_time(), time.perf_counter()
        value = 0.0 if method == "peak_memory" else getattr(self.subject, method)(*arguments)
        return turns.Answer(value, time.process_time() - cpu, time.perf_counter() - wall)

    def close(self):
        pass


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """The smallest run of everybody who is here, in one process (test_turns.py has them in their own), and the file it writes."""
    path = tmp_path_factory.mktemp("bench") / "peers.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "Worker", Here)
        record = peers.main(["--smoke", "--settings", "float32", "--tasks", "greedy", "--sentences", "5", "--json", str(path)])
    return record, json.loads(path.read_text(encoding="utf-8"))


def row_of(table, name):
    return next(row for row in table["rows"] if row["name"] == name)


@continuous
class TestSmoke:
    def test_the_file_holds_every_sample(self, smoke):
        record, stored = smoke
        assert stored == json.loads(json.dumps(record))
        [table] = stored["training"]
        for row in table["rows"]:
            assert len(row["cpu_seconds"]) == len(row["wall_seconds"]) == len(table["target_tokens"]) == len(table["gigaflop"]) == 4
            assert min(row["cpu_seconds"]) > 0 and min(row["wall_seconds"]) > 0
        assert {"command", "commit", "device", "threads", "clock", "versions", "sizes", "corpus", "minutes"} <= set(stored)

    @pytest.mark.parametrize("name", TRAINING)
    def test_everyone_trains(self, smoke, name):
        need(name)
        row = row_of(smoke[0]["training"][0], name)
        ignorant = math.log(Sizes().vocab_size)
        assert abs(row["losses"][0] - ignorant) < 2
        assert np.mean(row["losses"][-3:]) < row["losses"][0] - peers.LEARNT
        assert row["over_ours"]["low"] <= row["over_ours"]["median"] <= row["over_ours"]["high"]

    def test_ours_is_the_measure(self, smoke):
        record, _ = smoke
        for table in record["training"] + record["decoding"]:
            assert row_of(table, "ours")["over_ours"] == {"median": 1.0, "low": 1.0, "high": 1.0}
            first, second = row_of(table, "ours"), table["rows"][-1]
            assert second["over_ours"]["median"] == pytest.approx(
                np.median(np.divide(second["cpu_seconds"], first["cpu_seconds"])), abs=2e-3
            )

    @pytest.mark.parametrize("name", PEERS)
    def test_everyone_decodes(self, smoke, name):
        need(name)
        ours = row_of(smoke[0]["decoding"][0], "ours")
        for table in smoke[0]["decoding"]:
            row = row_of(table, name)
            if row["weights"] == "own":
                assert row["equal_to_ours"] is None and row["tokens"] == ours["tokens"]
            else:
                assert row["equal_to_ours"] > (0.6 if "int8" in name else 0.95)

    def test_the_floor_is_above(self, smoke):
        [table] = smoke[0]["training"]
        assert set(table["peaks"]) == {"float32"}
        assert 0 < row_of(table, "ours")["fraction_of_peak"] < 1


class Idle(Contender):
    """A library that is very fast, because it does nothing."""

    name = "idle"

    def build(self, setting):
        return {"parameters": 0, "precision": "float32"}

    def train_step(self, batch):
        return math.log(self.sizes.vocab_size)

    def greedy(self, rows, lengths):
        return [[] for _ in rows]


class TestNobodyIsIdle:
    @pytest.fixture(autouse=True)
    def idle(self, monkeypatch):
        classes = {"idle": Idle, "ours": contender_class("ours")}
        monkeypatch.setattr(peers, "contender_class", classes.__getitem__)
        monkeypatch.setattr(peers, "Worker", Here)

    def test_in_training(self):
        batch = make_batch([([5, 7, 11], [13, 17])] * 3)
        with pytest.raises(ValueError, match="idle: expected a loss that falls .* does it learn"):
            peers.train_rounds("float32", peers.SMALL, [batch] * 7, 2, ["ours", "idle"], 1)

    def test_in_decoding(self):
        workers = {name: Here(peers.contender_class(name), Sizes(), 1) for name in ("ours", "idle")}
        workers["ours"].ask("load")
        with pytest.raises(ValueError, match="idle: expected .* tokens of greedy decoding, got 0"):
            peers.decode_rounds("greedy", 3, [[[5, 7, 2], [11, 2]]], [[3, 3]], workers)

    def test_another_loss_is_noticed(self):
        with pytest.raises(ValueError, match="x: expected a first loss near 9.0 nats, got 90"):
            peers.check_learns("x", [90.0, 3.0, 3.0, 3.0], Sizes())

    def test_other_weights_are_noticed(self):
        with pytest.raises(ValueError, match="expected our tokens in at least 95%"):
            peers.check_decodes("torch.nn.Transformer", "greedy", [[5], [7]], [[5], [11]], 0.5)
        with pytest.raises(ValueError, match="expected a translation of every sentence"):
            peers.check_decodes("CTranslate2 int8", "greedy", [[5], []], [[5], [11]], 0.5)


class TestTheSameModel:
    def test_operations_are_those_that_are_done(self):
        """Without padding, what PyTorch counts in our step is what `useful_flops` says."""
        from torch.utils.flop_counter import FlopCounterMode

        from xformer_lib.nn.transformer import Transformer, TransformerConfig
        from xformer_lib.training.loss import translation_loss

        sizes = Sizes(vocab_size=101, d_model=22, num_heads=2, d_ff=53, num_layers=2)
        model = Transformer(
            TransformerConfig(
                vocab_size=sizes.vocab_size,
                d_model=sizes.d_model,
                num_heads=sizes.num_heads,
                d_ff=sizes.d_ff,
                num_encoder_layers=sizes.num_layers,
                num_decoder_layers=sizes.num_layers,
            )
        )
        source, target = torch.randint(4, 101, (3, 13)), torch.randint(4, 101, (3, 7))
        with FlopCounterMode(display=False) as counter:
            translation_loss(model, source, target, target)[0].backward()
        assert useful_flops(sizes, [(13, 7)] * 3) == counter.get_total_flops()

    def test_marian_is_ours_with_post_norm(self):
        """Our post-norm model's weights in Marian give our logits: the peer is configured as the same computation."""
        need("HuggingFace Marian")
        from xformer_lib.nn.transformer import Transformer, TransformerConfig

        sizes = Sizes(vocab_size=101, d_model=22, num_heads=2, d_ff=53, num_layers=2, max_len=31)
        theirs = contender_class("HuggingFace Marian")(sizes, 1).new_model().eval()
        ours = Transformer(
            TransformerConfig(
                vocab_size=sizes.vocab_size,
                d_model=sizes.d_model,
                num_heads=sizes.num_heads,
                d_ff=sizes.d_ff,
                max_len=sizes.max_len,
                num_encoder_layers=sizes.num_layers,
                num_decoder_layers=sizes.num_layers,
                norm="post",
            )
        ).eval()
        with torch.no_grad():
            for parameter in ours.parameters():
                parameter += 0.1 * torch.randn_like(parameter)
        copy_into_marian(theirs, ours)
        source, target_in = torch.randint(4, 101, (3, 13)), torch.randint(4, 101, (3, 7))
        source[1, 8:] = 0
        with torch.no_grad():
            answer = theirs(input_ids=source, attention_mask=source != 0, decoder_input_ids=target_in).logits
            torch.testing.assert_close(answer, ours(source, target_in), atol=1e-4, rtol=1e-4)

    def test_parameters_are_as_many(self):
        """About 7.6 million for ours and for the peers that tie everything; x-transformers has one more matrix."""
        counts = {}
        for name in TRAINING:
            if is_installed(name):
                counts[name] = contender_class(name)(Sizes(), 1).build(SETTINGS["float32"])["parameters"]
        assert counts.pop("ours") == pytest.approx(7.6e6, rel=0.01)
        extra = counts.pop("x-transformers", None)
        assert all(count == pytest.approx(7.6e6, rel=0.02) for count in counts.values()), counts
        assert extra is None or extra > 9e6


def copy_into_marian(theirs, ours):
    """Names differ, and its positions have all sines before all cosines; the table is ours here."""

    def attention(to, of):
        for projection, own in (("q_proj", "w_q"), ("k_proj", "w_k"), ("v_proj", "w_v"), ("out_proj", "w_o")):
            getattr(to, projection).load_state_dict(getattr(of, own).state_dict())

    with torch.no_grad():
        theirs.model.shared.weight.copy_(ours.embedding.weight)
        for side in ("encoder", "decoder"):
            stack = getattr(theirs.model, side)
            stack.embed_positions.weight.copy_(ours.positions.table)
            for to, of in zip(stack.layers, getattr(ours, side).layers, strict=True):
                norms = [to.self_attn_layer_norm, to.final_layer_norm]
                attention(to.self_attn, of.self_attention)
                if side == "decoder":
                    attention(to.encoder_attn, of.cross_attention)
                    norms.insert(1, to.encoder_attn_layer_norm)
                to.fc1.load_state_dict(of.feed_forward.w_1.state_dict())
                to.fc2.load_state_dict(of.feed_forward.w_2.state_dict())
                for norm, residual in zip(norms, of.residuals, strict=True):
                    norm.load_state_dict(residual.norm.state_dict())


def test_who_is_missing_is_left_out(monkeypatch, capsys):
    installed = peers.is_installed
    monkeypatch.setattr(peers, "is_installed", lambda name: name == "ours" and installed(name))
    record = peers.main(["--smoke", "--settings", "--tasks", "--only", "x-transformers"])
    assert [one["name"] for one in record["contenders"]] == ["ours"]
    assert "x-transformers: not here (x_transformers is missing), left out." in capsys.readouterr().out
