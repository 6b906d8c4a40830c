"""Names that are somewhere else now, or are called otherwise: the old ones work until 0.11, with a warning that says what to write."""

__all__ = ["OLD_MODULES", "OLD_NAMES"]

IN_THEIR_MODULE = {  # the package listed them, too
    "data.corpora": "CORPUS_ERRORS",
    "data.files": "write_atomically",
    "data.fragment": "Example fragment_split running_examples sample_example sample_pairs split_words",
    "data.pairs": "load_pairs save_pairs",
    "data.splits": "linked_groups sentence_keys",
    "data.tokenizer": "piece_words",
    "decoding.greedy_search": "likeliest",
    "decoding.limits": "evaluation_mode length_limits sayable",
    "decoding.translator": "store_column_major",
    "engine.cache": "KeyValueCache",
    "engine.captured": "CapturedSteps",
    "engine.decode": "CachedSteps PackedSteps PlainSteps",
    "engine.modules": "attend",
    "engine.products": "product",
    "engine.quantized": "Int8Embedding Int8Linear int8_is_exact int_product",
    "export.tokenizer": "export_tokenizer",
    "nn.multi_head": "masked_softmax",
    "nn.cost": "Cost measure_cost",
    "nn.grouped": "attention_class",
    "nn.layers": "Residual",
    "nn.positions": "POSITIONS alibi_slopes clock_angles sinusoidal_positions",
    "nn.recurrent": "AdditiveAttention GRUAttentionTranslator GRUTranslator RecurrentCache",
    "nn.variants": "SeriesReader left_half masked_mean patches write",
    "reference.multi_head": "per_head",
    "reference.permutations": "PermutationCheck",
    "reference.positions": "alibi_slopes frequencies learned_positions relative_index shift_matrix",
    "reference.single_head": "LayerCost layer_cost",
    "reference.transformer": (
        "Adam Attention BOS DecoderLayer EOS Embedding EncoderLayer FeedForward Layer LayerNorm Linear PAD Parameter Residual "
        "SelfAttention cross_entropy greedy"
    ),
    "training.checkpoint": "load_checkpoint load_setup load_tensors model_fingerprint save_checkpoint save_setup save_tensors",
    "training.checks": "check_warmup",
    "training.config": "PRESETS config_from_json config_to_json fine_tuned",
    "training.distributed": "process_group",
    "training.loss": "cross_entropy masked_cross_entropy",
    "training.memory": "bound_memory keep_few_kernels keep_freed_memory resident_memory return_unused_memory",
    "training.planning": "parameter_count ring_bytes step_flops",
    "training.precision": "has_bfloat16 pick_device",
    "training.processes": "SingleProcess",
    "training.rehearsal": "known_sentences rehearse",
    "training.run": "encode_pairs",
    "training.step": "to_tensors train_step",
}
OLD_MODULES = {"xformer_lib.nn": "xformer_lib.nn.attention", "xformer_lib.reference": "xformer_lib.reference.self_attention"}
RENAMED = {
    "decoding.by_columns": "decoding.translator.store_column_major",
    "engine.Dropout": "engine.modules.FastDropout",
    "engine.JointSteps": "engine.decode.PackedSteps",
    "engine.Linear": "engine.products.FastLinear",
    "engine.begin": "engine.decode.start_decoding",
    "engine.modules.Dropout": "engine.modules.FastDropout",
    "engine.products.Linear": "engine.products.FastLinear",
    "nn.attention.MultiHeadAttention": "nn.multi_head.MultiHeadAttention",
    "nn.attention.attention": "nn.multi_head.attention",
    "nn.attention.masked_softmax": "nn.multi_head.masked_softmax",
    "nn.positions.rotary": "nn.positions.apply_rotary",
    "nn.rotary": "nn.positions.apply_rotary",
    "reference.masks.padding_mask": "reference.masks.length_mask",
    "reference.padding_mask": "reference.masks.length_mask",
    "reference.self_attention.LayerCost": "reference.single_head.LayerCost",
    "reference.self_attention.cross_attention": "reference.single_head.cross_attention",
    "reference.self_attention.layer_cost": "reference.single_head.layer_cost",
    "reference.self_attention.self_attention": "reference.single_head.self_attention",
    "training.made_for": "training.checkpoint.model_fingerprint",
}
OLD_NAMES = RENAMED | {
    f"{module.partition('.')[0]}.{name}": f"{module}.{name}" for module, names in IN_THEIR_MODULE.items() for name in names.split()
}
