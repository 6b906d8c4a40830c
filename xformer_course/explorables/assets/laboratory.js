// Choose the parts of a Transformer, train it, watch. The numbers come from the page's Python (page_python.js of the book), which runs the code
// of page 9b as the reader has left it.
const start = ({ stage, data, say }) => {
  const { h, s } = kit;
  const PAGE = "09b_without_pytorch",
    TYPED = "xformer-typed",
    EXPORTED = /^#\|\s*exporti?\s+reference\.transformer[ \t]*\n+/;
  const inBook = document.documentElement.dataset.content_root !== undefined;
  const tasks = Object.fromEntries(data.tasks.map((task) => [task.name, task]));
  const state = { task: data.tasks[0].name, parts: { ...data.tasks[0].parts }, text: data.tasks[0].examples[0], look: "cross", head: "mean" };
  let python = null,
    running = null, // the press that trains now
    runs = [], // at most two, the last one is the reader's newest
    held = false, // whether the earlier one stays
    seen = null, // what the model made of the text, with its attention
    moments = [], // [step, text], as it changed
    told = 0;

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
  const taskChoice = kit.choice({
    label: "Task",
    options: data.tasks.map((task) => [task.name, task.title]),
    value: state.task,
    onchange: (name) => set({ task: name, parts: { ...tasks[name].parts }, text: tasks[name].examples[0] }),
  });
  const experiment = select("Experiment", [["", "of my own"], ...data.experiments.map((one, n) => [String(n), one.title])], (n) => {
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
  const setPart = (name, value) => set({ parts: { ...state.parts, [name]: value } });
  const showParts = () => {
    taskChoice.set(state.task);
    for (const [name] of SWITCHES) switches[name].setAttribute("aria-pressed", String(state.parts[name]));
    norm.set(state.parts.norm);
    for (const [name, field] of numbers) field.set(state.parts[name]);
    const same = (parts) => Object.entries({ ...tasks[state.task].parts, ...parts }).every(([name, value]) => state.parts[name] === value);
    experiment.set(data.experiments.findIndex((one) => same(one.parts)) + 1 ? String(data.experiments.findIndex((one) => same(one.parts))) : "");
  };

  // ---------------------------------------------------------------- what one sees
  const charts = h("div", { class: "xf-lab-charts" }),
    legend = h("ul", { class: "xf-lab-legend" });
  const progress = h("p", { class: "xf-lab-progress" });
  const COLOURS = ["var(--xf-quiet)", "var(--xf-accent)"];
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
      height = 190,
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
  const described = (run, kind) => {
    const last = points[kind](run).at(-1);
    return `${run.words}, ${last ? `${kit.number(last[1], kind === "loss" ? 2 : 0)} after ${last[0]} steps` : "not begun"}`;
  };
  const drawCharts = () => {
    const highest = Math.max(3.5, ...runs.map((run) => points.loss(run)[0]?.[1] ?? 0));
    charts.replaceChildren(
      chart("loss", "Loss of the training rows", highest, [0, 1, 2, 3]),
      chart("right", "Held-out rows right, in %", 100, [0, 50, 100]),
    );
    legend.replaceChildren(
      ...runs.map((run, n) => {
        const newest = n === runs.length - 1;
        const line = s(
          "svg",
          { width: 34, height: 12, "aria-hidden": "true" },
          s("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: COLOURS[n + 2 - runs.length], "stroke-width": 3, "stroke-dasharray": newest ? null : "6 4" }),
        );
        const now = run.losses.length ? `loss ${kit.number(points.loss(run).at(-1)[1])}, ${kit.number(points.right(run).at(-1)[1], 0)}\u00a0% right` : "begins";
        return h("li", {}, line, h("span", {}, `${newest ? "This run" : "The run before"}: ${run.words} (${now})`), newest ? null : keeper);
      }),
    );
  };
  const keeper = kit.button("Keep it for comparison", () => {
    held = !held;
    keeper.setAttribute("aria-pressed", String(held));
  });
  keeper.setAttribute("aria-pressed", "false");
  new ResizeObserver(drawCharts).observe(charts);

  const id = kit.fresh("text");
  const field = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false" }),
    fieldLabel = h("label", { for: id }),
    refused = h("p", { class: "xf-lab-refused" }),
    examples = h("div", { class: "xf-row xf-lab-examples", role: "group", "aria-label": "Examples" }),
    written = h("ol", { class: "xf-lab-moments", reversed: true }),
    map = h("div", {}),
    lookBar = h("div", { class: "xf-row" });
  field.addEventListener("change", () => set({ text: field.value }));
  const showWritten = () => {
    const french = state.task === "fragment" ? "fr" : null;
    written.replaceChildren(
      ...moments
        .slice(-6)
        .reverse()
        .map(([step, text]) => h("li", {}, `step ${step}: `, h("b", { lang: french }, text || "(nothing)"))),
    );
    if (!seen) return map.replaceChildren(h("p", { class: "xf-quiet" }, "Where it looks appears here while it trains."));
    const { heads, rows, columns } = seen.looks[state.look],
      shown = state.head === "mean" || !heads[state.head] ? null : state.head,
      mean = (i, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length;
    const which = shown === null ? (heads.length > 1 ? `mean of ${heads.length} heads` : "its one head") : `head ${shown + 1}`;
    map.replaceChildren(
      kit.map({
        matrix: rows.map((_, i) => columns.map((_, j) => (shown === null ? mean(i, j) : heads[shown][i][j]) / 100)),
        rows,
        columns,
        title: `${state.look === "cross" ? "Read of the source" : "Read of the answer so far"} (${which})`,
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
  const codeNote = h("p", {});
  let cells = [], // {key, source, name} of page 9b's library cells
    editing = 0,
    editor = null;
  const typed = () => window.book.load(TYPED)[PAGE] ?? {};
  const textOf = (cell) => (typeof typed()[cell.key] === "string" ? typed()[cell.key] : cell.key);
  const changedCells = () => cells.filter((cell) => textOf(cell) !== cell.key);
  const fetchCells = async () => {
    if (cells.length) return;
    cells = (await window.pagePython.cells(PAGE))
      .filter(({ source }) => EXPORTED.test(source))
      .map(({ source }) => {
        const key = source.replace(EXPORTED, "");
        return { key, name: [...key.matchAll(/^(?:class|def) (\w+)/gm)].map((found) => found[1]).join(", ") || "imports" };
      });
  };
  const noteChanges = () => {
    const names = changedCells().map((cell) => cell.name);
    codeNote.textContent = names.length
      ? `Your code is trained: ${names.join("; ")}. The same text stands in the cells of page 9b.`
      : "This is the code of page 9b, and what you press Train for. Change a line and train.";
    back.hidden = !names.length;
  };
  const keep = (cell, text) => {
    const all = window.book.load(TYPED);
    window.book.keep(TYPED, { ...all, [PAGE]: { ...all[PAGE], [cell.key]: text === cell.key ? undefined : text } });
    noteChanges();
  };
  const back = kit.button("All as in the book", () => {
    for (const cell of changedCells()) keep(cell, cell.key);
    editor?.set(textOf(cells[editing]));
  });
  const cellBar = h("div", { class: "xf-row" }),
    place = h("div", { class: "live-editor highlight" });
  codeBox.append(codeNote, cellBar, place);
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
      "Part",
      cells.map((cell, n) => [String(n), cell.name]),
      (n) => {
        editing = Number(n);
        editor.set(textOf(cells[editing]));
      },
    );
    cellBar.append(picker, back);
    editing = first;
    picker.set(first);
    editor = window.makeEditor(place, textOf(cells[first]), {
      label: "Python, a part of the Transformer. Shift and Enter trains it; Escape, then Tab, leaves the editor.",
      run: () => train(),
      changed: () => keep(cells[editing], editor.text()),
    });
    place.querySelector(".cm-content").tabIndex = 0; // so that whoever checks a page sees that a keyboard reaches what scrolls
    noteChanges();
  });

  // ---------------------------------------------------------------- training
  let last = Promise.resolve(); // the worker is asked one thing at a time
  const ask = (request) => {
    const mine = last.then(async () => (await python.ask({ laboratory: JSON.stringify(request) })).answer);
    last = mine.catch(() => {}); // who asked is told of it
    return mine;
  };
  const go = kit.button("Train", () => train(), { class: "xf-lab-go" }),
    stop = kit.button("Stop", () => halt()),
    on = kit.button("Go on", () => train(true)),
    reset = kit.button("Reset", () => clear());
  const buttons = () => {
    const newest = runs.at(-1);
    go.textContent = python ? (runs.length ? "Train again" : "Train") : `Load Python (${data.megabytes} MB) and train`;
    go.disabled = !inBook || Boolean(running);
    stop.hidden = !running;
    on.hidden = Boolean(running) || !newest || !python || python.over || newest.over || newest.losses.length >= newest.steps;
    reset.hidden = Boolean(running) || !runs.length;
  };
  const fault = (error, trace) => {
    progress.textContent = "";
    refused.replaceChildren(error, ...(trace ? [h("details", {}, h("summary", {}, "The whole story"), h("pre", { tabindex: 0 }, trace))] : []));
    say(error);
  };
  const tellOf = (run) => {
    const share = run.right.length ? `, ${kit.number(100 * run.right.at(-1)[1], 0)} of 100 held-out rows right` : "";
    return `Step ${run.losses.length} of ${run.steps}: loss ${kit.number(points.loss(run).at(-1)?.[1] ?? 0)}${share}; \u201c${state.text}\u201d becomes ${moments.at(-1)?.[1] ? `\u201c${moments.at(-1)[1]}\u201d` : "nothing"}.`;
  };
  const look = async (run) => {
    const answer = await ask({ do: "write", text: state.text });
    if (answer.error) {
      if (!answer.refused) throw Object.assign(new Error(answer.error), { trace: answer.trace });
      refused.textContent = answer.refused;
      return;
    }
    refused.textContent = "";
    seen = answer;
    if (moments.at(-1)?.[1] !== answer.text) moments.push([run.losses.length, answer.text]);
  };
  const train = async (goOn = false) => {
    if (running || !inBook) return;
    const mine = (running = {});
    const alive = () => running === mine;
    refused.textContent = "";
    const pressed = [go, on].includes(document.activeElement); // it is about to go
    buttons();
    if (pressed) stop.focus();
    try {
      if (!window.pagePython || window.pagePython.refused) throw new Error(window.pagePython?.refused ?? "This page is not in its book.");
      if (!python || python.over) {
        python = new window.pagePython.Python(PAGE);
        goOn = false;
      }
      mine.python = python;
      await python.ready((text) => {
        progress.textContent = text;
      });
      await fetchCells();
      if (!alive()) return;
      if (!goOn) {
        const changed = changedCells().length > 0;
        if (runs.length === 2) runs.splice(held ? 1 : 0, 1);
        const name = inWords(state.task, state.parts) + (changed ? ", your code" : "");
        runs = [...runs.filter((run) => run.task === state.task), { task: state.task, words: name, steps: state.parts.steps, losses: [], right: [] }];
        moments = [];
        seen = null;
        progress.textContent = "Making the task and the model \u2026";
        const begun = await ask({ do: "begin", task: state.task, parts: state.parts, seed: 0, cells: changed ? cells.map(textOf) : null });
        if (begun.error) throw Object.assign(new Error(begun.error), { trace: begun.trace });
      }
      const run = runs.at(-1),
        began = performance.now(),
        first = run.losses.length;
      told = performance.now();
      await look(run);
      showLook();
      while (alive() && run.losses.length < run.steps) {
        const answer = await ask({ do: "train", seconds: 0.2 });
        if (answer.error) throw Object.assign(new Error(answer.error), { trace: answer.trace });
        Object.assign(run, answer);
        await look(run);
        const gone = (performance.now() - began) / 1000,
          rest = (gone * (run.steps - run.losses.length)) / (run.losses.length - first);
        progress.textContent = `Step ${run.losses.length} of ${run.steps}, ${gone.toFixed(0)} s; about ${Math.max(0, Math.round(rest))} s more on this device`;
        drawCharts();
        showWritten();
        if (performance.now() - told > 3000) {
          told = performance.now();
          say(tellOf(run));
        }
      }
      const whole = run.losses.length >= run.steps;
      progress.textContent = `${whole ? "Trained" : "Stopped"}: ${run.losses.length} steps in ${((performance.now() - began) / 1000).toFixed(1)} s`;
      say(tellOf(run));
    } catch (error) {
      if (runs.length) runs.at(-1).over = true;
      fault(error.trace || mine.stopped ? error.message : window.pagePython.cause(error), error.trace);
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
    const mine = running;
    if (!mine) return;
    running = null;
    mine.stopped = true;
    const waited = mine.python;
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
    refused.textContent = "";
    set({ parts: { ...tasks[state.task].parts }, text: tasks[state.task].examples[0] });
    go.focus();
    say("Everything is in place again.");
  };

  // ---------------------------------------------------------------- together
  const set = (next) => {
    const other = next.task && next.task !== state.task;
    Object.assign(state, next);
    if (other) {
      halt();
      moments = [];
      seen = null;
      runs = [];
    }
    showParts();
    fieldLabel.textContent = tasks[state.task].asks;
    field.value = state.text;
    examples.replaceChildren(...tasks[state.task].examples.map((text) => kit.button(text, () => set({ text }))));
    if (next.text !== undefined && runs.length && !running && python && !python.over) {
      moments = [];
      look(runs.at(-1)).then(showLook, (error) => fault(error.message));
    } else if (next.text !== undefined) moments = [];
    showLook();
    drawCharts();
    buttons();
  };
  stage.append(
    h("div", { class: "xf-row" }, taskChoice, experiment),
    h("fieldset", { class: "xf-lab-parts" }, h("legend", {}, "Parts"), SWITCHES.map(([name]) => switches[name])),
    norm,
    h("div", { class: "xf-row xf-lab-sizes" }, numbers.map(([, control]) => control)),
    h("div", { class: "xf-row" }, go, stop, on, reset, progress),
    refused,
    charts,
    legend,
    h("div", { class: "xf-row xf-lab-text" }, h("p", { class: "xf-control" }, fieldLabel, field), examples),
    h("div", { class: "xf-lab-below" }, h("div", {}, h("p", { class: "xf-lab-head" }, "What it makes of it"), written), h("div", {}, lookBar, map)),
    inBook ? codeBox : h("p", {}, data.elsewhere),
  );
  set({});
  return { set, code: () => editor?.text(), read: () => ({ ...state, running: Boolean(running), runs, moments, seen, progress: progress.textContent }) };
};
