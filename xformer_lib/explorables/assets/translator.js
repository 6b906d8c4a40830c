// Our English–French model in the page: type, see the pieces, follow each step, choose another word, look at every head.
const start = ({ stage, data, say }) => {
  const { h } = kit;
  const PARTS = [["encoder", "encoder"], ["decoder", "decoder"], ["cross", "cross-attention"]];
  const LONGEST = 100; // pieces on an axis of the large map
  const state = { text: data.examples[0], method: "greedy", prefix: [], chosen: [], at: 0, shown: 0, part: "cross", layer: 1, head: 1 };
  const kept = {}; // the parts of the model that have arrived
  let engine = null, arriving = null, result = null, runs = 0;
  const times = {};

  // ---------------------------------------------------------------- controls
  const id = kit.fresh("text"), picker = kit.fresh("examples");
  const field = h("input", { type: "text", id, maxlength: 600, value: state.text, autocomplete: "off", lang: "en" });
  const examples = h("select", { id: picker }, data.examples.map((text) => h("option", {}, text)));
  examples.addEventListener("change", () => { field.value = examples.value; if (engine) ask(); });
  const go = kit.button(`Load the model (${data.megabytes} MB) and translate`, null, { type: "submit", onclick: null });
  const method = kit.choice({ label: "decoding", options: [["greedy", "greedy"], ["beam", "a beam of 4"]], value: state.method,
    onchange: (value) => { state.method = value; if (engine) ask(field.value === state.text ? state : {}); } });
  const form = h("form", { class: "xf-say-it" }, h("label", { for: id }, "English sentence"), field,
    h("div", { class: "xf-row" }, go, h("p", { class: "xf-control" }, h("label", { for: picker }, "or take"), examples), method));
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  const trouble = h("div", { role: "alert" });
  const loading = h("div", {}), opening = h("div", {}), body = h("div", {});
  opening.append(h("p", {}, h("strong", {}, "One translation, stored with the page:")),
    ...stage.closest("figure").querySelector(".xf-picture").cloneNode(true).childNodes);
  stage.append(form, trouble, loading, body, opening);

  const complain = (text, retry) => trouble.replaceChildren(...(text ? [h("p", {}, text)] : []), ...(retry ? [kit.button("Try again", retry)] : []));

  // ---------------------------------------------------------------- loading, on a click
  const load = async (again) => {
    const base = loader.folder();
    if (base === null) throw new Error(data.elsewhere);
    const bar = h("progress", { "aria-label": "Loading the model", max: 1, value: 0 }), text = h("span", {});
    loading.replaceChildren(h("p", { class: "xf-control" }, bar, text));
    say("Loading the model.");
    try {
      const files = await loader.load(base, kept, (done, total) => {
        bar.max = total;
        bar.value = done;
        text.textContent = `${kit.number(done / 1e6, 1)} of ${kit.number(total / 1e6, 1)} MB`;
      }, again);
      engine = loader.build(files);
      kept.parts = null; // the weights have been widened; the bytes may go
    } finally { loading.replaceChildren(); }
    go.textContent = "Translate";
    opening.remove();
  };

  // ---------------------------------------------------------------- from a sentence to paths
  const pause = () => new Promise((resolve) => setTimeout(resolve));
  const solve = async (run) => {
    const { tokenizer, model } = engine, ids = tokenizer.encode(state.text), longest = model.config.max_len - 1;
    if (ids.length > longest) throw new Error(`The model reads at most ${longest} pieces, this text has ${ids.length}; split it into shorter sentences.`);
    const began = performance.now(), source = [...ids, model.config.eos_id], encoded = model.encode(source);
    const walk = search.decode(model, encoded, state);
    let next = walk.next(), words = 0;
    for (let breath = began; !next.done; next = walk.next(), words++) {
      if (performance.now() - breath > 40) { await pause(); breath = performance.now(); }
      if (run !== runs) return null;
    }
    times.translation = performance.now() - began;
    times.step = times.translation / (words + 1);
    return { source, encoded, paths: next.value };
  };
  const ask = async ({ prefix = [], chosen = [], at = 0, again = false } = {}) => {
    const run = ++runs, clicked = performance.now(), first = !engine;
    Object.assign(state, { text: field.value, prefix, chosen, at, shown: 0 });
    complain(state.text.trim() ? "" : "Type a sentence first: there is nothing to translate.");
    if (!state.text.trim()) return;
    go.disabled = true;
    try {
      if (!engine) await (arriving ??= load(again).finally(() => { arriving = null; }));
      const found = run === runs ? await solve(run) : null;
      if (found === null) return;
      result = found;
      if (first) times.first = performance.now() - clicked;
      draw();
      say(`${said(path())} ${path().ids.length} steps.`);
    } catch (reason) {
      if (run !== runs) return;
      complain(reason.message, engine || loader.folder() === null ? null : () => ask({ again: true }));
    } finally { if (run === runs) go.disabled = false; }
  };

  // ---------------------------------------------------------------- what is shown
  const path = () => result.paths[state.shown];
  const ended = ({ ids }) => ids.at(-1) === engine.model.config.eos_id;
  const said = (one) => engine.tokenizer.decode(one.ids);
  const matrixOf = (part, layer, head) => {
    const rows = part === "encoder" ? result.encoded.weights[layer] : path().states.map((one) => one[part === "decoder" ? "self" : "cross"][layer]);
    return rows.map((row) => { const n = row.length / engine.model.config.num_heads; return Array.from(row.subarray(head * n, (head + 1) * n)); });
  };
  const names = () => {
    const { tokenizer, model } = engine, pieces = (ids) => tokenizer.pieces(ids).map(views.bare);
    const source = pieces(result.source), written = pieces(path().ids), read = pieces([model.config.bos_id, ...path().ids.slice(0, -1)]);
    return { encoder: [source, source], decoder: [written, read], cross: [written, source] }[state.part];
  };
  const AXES = { encoder: ["query", "key"], decoder: ["query (piece written)", "key (piece read)"], cross: ["query (piece written)", "key (source)"] };
  const WHOSE = {
    encoder: "Every piece of the source looks at every other, before and behind it.",
    decoder: "A row is named by the piece it is about to write, a column by the piece that was read there; the last cell of a row is the piece just read. A dash: not yet read.",
    cross: "A row is named by the French piece it is about to write; it looks at the English pieces.",
  };
  const topFive = () => search.topWords(path().states[state.at], 5).map((one) => ({ ...one, piece: engine.tokenizer.piece(one.id) }));
  const go_to = (t) => { state.at = Math.min(path().ids.length - 1, Math.max(0, t)); draw(); tellStep(); };
  const tellStep = () => {
    const [best] = topFive();
    say(`Step ${state.at + 1} of ${path().ids.length}: the model gives ${views.percent(best.probability)} to ${best.piece}; written: ${engine.tokenizer.piece(path().ids[state.at])}.`);
  };
  const take = async (word) => {
    const before = path().ids.slice(0, state.at);
    field.value = state.text;
    await ask({ prefix: [...before, word], chosen: [...state.chosen.filter((t) => t < state.at), state.at], at: state.at });
    say(`You took ${engine.tokenizer.piece(word)} at step ${state.at + 1}; the model goes on: ${said(path())}`);
  };

  const spelling = () => {
    const bytes = engine.tokenizer.pieces(result.source).filter((piece) => piece.startsWith("<0x")).length;
    return h("p", {}, `${result.source.length} pieces with their ids; ▁ is a space. No text is unknown: what the vocabulary does not hold is spelt in smaller pieces`,
      bytes ? `, here even in single bytes (${bytes} of them, such as <0xF0>), about which the model has learned next to nothing.` : ", at worst in single bytes.");
  };
  const draw = () => {
    const { tokenizer } = engine, { ids } = path(), { at, chosen } = state, inside = body.contains(document.activeElement) && nameOf(document.activeElement);
    const written = tokenizer.pieces(ids), before = tokenizer.decode(ids.slice(0, at));
    body.replaceChildren(
      h("p", { class: "xf-said", lang: "fr" }, said(path()) || "(nothing)"),
      ended(path()) ? "" : h("p", {}, `Cut after ${ids.length} pieces: no <eos> came within twice the source and ten.`),
      h("h3", {}, "What the model reads"), views.pieceList("Pieces of the source", tokenizer.pieces(result.source), result.source, "en"), spelling(),
      h("h3", {}, "How it writes"), views.steps(written, { at, chosen: (t) => chosen.includes(t), onstep: go_to }),
      h("div", { class: "xf-row" }, kit.button("← step back", () => go_to(at - 1), { disabled: at === 0 }),
        kit.button("step forward →", () => go_to(at + 1), { disabled: at === ids.length - 1 }),
        kit.button("the model's own words", () => ask(), { disabled: !chosen.length })),
      views.candidates(topFive(), { caption: `Step ${at + 1} of ${ids.length}, ${at ? `after “${before}”` : "at the beginning"}`, taken: ids[at], ontake: take }),
      path().score !== undefined
        ? views.hypotheses(result.paths, { shown: state.shown, text: said, onshow: (n) => { state.shown = n; state.at = Math.min(state.at, path().ids.length - 1); draw(); say(`Shown: ${said(path())}`); } }) : "",
      h("h3", {}, "Where it looks"), drawHeads());
    if (inside) refocus(inside);
  };
  // What had the focus before a new drawing gets it again; if it is gone, the present step does.
  const nameOf = (element) => element.getAttribute("aria-label") || element.textContent;
  const refocus = (name) => {
    const all = [...body.querySelectorAll("button:not(:disabled), [tabindex]")];
    (all.find((one) => nameOf(one) === name) || all.find((one) => one.getAttribute("aria-pressed") === "true")).focus({ preventScroll: true });
  };
  const drawHeads = () => {
    const { num_heads: heads, num_encoder_layers: m, num_decoder_layers: n } = engine.model.config, { part, layer, head } = state;
    const [rows, columns] = names(), kind = Object.fromEntries(PARTS)[part];
    const matrices = Array.from({ length: part === "encoder" ? m : n }, (_, l) => Array.from({ length: heads }, (_, k) => matrixOf(part, l, k)));
    const matrix = matrices[layer][head], [rowAxis, columnAxis] = AXES[part];
    const title = `${kind}, layer ${layer + 1}, head ${head + 1}`, wide = stage.clientWidth;
    const told = h("p", { "aria-hidden": "true" }, "Click a cell, or use the arrow keys, to read its weight.");
    const tell = (i, j) => {
      told.textContent = j < matrix[i].length ? `Query ${rows[i]}, key ${columns[j]}: weight ${kit.number(matrix[i][j])}.`
        : `Query ${rows[i]} may not look at ${columns[j]}: it has not been read yet.`;
      say(told.textContent);
    };
    const large = Math.max(rows.length, columns.length) > LONGEST
      ? h("p", {}, `The large map is drawn for up to ${LONGEST} pieces; this one would have ${rows.length} queries and ${columns.length} keys.`)
      : [views.map({ matrix, rows, columns, rowAxis, columnAxis, title, marked: part === "encoder" ? -1 : state.at, room: wide >= 770 ? wide - 290 : wide, tell }),
        told, h("p", {}, WHOSE[part], " Dark is 0, bright is 1; each row adds up to 1.")];
    const redraw = (change, text) => { Object.assign(state, change); draw(); say(text); };
    return h("div", {},
      kit.choice({ label: "attention of", options: PARTS, value: part, onchange: (value) => redraw({ part: value }, `All heads: ${Object.fromEntries(PARTS)[value]}.`) }),
      h("div", { class: "xf-row" }, h("div", {}, h("p", {}, "All heads, as layer.head"),
        views.heads(matrices, { layer, head, name: kind, onhead: (l, k) => redraw({ layer: l, head: k }, `${kind}, layer ${l + 1}, head ${k + 1}.`) })),
      h("div", { class: "xf-one" }, large)));
  };

  // ---------------------------------------------------------------- for tests and for other scripts
  const set = async (next) => {
    const { text = state.text, prefix = [], chosen = [], at = 0, shown = 0, ...rest } = next;
    Object.assign(state, rest);
    method.set(state.method);
    field.value = text;
    await ask({ prefix, chosen, at });
    if (!result) return;
    Object.assign(state, { shown, at });
    draw();
  };
  const read = () => ({ ...state, times, trouble: trouble.textContent, ...(result && engine ? {
    source: result.source, written: path().ids, translation: said(path()), topFive: topFive(), matrix: matrixOf(state.part, state.layer, state.head), names: names(),
    hypotheses: result.paths.map(({ ids, logProb, score }) => ({ ids, logProb, score })) } : {}) });
  return { set, read, engine: () => ({ ...engine, search }) };
};
