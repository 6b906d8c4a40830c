// Decoding, as xformer_lib.decoding does it: greedy and beam search. Both are generators that pause after each step, so that a
// page can breathe; both may begin after words that a reader chose. A path is {ids, states}: states[t] wrote ids[t].
const search = (() => {
  const logSoftmax = (logits) => {
    let top = -Infinity,
      total = 0;
    for (const value of logits) top = Math.max(top, value);
    for (const value of logits) total += Math.exp(value - top);
    const shift = top + Math.log(total);
    return logits.map((value) => value - shift);
  };
  const argmax = (x) => {
    let best = 0;
    for (let i = 1; i < x.length; i++) if (x[i] > x[best]) best = i;
    return best;
  };
  // The `count` largest of several rows: {value, row, id}, best first; of equals the earlier.
  const largest = (rows, count) => {
    const best = [];
    rows.forEach((values, row) => {
      for (let id = 0; id < values.length; id++) {
        const value = values[id];
        if (value === -Infinity || (best.length === count && value <= best[count - 1].value)) continue;
        let place = best.length;
        while (place > 0 && best[place - 1].value < value) place--;
        best.splice(place, 0, { value, row, id });
        if (best.length > count) best.pop();
      }
    });
    return best;
  };
  const topWords = (state, count) =>
    largest([logSoftmax(state.logits)], count).map(({ id, value }) => ({ id, probability: Math.exp(value) }));

  const probability = (state, id) => Math.exp(logSoftmax(state.logits)[id]);

  // As many words as twice the source and ten, at most the model's limit.
  const limitOf = (model, source) => Math.min(2 * source.length + 10, model.config.max_len - 1);
  const statesTo = (state) => {
    const states = [];
    for (let at = state; at; at = at.parent) states.unshift(at);
    return states;
  };
  const openings = (model, encoded, prefix) => {
    let state = model.begin(encoded),
      total = 0;
    for (const id of prefix) {
      total = Math.fround(total + logSoftmax(state.logits)[id]);
      state = model.step(state, id);
    }
    return { state, total };
  };

  // The likeliest word at each step; the path ends in <eos> unless the limit cut it.
  function* greedy(model, encoded, { prefix = [] } = {}) {
    const { eos_id: eos } = model.config,
      limit = limitOf(model, encoded.source),
      ids = [...prefix];
    let { state } = openings(model, encoded, prefix);
    while (true) {
      ids.push(argmax(state.logits));
      if (ids.at(-1) === eos || ids.length >= limit) return { ids, states: statesTo(state) };
      yield ids;
      state = model.step(state, ids.at(-1));
    }
  }

  // Up to `size` finished hypotheses, best first: {ids, states, logProb, score}; score is log p / length ** penalty.
  function* beam(model, encoded, { size = 4, penalty = 1, prefix = [] } = {}) {
    const { eos_id: eos } = model.config,
      limit = limitOf(model, encoded.source);
    let rows = [{ ids: [...prefix], ...openings(model, encoded, prefix) }],
      best = [];
    const add = (found) => {
      const scored = found.map(({ ids, state, total }) => ({ ids, state, logProb: total, score: total / ids.length ** penalty }));
      best = [...best, ...scored].sort((a, b) => b.score - a.score).slice(0, size);
    };
    while (true) {
      const totals = rows.map(({ state, total }) => logSoftmax(state.logits).map((value) => total + value));
      const found = largest(totals, size).map(({ value, row, id }) => ({
        ids: [...rows[row].ids, id],
        state: rows[row].state,
        total: value,
      }));
      const live = found.filter(({ ids }) => ids.at(-1) !== eos),
        length = found[0].ids.length;
      add(found.filter(({ ids }) => ids.at(-1) === eos));
      const cut = length >= limit;
      if (cut && !best.length) add(live); // none has ended: take those that were cut
      const bound = Math.max(...live.map(({ total }) => total)) / limit ** penalty;
      if (cut || !live.length || (best.length === size && best.at(-1).score >= bound)) {
        return best.map(({ state, ...one }) => ({ ...one, states: statesTo(state) }));
      }
      yield live.map(({ ids }) => ids);
      const states = model.advance(
        live.map(({ state }) => state),
        live.map(({ ids }) => ids.at(-1)),
      );
      rows = live.map((row, r) => ({ ...row, state: states[r] }));
    }
  }

  // Paths by either method, best first. After <eos>, or at the limit, the reader's words are the path.
  function* decode(model, encoded, { method, prefix = [] }) {
    if (prefix.at(-1) === model.config.eos_id || prefix.length >= limitOf(model, encoded.source)) {
      return [{ ids: [...prefix], states: statesTo(openings(model, encoded, prefix.slice(0, -1)).state) }];
    }
    return method === "beam" ? yield* beam(model, encoded, { prefix }) : [yield* greedy(model, encoded, { prefix })];
  }

  const finish = (steps) => {
    let next = steps.next();
    while (!next.done) next = steps.next();
    return next.value;
  };
  return { greedy, beam, decode, topWords, probability, limitOf, finish };
})();
