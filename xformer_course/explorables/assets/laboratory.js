// Choose the parts of a Transformer, train it, watch. The numbers come from the page's Python (page_python.js of the book), which runs the code
// of page 9b as the reader has left it.
const start = ({ stage, data, say }) => {
  const { h, s } = kit;
  const PAGE = "09b_without_pytorch",
    TYPED = "xformer-typed",
    EXPORTED = /^#\|\s*exporti?\s+reference\.transformer[ \t]*\n+/;
  const inBook = document.documentElement.dataset.content_root !== undefined;
  const tasks = Object.fromEntries(data.tasks.map((task) => [task.name, task]));
  const state = { task: data.tasks[0].name, parts: { ...data.tasks[0].parts }, seed: 0, text: data.tasks[0].examples[0], look: "cross", head: "mean" };
  let python = null,
    running = null, // the press that trains now
    runs = [], // of this task: at most two, the last one is the reader's newest
    inPython = null, // the run whose model Python holds
    held = false, // whether the earlier one stays
    seen = null, // what the model made of the text, with its attention
    moments = [], // [step, text], as it changed
    told = 0;
  const others = {}; // the runs of the other task, for when the reader comes back to it

  // ---------------------------------------------------------------- the parts
  const SWITCHES = [
    ["positions", "Positions", "no positions"],
    ["causal_mask", "Causal mask", "no causal mask"],
    ["padding_mask", "Padding mask", "no padding mask"],
    ["scale", "Scale 1/\u221ad", "no scale"],
    ["residuals", "Residuals", "no residuals"],
    ["warm_up", "Warm-up", "no warm-up"],
  ];
  const NORMS = { pre: "norm first", post: "norm after the sum", none: "no norm" };
  const NUMBERS = [
    ["layers", "Layers", [1, 2, 3], (n) => `${n} layer${n > 1 ? "s" : ""}`],
    ["heads", "Heads", [1, 2, 4, 8], (n) => `${n} head${n > 1 ? "s" : ""}`],
    ["width", "Width", [8, 16, 24, 32, 64], (n) => `width ${n}`],
    ["rate", "Rate", [0.0025, 0.005, 0.01, 0.02, 0.04], (n) => `rate ${n}`],
    ["steps", "Steps", [200, 400, 800, 1200, 2400], (n) => `${n} steps`],
  ];
  const SEEDS = [0, 1, 2, 3, 4];
  // What is other than the task's own settings, in words.
  const inWords = (task, parts) => {
    const own = tasks[task].parts;
    const found = [
      ...SWITCHES.filter(([name]) => !parts[name]).map(([, , without]) => without),
      ...(parts.norm === own.norm ? [] : [NORMS[parts.norm]]),
      ...NUMBERS.filter(([name]) => parts[name] !== own[name]).map(([name, , , words]) => words(parts[name])),
    ];
    return found.length ? found.join(", ") : "everything in place";
  };

  const select = (label, options, onchange) => {
    const id = kit.fresh("select");
    const field = h("select", { id }, options.map(([value, text]) => h("option", { value }, text)));
    field.addEventListener("change", () => onchange(field.value));
    return Object.assign(h("p", { class: "xf-control" }, h("label", { for: id }, label), field), {
      set: (value) => {
        field.value = String(value);
      },
    });
  };
  const question = h("p", { class: "xf-lab-question" });
  const partsSummary = h("summary", {});
  const partsLegend = h("legend", {}, "Parts");
  const taskChoice = kit.choice({
    label: "Task",
    options: data.tasks.map((task) => [task.name, task.title]),
    value: state.task,
    onchange: (name) => set({ task: name, parts: { ...tasks[name].parts }, text: tasks[name].examples[0] }),
  });
  const experiment = select("Experiment", [["", "my own"], ...data.experiments.map((one, n) => [String(n), one.title])], (n) => {
    if (n !== "") set({ parts: { ...tasks[state.task].parts, ...data.experiments[n].parts } });
  });
  const switches = Object.fromEntries(
    SWITCHES.map(([name, label]) => [name, kit.button(label, () => setPart(name, !state.parts[name]), { "aria-pressed": "true" })]),
  );
  const norm = kit.choice({
    label: "Norm",
    options: [
      ["pre", "first"],
      ["post", "after the sum"],
      ["none", "none"],
    ],
    value: "pre",
    onchange: (value) => setPart("norm", value),
  });
  const numbers = NUMBERS.map(([name, label, values]) => [
    name,
    select(
      label,
      values.map((value) => [String(value), String(value)]),
      (value) => setPart(name, Number(value)),
    ),
  ]);
  const seedChoice = select(
    "Seed",
    SEEDS.map((seed) => [String(seed), String(seed)]),
    (seed) => set({ seed: Number(seed) }),
  );
  const setPart = (name, value) => set({ parts: { ...state.parts, [name]: value } });
  const sameAs = (parts) => Object.entries(parts).every(([name, value]) => state.parts[name] === value);
  const showParts = () => {
    taskChoice.set(state.task);
    for (const [name] of SWITCHES) switches[name].setAttribute("aria-pressed", String(state.parts[name]));
    norm.set(state.parts.norm);
    seedChoice.set(state.seed);
    partsSummary.textContent = `Settings: ${inWords(state.task, state.parts)}, seed ${state.seed}`;
    for (const [name, field] of numbers) field.set(state.parts[name]);
    const found = data.experiments.findIndex((one) => sameAs({ ...tasks[state.task].parts, ...one.parts }));
    experiment.set(found < 0 ? "" : found);
    question.textContent = found < 0 ? "What do you expect?" : `Before you press: ${data.experiments[found].ask.replace("{rows}", rows())}`;
  };

  // ---------------------------------------------------------------- what one sees
  const charts = h("div", { class: "xf-lab-charts" }),
    legend = h("ul", { class: "xf-lab-legend" });
  const progress = h("p", { class: "xf-lab-progress" });
  const COLOURS = ["var(--xf-quiet)", "var(--xf-accent)"];
  const rows = () => tasks[state.task].rows;
  const points = {
    loss: (run) => {
      const size = Math.max(1, Math.ceil(run.losses.length / 120)),
        made = [];
      for (let at = 0; at < run.losses.length; at += size) {
        const part = run.losses.slice(at, at + size);
        made.push([at + part.length, part.reduce((sum, one) => sum + one, 0) / part.length]);
      }
      return made;
    },
    right: (run) => [[0, 0], ...run.right.map(([step, share]) => [step, 100 * share])],
  };
  const chart = (kind, title, top, ticks) => {
    const width = Math.max(220, charts.clientWidth > 620 ? (charts.clientWidth - 16) / 2 : charts.clientWidth || 300),
      height = width < 420 ? 145 : 190,
      [left, right, up, down] = [34, 8, 24, 32];
    const last = Math.max(...runs.map((run) => run.steps), state.parts.steps),
      x = (step) => left + ((width - left - right) * step) / last,
      y = (value) => height - down - ((height - up - down) * Math.min(value, top)) / top;
    return s(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${runs.map((run) => described(run, kind)).join("; ") || "nothing yet"}` },
      s("text", { x: left, y: 15 }, title),
      ticks.map((value) => [
        s("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: "var(--xf-line)", opacity: 0.35 }),
        s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
      ]),
      [0, last / 2, last].map((step) =>
        s("text", { x: x(step), y: height - 12, "text-anchor": step === last ? "end" : step ? "middle" : "start" }, step === last ? `${step} steps` : String(step)),
      ),
      runs.map((run, n) =>
        s("polyline", {
          points: points[kind](run)
            .map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`)
            .join(" "),
          fill: "none",
          stroke: COLOURS[n + 2 - runs.length],
          "stroke-width": n === runs.length - 1 ? 2.5 : 2,
          "stroke-dasharray": n === runs.length - 1 ? null : "6 4",
        }),
      ),
    );
  };
  const count = (steps) => `${steps} step${steps === 1 ? "" : "s"}`;
  const described = (run, kind) => {
    const last = points[kind](run).at(-1);
    return `${run.words}, ${last ? `${kit.number(last[1], kind === "loss" ? 2 : 0)} after ${count(last[0])}` : "not begun"}`;
  };
  const drawCharts = () => {
    const highest = Math.max(3.5, ...runs.flatMap((run) => points.loss(run).map(([, value]) => value)));
    const unit = 10 ** Math.floor(Math.log10(highest / 2)),
      gap = unit * [5, 2, 1].find((one) => unit * one <= highest / 2);
    charts.replaceChildren(
      chart("loss", `Loss on the training ${rows()}`, highest, Array.from({ length: Math.floor(highest / gap) + 1 }, (_, n) => n * gap)),
      chart("right", `Held-out ${rows()} right, in %`, 100, [0, 50, 100]),
    );
    legend.replaceChildren(
      ...runs.map((run, n) => {
        const newest = n === runs.length - 1;
        const line = s(
          "svg",
          { width: 34, height: 12, "aria-hidden": "true" },
          s("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: COLOURS[n + 2 - runs.length], "stroke-width": 3, "stroke-dasharray": newest ? null : "6 4" }),
        );
        const cut = run !== running?.run && run.losses.length < run.steps ? `stopped at step ${run.losses.length}, ` : "";
        const now = run.losses.length ? `${cut}loss ${kit.number(points.loss(run).at(-1)[1])}, ${kit.number(points.right(run).at(-1)[1], 0)}\u00a0% right` : run === running?.run ? "begins" : "ended before its first step";
        const which = newest ? (running && running.run !== run ? "The last run" : "This run") : held ? "The kept run" : "The previous run";
        return h("li", {}, line, h("span", {}, `${which}: ${run.words} (${now})`), newest ? null : keeper);
      }),
    );
  };
  const keeper = kit.button("Keep it for comparison", () => {
    held = !held;
    keeper.setAttribute("aria-pressed", String(held));
    drawCharts();
    keeper.focus();
  });
  keeper.setAttribute("aria-pressed", "false");
  new ResizeObserver(drawCharts).observe(charts);

  const id = kit.fresh("text");
  const field = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false" }),
    fieldLabel = h("label", { for: id }),
    refused = h("p", { class: "xf-lab-refused" }),
    unread = h("p", { class: "xf-lab-unread" }), // why the text cannot be read
    words = h("details", { class: "xf-lab-words" }),
    examples = h("div", { class: "xf-row xf-lab-examples", role: "group", "aria-label": "Examples" }),
    written = h("ol", { class: "xf-lab-moments", reversed: true }),
    map = h("div", {}),
    lookBar = h("div", { class: "xf-row" }),
    below = h("div", { class: "xf-lab-below" }, h("div", {}, h("p", { class: "xf-lab-head" }, "What it makes of it"), written), h("div", {}, lookBar, map));
  let typing = 0;
  const read = () => {
    clearTimeout(typing);
    if (field.value !== state.text) set({ text: field.value });
  };
  field.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(read, 500);
  });
  field.addEventListener("change", read);
  const showWritten = () => {
    below.style.minHeight = `${below.offsetHeight}px`; // what stands below does not jump while the map changes
    const french = state.task === "fragment" ? "fr" : null;
    written.replaceChildren(
      ...moments
        .slice(-10)
        .reverse()
        .map(([step, text]) => h("li", {}, `from step ${step}: `, h("b", { lang: french }, text || "(nothing)"))),
    );
    if (!seen) return map.replaceChildren(h("p", { class: "xf-quiet" }, unread.textContent ? "" : "Where it looks appears here while it trains."));
    const { heads, rows, columns } = seen.looks[state.look],
      shown = state.head === "mean" || !heads[state.head] ? null : state.head,
      mean = (i, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length;
    const which = shown === null ? (heads.length > 1 ? `mean of ${heads.length} heads` : "its one head") : `head ${shown + 1}`;
    map.replaceChildren(
      kit.map({
        matrix: rows.map((_, i) => columns.map((_, j) => (shown === null ? mean(i, j) : heads[shown][i][j]))),
        rows,
        columns,
        title: `${state.look === "cross" ? "What it reads of the source" : "What it reads of the answer"}, in % (${which})`,
        high: 100,
        digits: 0,
      }),
    );
  };
  const showLook = () => {
    const count = seen ? seen.looks[state.look].heads.length : state.parts.heads;
    if (state.head !== "mean" && state.head >= count) state.head = "mean";
    lookBar.replaceChildren(
      kit.choice({
        label: "Where it looks",
        options: [
          ["cross", "at the source"],
          ["self", "at the answer, in training"],
        ],
        value: state.look,
        onchange: (look) => set({ look }),
      }),
      kit.choice({
        label: "Head",
        options: [["mean", "mean"], ...Array.from({ length: count }, (_, n) => [n, String(n + 1)])],
        value: state.head,
        onchange: (head) => set({ head }),
      }),
    );
    showWritten();
  };

  // ---------------------------------------------------------------- the code, as the reader leaves it
  const codeBox = h("details", { class: "xf-lab-code" }, h("summary", {}, "Change the code"));
  const codeNote = h(
    "p",
    {},
    "This is the code of page 9b, and it is what Train trains. Change a line, and train. If you change a forward, change its backward to match: " +
      "a model with wrong gradients often learns all the same. Check my gradients nudges five numbers of each array and names the backward that is wrong. Shift+Enter trains from the editor; Escape, then Tab, leaves it.",
  );
  let cells = [], // {key, source, name} of page 9b's library cells
    editing = 0,
    editor = null;
  const typed = () => window.book?.load(TYPED)[PAGE] ?? {};
  const namesIn = (text) => [...text.matchAll(/^(?:class|def) (\w+)/gm)].map((found) => found[1]);
  const textOf = (cell) => (typeof typed()[cell.key] === "string" ? typed()[cell.key] : cell.key);
  // The library's cells that the reader changed, here or on page 9b, today or on an earlier visit.
  const changed = () =>
    Object.entries(typed())
      .filter(([key, text]) => typeof text === "string" && text !== key)
      .map(([key]) => ({ key, name: nameOf(key) }))
      .filter(({ key }) => (cells.length ? cells.some((cell) => cell.key === key) : namesIn(key).some((name) => data.names.includes(name))));
  const codeNow = () => JSON.stringify(changed().map(({ key }) => textOf({ key })));
  const nameOf = (key) => namesIn(key).join(", ") || "imports";
  const fetchCells = async () => {
    if (cells.length) return;
    cells = (await window.pagePython.cells(PAGE))
      .filter(({ source }) => EXPORTED.test(source))
      .map(({ source }) => {
        const key = source.replace(EXPORTED, "");
        return { key, name: nameOf(key) };
      });
  };
  const noteChanges = () => {
    const names = changed().map((cell) => cell.name);
    mine.hidden = !names.length;
    mineText.textContent = `Train uses your own code: ${names.join("; ")}.`;
  };
  const keep = (key, text) => {
    const all = window.book.load(TYPED);
    window.book.keep(TYPED, { ...all, [PAGE]: { ...all[PAGE], [key]: text === key ? undefined : text } });
    noteChanges();
    buttons();
  };
  const back = kit.button("All as in the book", () => {
    for (const cell of changed()) keep(cell.key, cell.key);
    editor?.set(textOf(cells[editing]));
    refused.replaceChildren();
    go.focus();
    say("The code is the book's again.");
  });
  const mineText = h("span", {}),
    mine = h("p", { class: "xf-lab-mine" }, mineText, " ", back);
  const cellBar = h("div", { class: "xf-row" }),
    place = h("div", { class: "live-editor highlight" }),
    printed = h("pre", { class: "xf-lab-printed", tabindex: 0, "aria-label": "What your code printed last", hidden: true });
  const checker = kit.button("Check my gradients", () => train(false, true)),
    verdict = h("div", { class: "xf-lab-verdict" });
  codeBox.append(codeNote, cellBar, place, h("div", { class: "xf-row" }, checker), verdict, printed);
  codeBox.addEventListener("toggle", async () => {
    if (!codeBox.open || editor) return;
    try {
      await Promise.all([fetchCells(), window.pagePython.editor()]);
    } catch (error) {
      codeNote.textContent = window.pagePython.cause(error);
      return;
    }
    if (editor) return;
    const first = Math.max(0, cells.findIndex((cell) => cell.name === "Attention"));
    const picker = select(
      "Code of",
      cells.map((cell, n) => [String(n), cell.name]),
      (n) => {
        editing = Number(n);
        editor.set(textOf(cells[editing]));
      },
    );
    cellBar.append(picker);
    editing = first;
    picker.set(first);
    editor = window.makeEditor(place, textOf(cells[first]), {
      label: "Python, a part of the Transformer. Shift and Enter trains it; Escape, then Tab, leaves the editor.",
      run: () => train(),
      changed: () => keep(cells[editing].key, editor.text()),
    });
    // Tab goes through the page; it indents only where one has begun to write.
    let writes = false;
    place.addEventListener("focusout", () => {
      writes = false;
    });
    for (const kind of ["pointerdown", "beforeinput"])
      place.addEventListener(kind, () => {
        writes = true;
      });
    place.addEventListener("keydown", (event) => event.key === "Tab" && !writes && event.stopPropagation(), true);
    place.querySelector(".cm-content").tabIndex = 0; // so that whoever checks a page sees that a keyboard reaches what scrolls
  });

  // ---------------------------------------------------------------- training
  let last = Promise.resolve(); // the worker is asked one thing at a time
  const ask = (request) => {
    const mine = last.then(async () => {
      const waits = setTimeout(() => {
        if (!running) return;
        progress.textContent = "No answer for eight seconds. If your code has a loop without an end, press Stop.";
        say(progress.textContent);
      }, 8000);
      const { answer } = await python.ask({ laboratory: JSON.stringify(request) }).finally(() => clearTimeout(waits));
      if (answer.printed) {
        printed.hidden = false;
        printed.textContent = answer.printed;
      }
      return answer;
    });
    last = mine.catch(() => {}); // who asked is told of it
    return mine;
  };
  const go = kit.button("Train", () => train(), { class: "xf-lab-go" }),
    stop = kit.button("Stop", (event) => {
      if (event.detail || performance.now() - (running?.at ?? 0) > 400) halt(); // not by Enter pressed twice
    }),
    on = kit.button("Go on", () => train(true)),
    reset = kit.button("Reset", () => clear());
  const buttons = () => {
    const newest = runs.at(-1);
    go.textContent = running?.loads ? "Loading Python \u2026" : python ? (runs.length ? "Train again" : "Train") : `Load Python (${data.megabytes} MB) and train`;
    checker.disabled = Boolean(running);
    go.disabled = !inBook || Boolean(running);
    stop.hidden = !running;
    on.hidden = Boolean(running) || !newest || newest !== inPython || newest.losses.length >= newest.steps || newest.diverged || newest.seed !== state.seed || !sameAs(newest.parts) || newest.code !== codeNow();
    partsLegend.textContent = running || (newest && !sameAs(newest.parts)) ? "Parts (next run)" : "Parts";
    reset.hidden = Boolean(running) || !runs.length;
  };
  const fault = (error, trace) => {
    progress.textContent = "";
    refused.replaceChildren(error, ...(trace ? [h("details", {}, h("summary", {}, "The whole story"), h("pre", { tabindex: 0 }, trace))] : []));
    say(error);
  };
  const tellOf = (run) => {
    const share = run.right.length ? `, ${kit.number(100 * run.right.at(-1)[1], 0)} of 100 held-out ${rows()} right` : "";
    return `Step ${run.losses.length} of ${run.steps}: loss ${kit.number(points.loss(run).at(-1)?.[1] ?? 0)}${share}; \u201c${state.text}\u201d becomes ${moments.at(-1)?.[1] ? `\u201c${moments.at(-1)[1]}\u201d` : "nothing"}.`;
  };
  // Lets the model in Python write the reader's text. False: by now the reader is elsewhere.
  const look = async (run) => {
    const { task, text } = state;
    const answer = text.trim() ? await ask({ do: "write", text }) : { refused: `Type ${tasks[task].asks.toLowerCase()}, and the model answers it.` };
    if (run !== inPython || task !== state.task || text !== state.text) return false;
    if (answer.error && !answer.refused) throw Object.assign(new Error(answer.error), { trace: answer.trace });
    unread.textContent = answer.refused ?? "";
    seen = answer.refused ? null : answer;
    if (seen && moments.at(-1)?.[1] !== answer.text) moments.push([run.losses.length, answer.text]);
    return true;
  };
  const begin = async () => {
    const own = changed().map((cell) => cell.name);
    const { task, parts, seed } = state;
    inPython = null;
    moments = [];
    seen = null;
    printed.hidden = true;
    below.style.minHeight = "";
    progress.textContent = "Making the task and the model \u2026";
    say(progress.textContent);
    const begun = await ask({ do: "begin", task, parts, seed, cells: own.length ? cells.map(textOf) : null });
    if (begun.error) throw Object.assign(new Error(begun.error), { trace: begun.trace });
    const named = [inWords(task, parts), ...(seed ? [`seed ${seed}`] : []), ...changed().map(({ key, name }) => edited(key, name, parts))].join(", ");
    if (own.length) await check();
    const wrong = own.length && gradients ? `, ${gradients}` : "";
    inPython = { task, parts, seed, own, words: named + wrong, code: codeNow(), steps: parts.steps, losses: [], right: [], seconds: 0 };
    runs = [...(runs.length === 2 ? [runs[held ? 0 : 1]] : runs), inPython];
  };
  // What a reader changed, told apart by its first line that is not the book's; a switch may put something else in its place.
  const REPLACED = {
    Residual: (parts) => parts.norm !== "pre" || !parts.residuals,
    LayerNorm: (parts) => parts.norm === "none",
  };
  const edited = (key, name, parts) => {
    const replaced = namesIn(key).filter((one) => REPLACED[one]?.(parts));
    if (replaced.length) return `not your ${replaced.join(", ")}, which a switch replaces`;
    const book = key.split("\n"),
      line = textOf({ key })
        .split("\n")
        .find((one, n) => one !== book[n]);
    const short = (line ?? "a line less").trim();
    return `your ${name} (${short.length > 44 ? `${short.slice(0, 43)}\u2026` : short || "an empty line"})`;
  };
  // Nudges numbers of each array, and says which backward does not agree.
  let gradients = "";
  const check = async () => {
    const answer = await ask({ do: "check" });
    if (answer.error) throw Object.assign(new Error(answer.error), { trace: answer.trace });
    const wrong = answer.rows.filter((row) => !row.right),
      size = (value) => Number(value.toPrecision(2)).toString();
    gradients = wrong.length ? `gradients wrong in ${wrong[0].name}` : "gradients agree";
    verdict.replaceChildren(
      wrong.length
        ? `${wrong.length} of ${answer.rows.length} arrays disagree. Each layer is checked alone, so look at the first one's backward.`
        : `All ${answer.rows.length} gradients agree with what nudging does.`,
      h(
        "ul",
        {},
        wrong.slice(0, 6).map((row) => h("li", {}, h("code", {}, row.name), `: backward ${size(row.backward)}, nudged ${size(row.nudged)} \u2717`)),
      ),
    );
    say(verdict.firstChild.textContent);
  };
  const unbegun = () => {
    progress.textContent = "Stopped before the first step.";
  };
  const train = async (goOn = false, only = false) => {
    if (running || !inBook) return;
    const press = (running = { loads: !python || python.over, at: performance.now() });
    const before = runs;
    const alive = () => running === press;
    refused.replaceChildren();
    const pressed = [go, on].includes(document.activeElement); // it is about to go
    buttons();
    if (pressed) stop.focus();
    try {
      if (!window.pagePython || window.pagePython.refused) throw new Error(window.pagePython?.refused ?? "This page is not in its book.");
      if (press.loads) {
        python = new window.pagePython.Python(PAGE);
        inPython = null;
        goOn = false;
      }
      press.python = python;
      if (press.loads) say("Loading Python, once for this page.");
      await python.ready((text) => {
        progress.textContent = text;
        if (performance.now() - told > 3000) {
          told = performance.now();
          say(text);
        }
      });
      if (press.loads) say("Python is loaded.");
      await fetchCells();
      press.loads = false;
      buttons();
      if (!alive()) return unbegun();
      if (only) {
        // a model of its own: the one that was trained before is gone from Python
        const own = changed().length ? cells.map(textOf) : null;
        inPython = null;
        progress.textContent = "Nudging numbers \u2026";
        const begun = await ask({ do: "begin", task: state.task, parts: state.parts, seed: state.seed, cells: own });
        if (begun.error) throw Object.assign(new Error(begun.error), { trace: begun.trace });
        await check();
        progress.textContent = "Gradients checked.";
        return;
      }
      if (!goOn) await begin();
      if (!alive()) return unbegun();
      const run = (press.run = inPython),
        began = performance.now() - 1000 * run.seconds; // as if it had never been stopped
      told = performance.now();
      await look(run);
      if (alive()) showLook();
      while (alive() && run.losses.length < run.steps && !run.diverged) {
        const answer = await ask({ do: "train", seconds: 0.2 });
        if (answer.error) throw Object.assign(new Error(answer.error), { trace: answer.trace });
        Object.assign(run, answer);
        if (!alive()) break;
        if (!run.diverged) await look(run);
        if (run.task !== state.task) break;
        const gone = (performance.now() - began) / 1000,
          rest = (gone * (run.steps - run.losses.length)) / run.losses.length;
        progress.textContent = `Step ${run.losses.length} of ${run.steps}, ${gone.toFixed(0)} s; about ${Math.max(0, Math.round(rest))} s more on this device`;
        drawCharts();
        showWritten();
        if (performance.now() - told > 3000) {
          told = performance.now();
          say(tellOf(run));
        }
      }
      if (run.task !== state.task) return;
      const whole = run.losses.length >= run.steps;
      run.seconds = (performance.now() - began) / 1000;
      if (run.diverged) {
        seen = null;
        unread.textContent = "Its numbers have overflowed, so it writes nothing and has no map.";
      }
      progress.textContent = run.diverged
        ? `Diverged: after ${count(run.losses.length)} the loss was no longer a finite number. ${
            run.own.length ? "Look at your code first: what divides by zero, or takes the log or root of a negative number?" : "A lower rate, the warm-up or the norm may help."
          }`
        : `${whole ? "Trained" : "Stopped"}: ${count(run.losses.length)} in ${run.seconds.toFixed(1)} s`;
      say(run.diverged ? progress.textContent : tellOf(run));
    } catch (error) {
      inPython = null;
      if (press.loads && python?.over) python = null; // the next press loads what is missing
      if (!runs.at(-1)?.losses.length) runs = before; // it never began: what was to compare with stays
      fault(error.trace || press.stopped ? error.message : window.pagePython.cause(error), error.trace);
    } finally {
      if (alive()) running = null;
      if (!running) {
        const had = document.activeElement === stop;
        buttons();
        if (had) (on.hidden ? go : on).focus();
        showLook();
        drawCharts();
      }
    }
  };
  // Training stops between two answers. Code that does not come back is ended with its Python.
  const halt = () => {
    const press = running;
    if (!press) return;
    running = null;
    press.stopped = true;
    const waited = press.python;
    progress.textContent = "Stopping \u2026";
    setTimeout(() => {
      if (progress.textContent === "Stopping \u2026") waited?.end("Stopped. Python begins again with the next run.");
    }, 2500);
  };
  const clear = () => {
    runs = [];
    moments = [];
    seen = null;
    held = false;
    keeper.setAttribute("aria-pressed", "false");
    progress.textContent = "";
    refused.replaceChildren();
    set({ parts: { ...tasks[state.task].parts }, text: tasks[state.task].examples[0] });
    go.focus();
    say(changed().length ? "All parts are in place again. Your code stays." : "Everything is in place again.");
  };

  // ---------------------------------------------------------------- together
  const set = (next) => {
    const left = state.task,
      other = next.task && next.task !== left;
    if (other) {
      const cut = Boolean(running);
      halt();
      others[left] = { runs, held };
      ({ runs, held } = others[next.task] ?? { runs: [], held: false });
      keeper.setAttribute("aria-pressed", String(held));
      below.style.minHeight = "";
      printed.hidden = true;
      progress.textContent = cut ? `The training of \u201c${tasks[left].title}\u201d was stopped.` : "";
      say(`Task: ${tasks[next.task].title}.`);
      refused.replaceChildren();
    }
    Object.assign(state, next);
    showParts();
    const task = tasks[state.task];
    fieldLabel.textContent = task.asks;
    if (field.value !== state.text) field.value = state.text;
    examples.replaceChildren(...task.examples.map((text) => kit.button(text, () => set({ text }))));
    words.hidden = !task.words.length;
    words.replaceChildren(h("summary", {}, `All ${task.words.length} words that it can read, in sentences of one small grammar`), task.words.join(", "));
    if (next.text !== undefined) {
      moments = [];
      unread.textContent = "";
      seen = null;
      const run = runs.at(-1);
      if (run && run !== inPython && !running) unread.textContent = "Python no longer has the model of this run: train again, and it answers.";
      if (run && run === inPython && !running)
        look(run).then(showLook, (error) => {
          fault(error.message, error.trace);
        });
    }
    showLook();
    drawCharts();
    buttons();
  };
  stage.append(
    h("div", { class: "xf-row xf-lab-start" }, experiment, go, stop, on, reset),
    question,
    mine,
    progress,
    refused,
    charts,
    legend,
    h(
      "details",
      { class: "xf-lab-settings" },
      partsSummary,
      taskChoice,
      h("fieldset", { class: "xf-lab-parts" }, partsLegend, SWITCHES.map(([name]) => switches[name])),
      norm,
      h("div", { class: "xf-row xf-lab-sizes" }, [...numbers.map(([, control]) => control), seedChoice]),
    ),
    h("div", { class: "xf-row xf-lab-text" }, h("p", { class: "xf-control" }, fieldLabel, field), examples),
    unread,
    words,
    below,
    inBook ? codeBox : h("p", {}, data.elsewhere),
  );
  // Runs are in this page alone: a browser asks before it leaves one that is still training.
  window.addEventListener("beforeunload", (event) => {
    if (running?.run) event.preventDefault();
  });
  // Another tab has changed the code: this one shows and trains the same.
  window.addEventListener("storage", (event) => {
    if (event.key !== TYPED) return;
    noteChanges();
    buttons();
    if (editor && editor.text() !== textOf(cells[editing])) editor.set(textOf(cells[editing]));
    progress.textContent = "Another tab changed the code; this page now has the same.";
    say(progress.textContent);
  });
  set({});
  // The book's own scripts come after this one; another page may have changed the code since.
  noteChanges();
  document.addEventListener("DOMContentLoaded", noteChanges);
  window.addEventListener("pageshow", noteChanges);
  return { set, code: () => editor?.text(), read: () => ({ ...state, running: Boolean(running), runs, moments, seen, progress: progress.textContent }) };
};
