// The Transformer of the book in plain arithmetic: pre-norm, sinusoidal or rotary positions, one embedding for three uses. Vectors
// are Float32Array, sums are doubles. The same numbers as xformer_lib.nn gives, to rounding.
const transformer = (() => {
  // ---------------------------------------------------------------- weights: a safetensors file of float16
  const half = (bits) => {
    const sign = bits & 0x8000 ? -1 : 1,
      exponent = (bits >> 10) & 31,
      fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
  };
  const HALVES = new Float32Array(65536).map((_, bits) => half(bits));
  const widen = (bytes, start, end) => {
    const numbers = new Float32Array((end - start) / 2);
    for (let i = 0; i < numbers.length; i++) numbers[i] = HALVES[bytes[start + 2 * i] | (bytes[start + 2 * i + 1] << 8)];
    return numbers;
  };
  const readTensors = (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const first = 8 + Number(view.getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, first)));
    const tensors = {};
    for (const [
      name,
      {
        dtype,
        data_offsets: [start, end],
      },
    ] of Object.entries(header).filter(([name]) => name !== "__metadata__")) {
      if (dtype !== "F16") throw new Error(`${name}: expected float16 weights, got ${dtype}; build the book again.`);
      tensors[name] = widen(bytes, first + start, first + end);
    }
    return tensors;
  };

  // ---------------------------------------------------------------- arithmetic; widths are multiples of 4
  const dot = (a, i, b, j, n) => {
    let s0 = 0,
      s1 = 0,
      s2 = 0,
      s3 = 0;
    for (const end = i + n; i < end; i += 4, j += 4) {
      s0 += a[i] * b[j];
      s1 += a[i + 1] * b[j + 1];
      s2 += a[i + 2] * b[j + 2];
      s3 += a[i + 3] * b[j + 3];
    }
    return s0 + s1 + s2 + s3;
  };
  // Every row of x times every row of the weight. Four rows of the weight stay in the fast cache while they serve all rows of x,
  // and each number of x, widened once, serves four sums.
  const linear = (x, { weight, bias }) => {
    const outer = bias.length,
      inner = weight.length / outer,
      rows = x.length / inner,
      out = new Float32Array(rows * outer);
    const wide = new Float64Array(x);
    for (let o = 0; o < outer; o += 4) {
      for (let r = 0; r < rows; r++) {
        let s0 = bias[o],
          s1 = bias[o + 1],
          s2 = bias[o + 2],
          s3 = bias[o + 3];
        let i0 = o * inner,
          i1 = i0 + inner,
          i2 = i1 + inner,
          i3 = i2 + inner;
        for (let c = r * inner, end = c + inner; c < end; c++, i0++, i1++, i2++, i3++) {
          const value = wide[c];
          s0 += weight[i0] * value;
          s1 += weight[i1] * value;
          s2 += weight[i2] * value;
          s3 += weight[i3] * value;
        }
        const at = r * outer + o;
        out[at] = s0;
        out[at + 1] = s1;
        out[at + 2] = s2;
        out[at + 3] = s3;
      }
    }
    return out;
  };
  const layerNorm = (x, { weight, bias }) => {
    const n = bias.length,
      out = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += n) {
      let mean = 0,
        square = 0;
      for (let i = 0; i < n; i++) mean += x[at + i] / n;
      for (let i = 0; i < n; i++) square += (x[at + i] - mean) ** 2 / n;
      const scale = 1 / Math.sqrt(square + 1e-5);
      for (let i = 0; i < n; i++) out[at + i] = (x[at + i] - mean) * scale * weight[i] + bias[i];
    }
    return out;
  };
  const relu = (x) => x.map((value) => (value > 0 ? value : 0));
  const add = (x, y) => x.map((value, i) => value + y[i]);
  const softmaxAt = (x, start, n) => {
    let top = -Infinity,
      total = 0;
    for (let i = start; i < start + n; i++) top = Math.max(top, x[i]);
    for (let i = start; i < start + n; i++) total += Math.exp(x[i] - top);
    for (let i = start; i < start + n; i++) x[i] = Math.exp(x[i] - top) / total;
  };
  const rowsOf = (x, width) => Array.from({ length: x.length / width }, (_, i) => x.subarray(i * width, (i + 1) * width));

  const joined = (rows) => {
    const all = new Float32Array(rows.length * rows[0].length);
    rows.forEach((row, i) => all.set(row, i * row.length));
    return all;
  };

  // One query row against lists of key and value rows. The weights lie head after head: weights[head * keys.length + j].
  const attend = (query, keys, values, heads) => {
    const width = query.length / heads,
      n = keys.length;
    const scores = new Float64Array(heads * n),
      mixed = new Float64Array(query.length);
    for (let head = 0; head < heads; head++) {
      const at = head * width;
      for (let j = 0; j < n; j++) scores[head * n + j] = dot(query, at, keys[j], at, width) / Math.sqrt(width);
      softmaxAt(scores, head * n, n);
      for (let j = 0; j < n; j++) for (let e = at; e < at + width; e++) mixed[e] += scores[head * n + j] * values[j][e];
    }
    return { output: Float32Array.from(mixed), weights: Float32Array.from(scores) };
  };

  // ---------------------------------------------------------------- the model
  const part = (tensors, name) => ({ weight: tensors[`${name}.weight`], bias: tensors[`${name}.bias`] });
  const attentionParts = (tensors, name) =>
    Object.fromEntries(["w_q", "w_k", "w_v", "w_o"].map((one) => [one, part(tensors, `${name}.${one}`)]));
  const stack = (tensors, name, count, kinds) =>
    Array.from({ length: count }, (_, n) => {
      const at = `${name}.layers.${n}`;
      return {
        ...Object.fromEntries(kinds.map((kind) => [kind, attentionParts(tensors, `${at}.${kind}_attention`)])),
        inner: part(tensors, `${at}.feed_forward.w_1`),
        outer: part(tensors, `${at}.feed_forward.w_2`),
        norms: [...kinds, "feed"].map((_, i) => part(tensors, `${at}.residuals.${i}.norm`)),
      };
    });

  class Transformer {
    constructor(config, tensors) {
      if (config.norm !== "pre" || !["sinusoidal", "rotary"].includes(config.positions)) {
        throw new Error(
          `config: expected norm "pre" and positions "sinusoidal" or "rotary", got ${config.norm}, ${config.positions}; this script has only these.`,
        );
      }
      this.config = config;
      this.embedding = tensors["embedding.weight"];
      this.output = { weight: this.embedding, bias: new Float32Array(config.vocab_size) };
      this.encoder = stack(tensors, "encoder", config.num_encoder_layers, ["self"]);
      this.decoder = stack(tensors, "decoder", config.num_decoder_layers, ["self", "cross"]);
      this.norms = { encoder: part(tensors, "encoder.norm"), decoder: part(tensors, "decoder.norm") };
    }

    // Scaled token vectors, row after row, plus sinusoids where these are the positions.
    embed(ids, start = 0) {
      const width = this.config.d_model,
        x = new Float32Array(ids.length * width),
        scale = Math.sqrt(width),
        sinusoids = this.config.positions === "sinusoidal";
      ids.forEach((id, i) => {
        for (let c = 0; c < width; c++) {
          const angle = (start + i) * 10000 ** (((c % 2) - c) / width);
          x[i * width + c] = this.embedding[id * width + c] * scale;
          if (sinusoids) x[i * width + c] += Math.fround(c % 2 ? Math.cos(angle) : Math.sin(angle));
        }
      });
      return x;
    }

    // A query or key of the place `position`, turned pair by pair in each head where the positions are rotary.
    turn(x, position) {
      if (this.config.positions !== "rotary") return x;
      const width = x.length / this.config.num_heads,
        turned = new Float32Array(x.length);
      for (let c = 0; c < x.length; c += 2) {
        const angle = position * 10000 ** (-(c % width) / width),
          [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        turned[c] = x[c] * cos - x[c + 1] * sin;
        turned[c + 1] = x[c] * sin + x[c + 1] * cos;
      }
      return turned;
    }

    #feed(layer, x) {
      return add(x, linear(relu(linear(layerNorm(x, layer.norms.at(-1)), layer.inner)), layer.outer));
    }

    // The memory of a source and the encoder's weights: weights[layer][query][head * keys + key].
    encode(source) {
      const { d_model: width, num_heads: heads } = this.config,
        weights = [];
      let x = this.embed(source);
      for (const layer of this.encoder) {
        const { w_q, w_k, w_v, w_o } = layer.self,
          normed = layerNorm(x, layer.norms[0]);
        const [queries, keys, values] = [w_q, w_k, w_v].map((one) => rowsOf(linear(normed, one), width));
        const turned = keys.map((key, i) => this.turn(key, i));
        const found = queries.map((query, i) => attend(this.turn(query, i), turned, values, heads));
        weights.push(found.map((one) => one.weights));
        x = this.#feed(layer, add(x, linear(joined(found.map(({ output }) => output)), w_o)));
      }
      const memory = layerNorm(x, this.norms.encoder);
      const cross = this.decoder.map(({ cross: { w_k, w_v } }) => [w_k, w_v].map((one) => rowsOf(linear(memory, one), width)));
      return { source, memory, cross, weights };
    }

    // What the decoder knows after <bos>. A state is never changed, so several can go on from one.
    begin(encoded) {
      const empty = this.decoder.map(() => ({ keys: [], values: [] }));
      return this.step({ encoded, cache: empty, length: 0 }, this.config.bos_id);
    }

    step(state, id) {
      return this.advance([state], [id])[0];
    }

    // Each state reads one more word, all with one pass over the weights: the next word's logits, and this row's attention weights
    // over the words read and over the source.
    advance(states, ids) {
      const { d_model: width, num_heads: heads, max_len: limit } = this.config;
      if (states.some((state) => state.length >= limit)) throw new Error(`The model writes at most ${limit - 1} pieces.`);
      const next = states.map((state, r) => ({
        encoded: state.encoded,
        id: ids[r],
        parent: state.length ? state : null,
        length: state.length + 1,
        cache: [],
        self: [],
        cross: [],
      }));
      const rows = (x, parts) => parts.map((one) => rowsOf(linear(x, one), width));
      let x = joined(states.map((state, r) => this.embed([ids[r]], state.length)));
      this.decoder.forEach((layer, n) => {
        const { w_q, w_k, w_v, w_o } = layer.self;
        const [queries, newKeys, newValues] = rows(layerNorm(x, layer.norms[0]), [w_q, w_k, w_v]);
        const own = next.map((one, r) => {
          const { length: at, cache } = states[r],
            keys = [...cache[n].keys, this.turn(newKeys[r], at)],
            values = [...cache[n].values, newValues[r]];
          one.cache.push({ keys, values });
          return attend(this.turn(queries[r], at), keys, values, heads);
        });
        x = add(x, linear(joined(own.map(({ output }) => output)), w_o));
        const [consulting] = rows(layerNorm(x, layer.norms[1]), [layer.cross.w_q]);
        const read = next.map((one, r) => attend(consulting[r], ...one.encoded.cross[n], heads));
        x = this.#feed(layer, add(x, linear(joined(read.map(({ output }) => output)), layer.cross.w_o)));
        next.forEach((one, r) => {
          one.self.push(own[r].weights);
          one.cross.push(read[r].weights);
        });
      });
      const logits = this.logits(layerNorm(x, this.norms.decoder));
      return next.map((one, r) => ({ ...one, logits: logits[r] }));
    }

    // A row of logits for each row of x; <pad> and <bos> are never said.
    logits(x) {
      const { vocab_size: size, pad_id, bos_id } = this.config,
        logits = rowsOf(linear(x, this.output), size);
      for (const row of logits) row[pad_id] = row[bos_id] = -Infinity;
      return logits;
    }
  }
  return { Transformer, readTensors };
})();
