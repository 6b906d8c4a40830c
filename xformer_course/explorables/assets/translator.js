// Our English–French models in the page: type a text, see the pieces of each sentence, follow each step, choose another word, look at
// every head, and let the other model translate it back.
const start = ({ stage, data, say }) => {
  const { h } = kit,
    typed = typedWith(data.typed);
  const PARTS = [
    ["encoder", "encoder"],
    ["decoder", "decoder"],
    ["cross", "cross-attention"],
  ];
  const LONGEST = 100, // pieces on an axis of the large map
    isLong = (text) => text.length > 200 || text.trim().includes("\n"); // shown beside its translation, not before it
  const LANGUAGES = { en: "English", fr: "French" };
  // `kept`: the parts of a model that have arrived
  const ways = data.ways.map((one) => ({ ...one, languages: one.name.split("-"), kept: {}, engine: null, arriving: null }));
  let way = ways[0],
    result = null,
    runs = 0;
  const state = {
    way: way.name,
    text: way.examples[0],
    method: "greedy",
    sentence: 0,
    prefix: [],
    chosen: [],
    at: 0,
    shown: 0,
    part: "cross",
    layer: data.head[0],
    head: data.head[1],
  };
  let wanted = { text: state.text, sentence: 0, choices: [] }; // what was asked for last; choices: the reader's, for each sentence
  const times = {};

  // ---------------------------------------------------------------- controls
  const id = kit.fresh("text"),
    picker = kit.fresh("examples");
  const field = h("textarea", { id, rows: 2, autocomplete: "off", enterkeyhint: "go", "aria-describedby": `${id}-hint` });
  const caption = h("label", { for: id });
  const examples = h("select", { id: picker });
  // The list names the example that stands in the field, else none, so that every example can be chosen again.
  const follow = () => {
    examples.value = way.examples.includes(field.value) ? field.value : "";
  };
  field.addEventListener("input", follow);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    ask();
  });
  examples.addEventListener("change", () => {
    if (!examples.value) return follow();
    field.value = examples.value;
    if (way.engine || way.arriving) ask();
  });
  const go = kit.button("", null, { type: "submit", onclick: null });
  const nameButton = () => {
    go.textContent = way.engine ? "Translate" : `Load the model (${kit.number(way.megabytes, 1)} MB) and translate`;
  };
  const direction = kit.choice({
    label: "direction",
    options: ways.map((one) => [one.name, one.languages.map((each) => LANGUAGES[each]).join(" → ")]),
    value: way.name,
    onchange: (value) => {
      if (value !== way.name) turn(value);
    },
  });
  const method = kit.choice({
    label: "decoding",
    options: [
      ["greedy", "greedy"],
      ["beam", "a beam of 4"],
    ],
    value: state.method,
    onchange: (value) => {
      state.method = value;
      if (way.engine) ask(field.value === wanted.text ? wanted : {});
    },
  });
  const form = h(
    "form",
    { class: "xf-say-it" },
    direction,
    caption,
    field,
    h("p", { class: "xf-hint", id: `${id}-hint` }, "Enter translates; Shift and Enter begin a new line."),
    h("div", { class: "xf-row" }, go, h("p", { class: "xf-control" }, h("label", { for: picker }, "or choose"), examples), method),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    ask();
  });
  const trouble = h("div", { role: "alert" }),
    working = h("p", { class: "xf-working", "aria-live": "polite" });
  const loading = h("div", {}),
    opening = h("div", { class: "xf-stored" }),
    body = h("div", {});
  opening.append(
    h("p", {}, h("strong", {}, "One translation, stored with the page:")),
    ...stage.closest("figure").querySelector(".xf-picture").cloneNode(true).childNodes,
  );
  stage.append(form, trouble, loading, working, body, opening);

  // The reader's own next words; the form outlives every drawing, and with it what was typed.
  const mine = kit.fresh("piece");
  const own = h("input", {
    type: "text",
    id: mine,
    maxlength: 60,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    size: 14,
    "aria-describedby": `${mine}-hint`,
  });
  const ownForm = h(
    "form",
    { class: "xf-control" },
    h("label", { for: mine }, "or another piece"),
    own,
    h("button", { type: "submit", "aria-label": "take the piece in the field" }, "take it"),
    h("span", { id: `${mine}-hint` }, "A new word; or, after a +, the rest of the word already begun."),
  );
  ownForm.addEventListener("submit", (event) => {
    event.preventDefault();
    takeTyped();
  });
  const busy = (text) => {
    working.textContent = text;
    body.setAttribute("aria-busy", String(!!text));
    form.setAttribute("aria-busy", String(!!text));
  };
  const forget = () => {
    result = null;
    body.replaceChildren();
  };

  const complain = (text, retry) =>
    trouble.replaceChildren(...(text ? [h("p", {}, text)] : []), ...(retry ? [kit.button("Try again", retry)] : []));

  const NOTHING = { prefix: [], chosen: [], at: 0, shown: 0 }; // the reader has left a sentence to the model
  const OWN = `${NOTHING.prefix} ${NOTHING.shown}`;
  // A direction has its model, its languages and its examples. What the reader typed stays.
  const turn = (value, text = way.examples.includes(field.value) ? undefined : field.value) => {
    way = ways.find((one) => one.name === value);
    const [from, to] = way.languages;
    Object.assign(state, { way: value, text: text || way.examples[0], sentence: 0, ...NOTHING });
    runs += 1; // what is being translated will not be shown
    direction.set(value);
    caption.textContent = `${LANGUAGES[from]} text`;
    field.lang = examples.lang = from;
    own.lang = to;
    field.value = state.text;
    examples.replaceChildren(h("option", { value: "", lang: "en" }, "an example"), ...way.examples.map((one) => h("option", {}, one)));
    follow();
    nameButton();
    complain("");
    busy("");
    forget();
  };
  turn(way.name);

  // ---------------------------------------------------------------- loading, on a click
  const load = async (here, again) => {
    const base = loader.folder(`translator/${here.name}`);
    if (base === null) throw new Error(here.elsewhere);
    await Promise.allSettled(ways.filter((one) => one !== here).map((one) => one.arriving)); // one at a time
    const bar = h("progress", { "aria-label": "Loading the model", max: 1, value: 0 }),
      text = h("span", {});
    loading.replaceChildren(h("p", { class: "xf-control" }, bar, text));
    say("Loading the model.");
    try {
      const files = await loader.load(
        base,
        here.kept,
        (done, total) => {
          bar.max = total;
          bar.value = done;
          text.textContent = `${kit.number(done / 1e6, 1)} of ${kit.number(total / 1e6, 1)} MB`;
        },
        again,
      );
      const stored = (name) => new TextDecoder().decode(files[name]);
      const tokenizer = new tokens.Tokenizer(JSON.parse(stored("tokenizer.json"))),
        words = new Set(stored("words.txt").split(/\s+/).filter(Boolean)),
        { model: config } = JSON.parse(stored("config.json"));
      here.engine = {
        tokenizer,
        model: new transformer.Transformer(config, transformer.readTensors(files["model.safetensors"])),
        plan: (text) =>
          typed.cut(text, {
            fits: (part) => tokenizer.encode(part).length < config.max_len - 8, // <eos>, and pieces of a sign
            signed: tokenizer.encode(` ${typed.signs[0]}`).length === 1, // one piece: learned in training
            words,
          }),
      };
      here.kept.parts = null; // the weights have been widened; the bytes may go
    } finally {
      loading.replaceChildren();
    }
    nameButton();
    opening.remove();
  };

  // ---------------------------------------------------------------- from a text to paths
  const pause = () => new Promise((resolve) => setTimeout(resolve));
  // One sentence after the other. What the model said of each is kept, and of the one that is looked at all that it computed.
  const solve = async (run) => {
    const { tokenizer, model, plan } = way.engine,
      { text } = wanted,
      { method } = state,
      began = performance.now();
    let known = result?.text === text && result.method === method ? result : { ...plan(text), answers: [] },
      { choices } = wanted,
      answers = [...known.answers],
      sentence = Math.min(wanted.sentence, known.sentences.length - 1),
      steps = 0,
      breath = began,
      looked = null;
    for (let n = 0; n < known.sentences.length; n++) {
      const one = known.sentences[n];
      const { prefix, shown } = { ...NOTHING, ...choices[n] },
        key = `${prefix} ${shown}`;
      if (n !== sentence && answers[n]?.key === key) continue;
      if (known.sentences.length > 1) busy(`translating… sentence ${n + 1} of ${known.sentences.length}`);
      const source = [...tokenizer.encode(tokenizer.plain(one.text)), model.config.eos_id],
        encoded = model.encode(source);
      const walk = search.decode(model, encoded, { method, prefix });
      let next = walk.next();
      for (; !next.done; next = walk.next(), steps++) {
        if (performance.now() - breath > 40) {
          await pause();
          breath = performance.now();
        }
        if (run !== runs) return null;
      }
      const paths = next.value,
        { ids } = paths[Math.min(shown, paths.length - 1)];
      steps += 1;
      answers[n] = answer(ids, key);
      if (n === sentence) looked = { ...one, source, encoded, paths };
      if (known.settled || n < known.sentences.length - 1) continue;
      // The first answers are there: what lost a number among them is read in parts, once. A reader's own words stay.
      const parted = typed.withoutLoss(
        known,
        answers.map(({ said, key }) => (key === OWN ? said : undefined)),
      );
      if (parted) {
        const kept = new Map(known.sentences.map((each, place) => [each, answers[place]]));
        answers = parted.sentences.map((each) => kept.get(each));
        known = parted;
        [n, sentence, choices] = [-1, Math.min(sentence, parted.sentences.length - 1), []];
      }
      known = { ...known, settled: true };
    }
    times.translation = performance.now() - began;
    times.step = times.translation / Math.max(1, steps);
    return { ...known, text, method, choices, answers, sentence, looked };
  };
  const answer = (ids, key) => ({ said: typed.visible(way.engine.tokenizer.decode(ids)), ended: ids.at(-1) === way.engine.model.config.eos_id, key });
  // A later press always wins: the run before it stops at its next step.
  const ask = async ({ text = field.value, sentence = 0, choices = [], again = false } = {}) => {
    const run = ++runs,
      clicked = performance.now(),
      here = way,
      first = !here.engine;
    wanted = { text, sentence, choices };
    complain(text.trim() ? "" : "Type a text first: there is nothing to translate.");
    if (!text.trim()) {
      busy("");
      forget();
      say("");
      return;
    }
    busy(first ? "loading…" : "translating…");
    try {
      if (first)
        await (here.arriving ??= load(here, again).finally(() => {
          here.arriving = null;
        }));
      if (run !== runs) return;
      busy("translating…");
      await pause();
      const found = run === runs ? await solve(run) : null;
      if (found === null) return;
      result = found;
      Object.assign(state, { text, sentence: found.sentence, ...NOTHING, ...choices[found.sentence] });
      if (found.looked) {
        state.shown = Math.min(state.shown, found.looked.paths.length - 1);
        state.at = Math.min(state.at, path().ids.length - 1);
      }
      if (first) times.first = performance.now() - clicked;
      draw();
      const count = found.sentences.length,
        told = isLong(text) ? `${count} ${count === 1 ? "sentence is" : "sentences are"} translated.` : `${text} → ${whole()}`;
      say([told, ...notes().map((note) => `(${note})`), found.looked ? `${path().ids.length} steps.` : ""].join(" ").trim());
    } catch (reason) {
      if (run !== runs) return;
      forget();
      complain(reason.message, here.engine || loader.folder(`translator/${here.name}`) === null ? null : () => ask({ again: true }));
    } finally {
      if (run === runs) busy("");
    }
  };

  // ---------------------------------------------------------------- what is shown
  const path = () => result.looked.paths[state.shown];
  const whole = () =>
    typed.join(
      result,
      result.answers.map((one) => one.said),
    );
  const notes = () => {
    const endless = result.sentences.filter((_, n) => !result.answers[n].ended),
      more = endless.length > 1 ? ` and of ${endless.length - 1} more` : "",
      late = result.sentences.flatMap((one, n) => typed.misplaced(one, result.answers[n].said)),
      found = [...result.notes];
    if (endless.length)
      found.push(`no end within the limit, so it may be cut off: the translation of ${quoted(endless[0].text.slice(0, 40))}${more}`);
    if (late.length) found.push(`at the end, for the model lost their place: ${typed.list(late)}`);
    return found;
  };
  // As Python quotes a text.
  const quoted = (text) => {
    const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
    return mark + text.replaceAll("\\", "\\\\").replaceAll(mark, `\\${mark}`) + mark;
  };
  // What the reader chose in each sentence, with a change in the one that is looked at.
  const choicesWith = (change) => {
    const { prefix, chosen, at, shown } = state,
      choices = [...result.choices];
    choices[result.sentence] = { prefix, chosen, at, shown, ...change };
    return choices;
  };
  const ended = ({ ids }) => ids.at(-1) === way.engine.model.config.eos_id;
  const target = () => LANGUAGES[way.languages[1]];
  const said = (one) => typed.visible(way.engine.tokenizer.decode(one.ids));
  const matrixOf = (part, layer, head) => {
    const rows =
      part === "encoder"
        ? result.looked.encoded.weights[layer]
        : path().states.map((one) => one[part === "decoder" ? "self" : "cross"][layer]);
    return rows.map((row) => {
      const n = row.length / way.engine.model.config.num_heads;
      return Array.from(row.subarray(head * n, (head + 1) * n));
    });
  };
  const names = () => {
    const { tokenizer, model } = way.engine,
      pieces = (ids) => tokenizer.pieces(ids).map(views.bare);
    const source = pieces(result.looked.source),
      written = pieces(path().ids),
      read = pieces([model.config.bos_id, ...path().ids.slice(0, -1)]);
    return { encoder: [source, source], decoder: [written, read], cross: [written, source] }[state.part];
  };
  const AXES = {
    encoder: ["query", "key"],
    decoder: ["query (piece written)", "key (piece read)"],
    cross: ["query (piece written)", "key (source)"],
  };
  const WHOSE = {
    encoder: "Every piece of the source looks at every other, before and behind it.",
    decoder:
      "A row is labelled with the piece it is about to write, a column with the piece that was read there; the last cell of a row is the piece just read. A dash means not read yet.",
    cross: "A row is labelled with the piece it is about to write; it looks at the pieces of the source.",
  };
  const topFive = () => search.topWords(path().states[state.at], 5).map((one) => ({ ...one, piece: way.engine.tokenizer.piece(one.id) }));
  // The five, and the piece that was written if it is none of them.
  const offered = () => {
    const five = topFive(),
      id = path().ids[state.at];
    return five.some((one) => one.id === id)
      ? five
      : [...five, { id, probability: search.probability(path().states[state.at], id), piece: way.engine.tokenizer.piece(id) }];
  };
  const go_to = (t) => {
    state.at = Math.min(path().ids.length - 1, Math.max(0, t));
    draw();
    tellStep();
  };
  const tellStep = () => {
    const [best] = topFive();
    say(
      `Step ${state.at + 1} of ${path().ids.length}: the model gives ${views.percent(best.probability)} to ${best.piece}; written: ${way.engine.tokenizer.piece(path().ids[state.at])}.`,
    );
  };
  // Take one piece or several, from the present step on.
  const take = async (...words) => {
    const { text, sentence } = result,
      { at } = state,
      steps = words.map((_, n) => at + n),
      prefix = [...path().ids.slice(0, at), ...words];
    await ask({
      text,
      sentence,
      choices: choicesWith({ prefix, chosen: [...state.chosen.filter((t) => t < at), ...steps], at, shown: 0 }),
    });
    if (result) say(`You took ${way.engine.tokenizer.pieces(words).join(" ")} at step ${at + 1}; the model goes on: ${said(path())}`);
  };
  // What is typed as pieces: a new word where one may begin; after a plus it goes on with the word before.
  const typedPieces = (typed) => {
    const { tokenizer, model } = way.engine,
      before = tokenizer.decode(path().ids.slice(0, state.at));
    const text = tokenizer.straight(typed).replaceAll("▁", " ").trimEnd();
    if (text === tokenizer.piece(model.config.eos_id)) return [model.config.eos_id];
    if (/^\+./.test(text)) return tokenizer.encode(text.slice(1));
    return tokenizer.encode(/^[\p{L}\p{N}]/u.test(text) && before && !/['’(\- ]$/.test(before) ? ` ${text}` : text);
  };
  const takeTyped = async () => {
    complain("");
    try {
      const words = typedPieces(own.value),
        most = search.limitOf(way.engine.model, result.looked.source) - state.at;
      if (!words.length) throw new Error(`Type a ${target()} piece or word first: there is nothing to take.`);
      if (words.length > most)
        throw new Error(`At this step the translation has room for ${most} pieces, yours are ${words.length}; type less.`);
      own.value = "";
      await take(...words);
    } catch (reason) {
      complain(reason.message);
    }
  };

  // What was written becomes the source of the other model; a press loads that one first, where it has not come yet.
  const back = () => {
    turn(ways.find((one) => one !== way).name, whole());
    ask();
    field.focus({ preventScroll: true });
  };

  const spelling = () => {
    const bytes = way.engine.tokenizer.pieces(result.looked.source).filter((piece) => piece.startsWith("<0x")).length;
    return h(
      "p",
      {},
      `${result.looked.source.length} pieces with their ids; ▁ is a space. No text is unknown: what the vocabulary does not hold is spelt in smaller pieces`,
      bytes
        ? `, here even in single bytes (${bytes} of them, such as <0xF0>), about which the model has learned next to nothing.`
        : ", at worst in single bytes.",
    );
  };
  // The sentence that is looked at, as the model gets it, where that is not what was typed.
  const sentenceRead = () => {
    const { text, items, shouted } = result.looked,
      count = result.sentences.length;
    if (count === 1 && text === result.text) return "";
    const stand = items.map((item, n) => `${typed.signs[n]} stands for ${item.text}`);
    return h(
      "p",
      {},
      count > 1 ? `Sentence ${result.sentence + 1} of ${count}, as the model gets it: ` : "The sentence as the model gets it: ",
      h("span", { lang: way.languages[0] }, text),
      stand.length ? ` (${stand.join(", ")})` : "",
      shouted ? " (capitals come back at the end)" : "",
    );
  };
  const draw = () => {
    const [from, to] = way.languages,
      active = document.activeElement,
      inside = body.contains(active) && (active === own ? own : nameOf(active)),
      count = result.sentences.length;
    const look = (n) => ask({ text: result.text, sentence: n, choices: choicesWith({}) });
    body.replaceChildren(
      h(
        "p",
        { class: isLong(result.text) ? "xf-said xf-long" : "xf-said" },
        h("span", { lang: from }, result.text),
        h("span", {}, " → "),
        h("strong", { lang: to }, whole() || "(nothing)"),
      ),
      ...notes().map((note) => h("p", { class: "xf-note" }, note)),
      ...(count
        ? [h("p", {}, kit.button("translate it back", back, { disabled: !whole() })), ...drawInside(look)]
        : [h("p", {}, "This text has no word that the model could read, so it comes back as it was.")]),
    );
    if (inside) refocus(inside);
  };
  const drawInside = (look) => {
    const { tokenizer } = way.engine,
      { ids } = path(),
      { at, chosen } = state,
      [from, to] = way.languages,
      { source, paths } = result.looked,
      written = tokenizer.pieces(ids),
      before = tokenizer.decode(ids.slice(0, at));
    return [
      result.sentences.length > 1 ? views.sentences(result.sentences, { shown: result.sentence, lang: from, onlook: look }) : "",
      ended(path()) ? "" : h("p", {}, `Cut off after ${ids.length} pieces: no <eos> came within twice the length of the source plus ten.`),
      h("h3", {}, "What the model reads"),
      sentenceRead(),
      views.pieceList("Pieces of the source", tokenizer.pieces(source), source, from),
      spelling(),
      h("h3", {}, "How it writes"),
      views.steps(written, { at, lang: to, chosen: (t) => chosen.includes(t), onstep: go_to }),
      h(
        "div",
        { class: "xf-row" },
        kit.button("← step back", () => go_to(at - 1), { disabled: at === 0 }),
        kit.button("step forward →", () => go_to(at + 1), { disabled: at === ids.length - 1 }),
        kit.button("the model's own words", () => ask({ text: result.text, sentence: result.sentence, choices: choicesWith(NOTHING) }), {
          disabled: !chosen.length,
        }),
      ),
      views.candidates(offered(), {
        caption: `Step ${at + 1} of ${ids.length}, ${at ? `after “${before}”` : "at the beginning"}`,
        lang: to,
        taken: ids[at],
        ontake: take,
      }),
      ownForm,
      path().score !== undefined
        ? views.hypotheses(paths, {
            shown: state.shown,
            lang: to,
            text: said,
            onshow: (n) => {
              show(n);
              draw();
              say(`Shown: ${said(path())}`);
            },
          })
        : "",
      h("h3", {}, "Where it looks"),
      drawHeads(),
    ];
  };
  // Another hypothesis of the beam: the whole text has it, too.
  const show = (n) => {
    state.shown = n;
    state.at = Math.min(state.at, path().ids.length - 1);
    result.answers[result.sentence] = answer(path().ids, `${state.prefix} ${n}`);
    result.choices[result.sentence] = choicesWith({})[result.sentence];
  };
  // What had the focus before a new drawing gets it again; if it is gone, the present step does.
  const nameOf = (element) => element.getAttribute("aria-label") || element.textContent;
  const refocus = (name) => {
    if (name === own) return own.focus({ preventScroll: true });
    const all = [...body.querySelectorAll("button:not(:disabled), select, [tabindex]")];
    (all.find((one) => nameOf(one) === name) || all.find((one) => one.getAttribute("aria-pressed") === "true"))?.focus({
      preventScroll: true,
    });
  };
  const drawHeads = () => {
    const { num_heads: heads, num_encoder_layers: m, num_decoder_layers: n } = way.engine.model.config,
      { part, layer, head } = state;
    const [rows, columns] = names(),
      kind = Object.fromEntries(PARTS)[part];
    const matrices = Array.from({ length: part === "encoder" ? m : n }, (_, l) =>
      Array.from({ length: heads }, (_, k) => matrixOf(part, l, k)),
    );
    const matrix = matrices[layer][head],
      [rowAxis, columnAxis] = AXES[part];
    const title = `${kind}, layer ${layer + 1}, head ${head + 1}`,
      wide = stage.clientWidth;
    const told = h("p", { "aria-hidden": "true" }, "Click a cell, or use the arrow keys, to read its weight.");
    const tell = (i, j) => {
      told.textContent =
        j < matrix[i].length
          ? `Query ${rows[i]}, key ${columns[j]}: weight ${kit.number(matrix[i][j])}.`
          : `Query ${rows[i]} may not look at ${columns[j]}: it has not been read yet.`;
      say(told.textContent);
    };
    const large =
      Math.max(rows.length, columns.length) > LONGEST
        ? h(
            "p",
            {},
            `The large map is drawn for up to ${LONGEST} pieces; this one would have ${rows.length} queries and ${columns.length} keys.`,
          )
        : [
            views.map({
              matrix,
              rows,
              columns,
              rowAxis,
              columnAxis,
              title,
              marked: part === "encoder" ? -1 : state.at,
              room: wide >= 770 ? wide - 290 : wide,
              tell,
            }),
            told,
            h("p", {}, WHOSE[part], " Paper is 0, deep violet is 1; each row adds up to 1."),
          ];
    const redraw = (change, text) => {
      Object.assign(state, change);
      draw();
      say(text);
    };
    return h(
      "div",
      {},
      kit.choice({
        label: "attention of",
        options: PARTS,
        value: part,
        onchange: (value) => redraw({ part: value }, `All heads: ${Object.fromEntries(PARTS)[value]}.`),
      }),
      h(
        "div",
        { class: "xf-row" },
        h(
          "div",
          {},
          h("p", {}, "All heads, as layer.head"),
          views.heads(matrices, {
            layer,
            head,
            name: kind,
            onhead: (l, k) => redraw({ layer: l, head: k }, `${kind}, layer ${l + 1}, head ${k + 1}.`),
          }),
        ),
        h("div", { class: "xf-one" }, large),
      ),
    );
  };

  // ---------------------------------------------------------------- for tests and for other scripts
  const set = async (next) => {
    const { text = state.text, sentence = 0, prefix = [], chosen = [], at = 0, shown = 0, ...rest } = next;
    if (rest.way && rest.way !== way.name) turn(rest.way, text);
    Object.assign(state, rest);
    method.set(state.method);
    field.value = text;
    follow();
    const choices = [];
    choices[sentence] = { prefix, chosen, at, shown };
    await ask({ sentence, choices });
  };
  const read = () => ({
    ...state,
    times,
    trouble: trouble.textContent,
    ...(result && {
      whole: whole(),
      notes: notes(),
      sentences: result.sentences.map(({ text }) => text),
    }),
    ...(result?.looked && {
      source: result.looked.source,
      written: path().ids,
      translation: typed.finish(result.looked, said(path())),
      topFive: topFive(),
      matrix: matrixOf(state.part, state.layer, state.head),
      names: names(),
      hypotheses: result.looked.paths.map(({ ids, logProb, score }) => ({ ids, logProb, score })),
    }),
  });
  return { set, read, engine: () => ({ ...way.engine, search, typed }) };
};
