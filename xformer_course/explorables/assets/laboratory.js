// Choose the parts of a Transformer, train it, watch. The numbers come from the page's Python (page_python.js of the book), which runs the code
// of page 9b as the reader has left it.
const start = ({ stage, data, say }) => {
  const { h, s } = kit;
  const PAGE = "09b_without_pytorch",
    TYPED = "xformer-typed",
    BENCH = "xformer-laboratory",
    EXPORTED = /^#\|\s*exporti?\s+reference\.transformer[ \t]*\n+/;
  const inBook = document.documentElement.dataset.content_root !== undefined;
  const bench = lab(data),
    { SWITCHES, NORMS, MORE, NUMBERS, SEEDS, tasks, idle, inWords } = bench;
  const state = { task: data.tasks[0].name, parts: { ...data.tasks[0].parts }, seed: 0, bet: null, text: data.tasks[0].examples[0], look: "cross", head: "mean" };
  let python = null,
    running = null, // the press that trains now
    rows = [], // of the bench, the newest last; one has a run for each of its seeds
    inPython = null, // {row, run}: whose model Python holds
    lent = null, // the code of a link, in place of the reader's: {the book's text: the link's}
    seen = null, // what the model made of the text, with its attention
    moments = [], // [step, text], as it changed
    told = 0;

  // ---------------------------------------------------------------- the parts
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
    onchange: (name) => set({ task: name, parts: { ...tasks[name].parts }, bet: null, text: tasks[name].examples[0] }),
  });
  const experiment = select("Experiment", [["", "my own"], ...data.experiments.map((one, n) => [String(n), one.title])], (n) => {
    if (n !== "") set({ parts: { ...tasks[state.task].parts, ...data.experiments[n].parts }, bet: null });
  });
  const switches = Object.fromEntries(
    SWITCHES.map(([name, label]) => [name, kit.button(label, () => setPart(name, !state.parts[name]), { "aria-pressed": "true" })]),
  );
  const choices = [NORMS, ...MORE].map(([name, label, ...options]) => [
    name,
    kit.choice({ label, options, value: state.parts[name], onchange: (value) => setPart(name, value) }),
  ]);
  const warning = h("p", { class: "xf-lab-warning", role: "status" });
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
  const experimentNow = () => data.experiments.findIndex((one) => sameAs({ ...tasks[state.task].parts, ...one.parts }));
  const showParts = () => {
    taskChoice.set(state.task);
    for (const [name, button] of Object.entries(switches)) {
      button.setAttribute("aria-pressed", String(state.parts[name]));
      button.disabled = idle(state.parts, name);
    }
    for (const [name, field] of [...choices, ...numbers]) {
      field.set(state.parts[name]);
      for (const one of field.querySelectorAll("button, select")) one.disabled = idle(state.parts, name);
    }
    warning.textContent = bench.warning(state);
    seedChoice.set(state.seed);
    partsSummary.textContent = `Settings: ${inWords(state)}, seed ${state.seed}`;
    const found = experimentNow();
    experiment.set(found < 0 ? "" : found);
    question.textContent = found < 0 ? "What do you expect?" : `Before you press: ${data.experiments[found].ask.replace("{rows}", unit())}`;
  };

  // ---------------------------------------------------------------- what one sees
  const charts = h("div", { class: "xf-lab-charts" });
  const progress = h("p", { class: "xf-lab-progress" });
  const DASHES = ["6 4", "2 3", "10 3 2 3", "14 4"];
  const unit = () => tasks[state.task].rows;
  const ofTask = () => rows.filter((row) => row.task === state.task);
  // In a lecture there is only the experiment that is on.
  const newest = () => ofTask().findLast((row) => !lecture.on() || sameAs(row.parts));
  const shown = () => (lecture.on() ? [newest()].filter(Boolean) : ofTask().filter((row) => row.shown));
  // How a row is drawn: the newest in the accent, the others by their dashes.
  const style = (row) => (row === newest() ? { stroke: "var(--xf-accent)", dash: null } : { stroke: "var(--xf-quiet)", dash: DASHES[row.n % DASHES.length] });
  const points = {
    loss: (run) => run.loss,
    right: (run) => [[0, 0], ...run.right.map(([step, share]) => [step, 100 * share])],
  };
  const chart = (kind, title, top, ticks, over = () => {}) => {
    const zoom = lecture.zoom(),
      width = Math.max(220, (charts.clientWidth > 620 ? (charts.clientWidth - 16) / 2 : charts.clientWidth || 300) / zoom),
      height = width < 420 ? 145 : 190,
      [left, right, up, down] = [34, 8, 24, 32];
    const drawn = shown(),
      last = Math.max(...[...drawn, ...(running && drawn.length ? [] : [state])].map(({ parts }) => parts.steps)), // before a run its bet has room
      x = (step) => left + ((width - left - right) * step) / last,
      y = (value) => height - down - ((height - up - down) * Math.min(value, top)) / top;
    const svg = s(
      "svg",
      { width: width * zoom, height: height * zoom, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}: ${drawn.map((row) => described(row, kind)).join("; ") || "nothing yet"}` },
      s("text", { x: left, y: 15 }, title),
      ticks.map((value) => [
        s("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), stroke: "var(--xf-line)", opacity: 0.35 }),
        s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, String(value)),
      ]),
      [0, last / 2, last].map((step) =>
        s("text", { x: x(step), y: height - 12, "text-anchor": step === last ? "end" : step ? "middle" : "start" }, step === last ? `${step} steps` : String(step)),
      ),
      drawn.map((row, n) => {
        const { stroke, dash } = style(row);
        return row.runs.map((run, seed) => {
          const at = points[kind](run).map(([step, value]) => [x(step), y(value)]),
            place = (at.length - 1) * (0.3 + 0.15 * (n % 4)),
            [before, after] = [at[Math.floor(place)], at[Math.ceil(place)]];
          const between = (axis) => before[axis] + (after[axis] - before[axis]) * (place % 1);
          return [
            s("polyline", { points: at.map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`).join(" "), fill: "none", stroke, "stroke-width": dash ? 2 : 2.5, "stroke-dasharray": dash }),
            seed || at.length < 2 ? null : s("text", { x: between(0), y: Math.max(up + 10, between(1) - 5), "text-anchor": "middle" }, String(row.n)),
          ];
        });
      }),
    );
    over(svg, { x, y, last }, drawn);
    return svg;
  };
  const count = (steps) => `${steps} step${steps === 1 ? "" : "s"}`;
  const described = (row, kind) => {
    const ends = row.runs.map((run) => points[kind](run).at(-1)).filter(Boolean);
    return `run ${row.n}, ${inWords(row)}, ${ends.map(([step, value]) => `${kit.number(value, kind === "loss" ? 2 : 0)} after ${count(step)}`).join(" and ") || "not begun"}${kind === "right" && row.bet ? `, bet ${bets.listed(row.bet)}` : ""}`;
  };
  const drawCharts = () => {
    const highest = Math.max(3.5, ...shown().flatMap((row) => row.runs.flatMap((run) => run.loss.map(([, value]) => value))));
    const size = 10 ** Math.floor(Math.log10(highest / 2)),
      gap = size * [5, 2, 1].find((one) => size * one <= highest / 2);
    charts.replaceChildren(
      chart("loss", `Loss on the training ${unit()}`, highest, Array.from({ length: Math.floor(highest / gap) + 1 }, (_, n) => n * gap)),
      chart("right", `Held-out ${unit()} right, in %`, 100, [0, 50, 100], (svg, scales, drawn) => {
        guesses.draw(svg, scales, lecture.values());
        bet.draw(svg, scales, drawn);
      }),
    );
    bet.show(newest());
    benchTable.show(ofTask(), `Runs of \u201c${tasks[state.task].title}\u201d, the newest first`);
    for (const one of ofRows) one.hidden = !rows.length;
    lecture.update();
    stage.closest("figure").toggleAttribute("data-printed", rows.length > 0 || state.bet !== null);
  };
  const bet = betting({ state, unit, open: () => inBook && !running });

  // ---------------------------------------------------------------- the bench
  const benchSaid = h("span", { class: "xf-lab-copied", role: "status" });
  const benchTable = bench.table({
    style,
    chosen: (row, chosen) => {
      row.shown = chosen;
      row.auto = false; // from now on it stays as the reader has it
      drawCharts();
      keepRow(row);
    },
  });
  const stored = () => (window.book?.load(BENCH, []) ?? []).map(bench.whole).filter(bench.isRow);
  // Another tab may have kept rows since.
  const keepRow = (row) => {
    const held = stored(),
      at = held.findIndex((one) => one.id === row.id);
    if (at < 0) held.push(row);
    else held[at] = row;
    window.book.keep(BENCH, held.slice(-bench.ROWS));
  };
  const recall = () => {
    const mine = new Map(rows.map((row) => [row.id, row])),
      held = stored().map((row) => mine.get(row.id) ?? row);
    rows = [...held, ...rows.filter((row) => row === running?.row && !held.includes(row))];
    drawCharts();
    buttons();
  };
  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      benchOut.hidden = true;
      benchSaid.textContent = `${what} copied.`;
    } catch {
      benchOut.hidden = false;
      benchOut.value = text;
      benchOut.select();
      benchSaid.textContent = "This browser does not let the page copy; copy it from here.";
    }
  };
  const benchOut = h("textarea", { readonly: true, rows: 3, "aria-label": "To copy", hidden: true });
  const download = () => {
    const file = h("a", { href: URL.createObjectURL(new Blob([bench.csv(rows)], { type: "text/csv" })), download: "laboratory.csv" });
    file.click();
    setTimeout(() => URL.revokeObjectURL(file.href), 60000);
  };
  // What there is to do with rows.
  const ofRows = [
    kit.button("Copy as CSV", () => copy(bench.csv(rows), "The runs are")),
    kit.button("Download CSV", download),
    kit.button("Forget these runs", () => {
      if (!confirm("Forget all runs of this laboratory?")) return;
      inPython = null;
      rows = [];
      window.book.keep(BENCH, []);
      drawCharts();
      buttons();
      go.focus();
      say("The runs are forgotten.");
    }),
  ];
  const copyLink = kit.button("Copy link", async () => {
    await fetchCells();
    const { task, parts, seed, bet } = state,
      edits = edited();
    await copy(location.href.replace(/#.*/, "") + bench.toLink({ task, parts, seed, edits, bet, lecture: lecture.on() }), `A link to ${inWords(state)}, seed ${seed}${bet ? ", your bet" : ""}${edits.length ? ", and your code" : ""} is`);
    if (location.protocol === "file:") benchSaid.append(" It begins with the place of your folder: in another copy of the book, put what follows the # behind this page's address there.");
  });
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
  const why = h("div", { class: "xf-lab-why", hidden: true });
  const lecture = lecturing({
    ...{ stage, data, state, why, say },
    lab: {
      set: (next) => set(next),
      draw: () => {
        drawCharts();
        buttons();
      },
      experiment: () => experimentNow(),
      running: () => Boolean(running),
      kept: () => newest()?.guesses ?? [],
      shares: () => newest() && bench.rightOf(newest()),
      copyLink: () => copyLink.click(),
    },
  });
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
    if (!seen?.looks) return map.replaceChildren(h("p", { class: "xf-quiet" }, noMap() ? "A recurrent model has no attention, so it has no map." : unread.textContent ? "" : "Where it looks appears here while it trains."));
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
  const noMap = () => (seen ? !seen.looks : state.parts.model === "recurrent");
  const showLook = () => {
    if (noMap()) {
      lookBar.replaceChildren();
      return showWritten();
    }
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
  const ownTexts = () => window.book?.load(TYPED)[PAGE] ?? {},
    typed = () => lent ?? ownTexts();
  const namesIn = (text) => [...text.matchAll(/^(?:class|def) (\w+)/gm)].map((found) => found[1]);
  const textOf = (cell) => (typeof typed()[cell.key] === "string" ? typed()[cell.key] : cell.key);
  // The library's cells that the reader changed, here or on page 9b, today or on an earlier visit.
  const changed = (texts = typed()) =>
    Object.entries(texts)
      .filter(([key, text]) => typeof text === "string" && text !== key)
      .map(([key]) => ({ key, name: nameOf(key) }))
      .filter(({ key }) => (cells.length ? cells.some((cell) => cell.key === key) : namesIn(key).some((name) => data.names.includes(name))));
  const edited = () => changed().map(({ key, name }) => bench.difference(name, key, textOf({ key })));
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
    mine.hidden = !names.length || Boolean(lent);
    mineText.textContent = `Train uses your own code: ${names.join("; ")}.`;
  };
  const keep = (key, text) => {
    if (lent) lent = { ...lent, [key]: text === key ? undefined : text };
    else keepMine({ [key]: text === key ? undefined : text });
    noteChanges();
    buttons();
  };
  const keepMine = (texts) => {
    const all = window.book.load(TYPED);
    window.book.keep(TYPED, { ...all, [PAGE]: { ...all[PAGE], ...texts } });
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
  const checker = kit.button("Check my gradients", () => train({ only: true })),
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

  // ---------------------------------------------------------------- a link sets what it says; nothing runs
  const link = h("div", { class: "xf-lab-link", hidden: true });
  const openLink = async () => {
    const found = bench.fromLink(location.hash);
    if (found === undefined) return;
    const tell = (text, ...more) => {
      link.hidden = false;
      link.replaceChildren(h("p", {}, text), ...more);
      say(text);
    };
    const broken = "This link is broken, or of another edition of the book: it sets nothing. Ask for it again; it must arrive whole.";
    if (!found) return tell(broken);
    const { edits, lecture: lectures, ...setting } = found,
      theirs = {};
    const own = changed(ownTexts()).length;
    try {
      if (edits.length || own) await fetchCells();
    } catch (error) {
      return tell(window.pagePython.cause(error));
    }
    for (const edit of edits) {
      const key = cells.find((cell) => cell.name === edit.cell)?.key,
        text = key === undefined ? null : bench.applied(key, edit);
      if (text === null) return tell(broken);
      theirs[key] = text;
    }
    lent = edits.length || own ? theirs : null;
    const away = (text, act) =>
      kit.button(text, () => {
        act();
        lent = null;
        link.hidden = true;
        history.replaceState(null, "", location.href.replace(/#.*/, "#"));
        editor?.set(textOf(cells[editing]));
        noteChanges();
        buttons();
        go.focus();
      });
    set({ ...setting, text: tasks[setting.task].examples[0] });
    editor?.set(textOf(cells[editing]));
    noteChanges();
    buttons();
    tell(
      `This page is set by a link: ${tasks[setting.task].title}, ${inWords(setting)}, seed ${setting.seed}${setting.bet ? `, a bet of ${bets.listed(setting.bet)}` : ""}${edits.length ? ", with this change of the code" : ""}. Nothing has run.${own ? " Your own code is kept, and waits." : ""}`,
      ...edits.map(bench.editView),
      h(
        "div",
        { class: "xf-row" },
        edits.length ? away("Keep this code as mine", () => keepMine({ ...Object.fromEntries(cells.map(({ key }) => [key, undefined])), ...lent })) : null,
        lent ? away("Without the link\u2019s code", () => {}) : null,
      ),
    );
    if (lectures) lecture.open();
  };

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
    on = kit.button("Go on", () => train({ goOn: true })),
    three = kit.button("Run seeds 0, 1 and 2", () => train({ seeds: [0, 1, 2] })),
    reset = kit.button("Reset", () => clear());
  const buttons = () => {
    const row = newest(),
      run = row && row === inPython?.row ? inPython.run : null,
      ended = !run || ((run.step >= row.parts.steps || run.diverged) && row.runs.length === row.seeds.length);
    const [load, verb] = lecture.on() ? ["run", "Run"] : ["train", "Train"];
    go.textContent = running?.loads ? "Loading Python \u2026" : python ? (row ? `${verb} again` : verb) : `Load Python (${data.megabytes} MB) and ${load}`;
    checker.disabled = three.disabled = Boolean(running);
    go.disabled = !inBook || Boolean(running);
    stop.hidden = !running;
    on.hidden =
      Boolean(running) || ended || (row.seeds.length === 1 && row.seeds[0] !== state.seed) || !sameAs(row.parts) || JSON.stringify(row.edits) !== JSON.stringify(edited());
    partsLegend.textContent = running || (row && !sameAs(row.parts)) ? "Parts (next run)" : "Parts";
    lecture.update();
    reset.hidden = lecture.on() || Boolean(running) || (sameAs(tasks[state.task].parts) && !state.seed);
  };
  const fault = (error, trace) => {
    progress.textContent = "";
    refused.replaceChildren(error, ...(trace ? [h("details", {}, h("summary", {}, "The whole story"), h("pre", { tabindex: 0 }, trace))] : []));
    say(error);
  };
  const tellOf = (run, { parts }) => {
    const share = run.right.length ? `, ${kit.number(100 * run.right.at(-1)[1], 0)} of 100 held-out ${unit()} right` : "";
    return `Step ${run.step} of ${parts.steps}: loss ${kit.number(run.last ?? 0)}${share}; \u201c${state.text}\u201d becomes ${moments.at(-1)?.[1] ? `\u201c${moments.at(-1)[1]}\u201d` : "nothing"}.`;
  };
  // Lets the model in Python write the reader's text. False: by now the reader is elsewhere.
  const look = async (run) => {
    const { task, text } = state;
    const answer = text.trim() ? await ask({ do: "write", text }) : { refused: `Type ${tasks[task].asks.toLowerCase()}, and the model answers it.` };
    if (run !== inPython?.run || task !== state.task || text !== state.text) return false;
    if (answer.error && !answer.refused) throw Object.assign(new Error(answer.error), { trace: answer.trace });
    unread.textContent = answer.refused ?? "";
    seen = answer.refused ? null : answer;
    if (seen && moments.at(-1)?.[1] !== answer.text) moments.push([run.step, answer.text]);
    return true;
  };
  const codeWith = (edits) =>
    cells.map(({ key, name }) => {
      const edit = edits.find((one) => one.cell === name);
      return edit ? bench.applied(key, edit) : key;
    });
  // Makes a model in Python, with the settings and the code of a row.
  const begin = async ({ task, parts, edits }, seed) => {
    inPython = null;
    const begun = await ask({ do: "begin", task, parts, seed, cells: edits.length ? codeWith(edits) : null });
    if (begun.error) throw Object.assign(new Error(begun.error), { trace: begun.trace });
  };
  const newRow = (seeds) => {
    const { task, parts } = state;
    for (const row of ofTask().slice(0, -1)) if (row.auto) row.shown = false; // two at a time, and what the reader has chosen
    return {
      id: `${Date.now()}-${Math.random()}`,
      n: Math.max(0, ...rows.map((row) => row.n)) + 1,
      ...{ task, parts, seeds, edits: edited(), bet: state.bet, guesses: lecture.values(), shown: true, auto: true, runs: [] },
      notes: changed().flatMap(({ key }) => replacedIn(key, parts)),
    };
  };
  const beginRun = async (row, seed) => {
    moments = [];
    seen = null;
    printed.hidden = why.hidden = true;
    below.style.minHeight = "";
    progress.textContent = "Making the task and the model \u2026";
    say(progress.textContent);
    await begin(row, seed);
    if (row.edits.length && !row.runs.length) {
      await check();
      row.notes.push(gradients);
    }
    const run = { seed, step: 0, seconds: 0, last: null, loss: [], right: [], diverged: false };
    row.runs.push(run);
    if (!rows.includes(row)) rows.push(row);
    state.bet = null; // it is the row's
    inPython = { row, run };
  };
  // The losses as a curve of at most 60 points, and the mean of the last twenty.
  const short = (value) => Number(value.toPrecision(4));
  const mean = (values) => short(values.reduce((sum, one) => sum + one, 0) / values.length);
  const noted = (run, { losses, right, step, diverged }) => {
    const size = Math.max(1, Math.ceil(losses.length / 60));
    const loss = [];
    for (let at = 0; at < losses.length; at += size) loss.push([Math.min(at + size, losses.length), mean(losses.slice(at, at + size))]);
    Object.assign(run, { loss, right, step, diverged, last: losses.length ? mean(losses.slice(-20)) : null });
  };
  // A switch may put something else in the place of what a reader changed.
  const REPLACED = {
    Residual: (parts) => parts.norm !== "pre" || !parts.residuals,
    LayerNorm: (parts) => parts.norm === "none",
    FeedForward: (parts) => parts.feed_forward !== "relu",
    Adam: (parts) => parts.descent !== "adam",
    Embedding: (parts) => !parts.tied && parts.model !== "recurrent",
  };
  const OF_TRANSFORMER = /^(transposed|mean|LayerNorm|FeedForward|Residual|(Self)?Attention|..coderLayer)$/;
  const replacedIn = (key, parts) =>
    namesIn(key)
      .filter((one) => REPLACED[one]?.(parts) || (parts.model === "recurrent" && OF_TRANSFORMER.test(one)))
      .map((one) => `not your ${one}, which a switch replaces`);
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
  // Trains one run to its end, or until it is stopped.
  const trainRun = async (press, row, run) => {
    const alive = () => running === press,
      { steps } = row.parts,
      began = performance.now() - 1000 * run.seconds, // as if it had never been stopped
      which = row.seeds.length > 1 ? `Seed ${run.seed}: ` : "";
    press.run = run;
    told = performance.now();
    await look(run);
    if (alive()) showLook();
    while (alive() && run.step < steps && !run.diverged) {
      const answer = await ask({ do: "train", seconds: 0.2 });
      if (answer.error) throw Object.assign(new Error(answer.error), { trace: answer.trace });
      noted(run, answer);
      run.seconds = (performance.now() - began) / 1000;
      if (!alive()) break;
      if (!run.diverged) await look(run);
      if (row.task !== state.task) break;
      const rest = (run.seconds * (steps - run.step)) / run.step;
      progress.textContent = `${which}Step ${run.step} of ${steps}, ${run.seconds.toFixed(0)} s; about ${Math.max(0, Math.round(rest))} s more on this device`;
      drawCharts();
      showWritten();
      if (performance.now() - told > 3000) {
        told = performance.now();
        say(tellOf(run, row));
      }
    }
    if (row.task !== state.task) return;
    if (run.diverged) {
      seen = null;
      unread.textContent = "Its numbers have overflowed, so it writes nothing and has no map.";
    }
    progress.textContent = run.diverged
      ? `${which}Diverged: after ${count(run.step)} the loss was no longer a finite number. ${
          row.edits.length ? "Look at your code first: what divides by zero, or takes the log or root of a negative number?" : "A lower rate, the warm-up or the norm may help."
        }`
      : `${which}${run.step >= steps ? "Trained" : "Stopped"}: ${count(run.step)} in ${run.seconds.toFixed(1)} s`;
    const reasons = await explain(row, run);
    if (alive() || !running) say([run.diverged ? progress.textContent : tellOf(run, row), bets.told(row), ...reasons].join(" "));
  };
  // What the run's missing parts have done to it.
  const explain = async (row, run) => {
    if (run.step < row.parts.steps && !run.diverged) return [];
    const { causes = [], error } = await ask({ do: "why" });
    if (row.task !== state.task) return [];
    why.hidden = !causes.length && !error;
    why.replaceChildren(
      h("p", { class: "xf-lab-head" }, `Why? Run ${row.n}, seed ${run.seed}`),
      ...(error ? [h("p", {}, `It cannot be shown with this code: ${error}`)] : causes.map(bench.cause)),
    );
    return causes.map((one) => one.told);
  };
  const unbegun = () => {
    progress.textContent = "Stopped before the first step.";
  };
  const train = async ({ goOn = false, only = false, seeds = [state.seed] } = {}) => {
    if (running || !inBook) return;
    const press = (running = { loads: !python || python.over, at: performance.now() });
    const alive = () => running === press;
    refused.replaceChildren();
    const pressed = [go, on, three].includes(document.activeElement); // it is about to go
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
        progress.textContent = "Nudging numbers \u2026";
        await begin(newRow([state.seed]), state.seed); // a model of its own: the one that was trained before is gone from Python
        inPython = null;
        await check();
        progress.textContent = "Gradients checked.";
        return;
      }
      const row = (press.row = goOn ? inPython.row : newRow(seeds));
      if (!goOn) await beginRun(row, row.seeds[0]);
      while (alive()) {
        await trainRun(press, row, inPython.run);
        if (!alive() || row.runs.length === row.seeds.length) break;
        await beginRun(row, row.seeds[row.runs.length]);
      }
      if (!row.runs[0].step) unbegun();
    } catch (error) {
      inPython = null;
      if (press.loads && python?.over) python = null; // the next press loads what is missing
      fault(error.trace || press.stopped ? error.message : window.pagePython.cause(error), error.trace);
    } finally {
      const { row } = press;
      if (row) {
        row.runs = row.runs.filter((run) => run.step); // one that never began is none
        rows = rows.filter((one) => one !== row || row.runs.length);
        if (row.runs.length) keepRow(row);
        if (row === inPython?.row && !row.runs.includes(inPython.run)) inPython = null;
      }
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
    progress.textContent = "";
    refused.replaceChildren();
    set({ parts: { ...tasks[state.task].parts }, seed: 0 });
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
      below.style.minHeight = "";
      printed.hidden = why.hidden = true;
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
      const row = newest();
      if (row && row !== inPython?.row && !running) unread.textContent = "Python no longer has the model of this run: train again, and it answers.";
      if (row && row === inPython?.row && !running)
        look(inPython.run).then(showLook, (error) => {
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
    warning,
    link,
    mine,
    progress,
    refused,
    charts,
    bet.box,
    lecture.reason,
    benchTable.box,
    inBook ? h("div", { class: "xf-row xf-lab-bench" }, three, copyLink, lecture.button, ofRows) : null,
    benchSaid,
    benchOut,
    h(
      "details",
      { class: "xf-lab-settings" },
      partsSummary,
      taskChoice,
      h("fieldset", { class: "xf-lab-parts" }, partsLegend, SWITCHES.map(([name]) => switches[name])),
      choices[0][1],
      h("div", { class: "xf-row xf-lab-sizes" }, [...numbers.map(([, control]) => control), seedChoice]),
    ),
    h("details", { class: "xf-lab-more" }, h("summary", {}, "More to take apart"), h("div", { class: "xf-row" }, choices.slice(1).map(([, control]) => control))),
    h("div", { class: "xf-row xf-lab-text" }, h("p", { class: "xf-control" }, fieldLabel, field), examples),
    unread,
    words,
    below,
    why,
    inBook ? codeBox : h("p", {}, data.elsewhere),
  );
  // A run is kept when it ends: a browser asks before it leaves one that is still training.
  window.addEventListener("beforeunload", (event) => {
    if (running?.run) event.preventDefault();
  });
  // Another tab has changed the code: this one shows and trains the same.
  window.addEventListener("storage", (event) => {
    if (event.key === BENCH || event.key === null) recall();
    if (event.key !== TYPED || lent) return;
    noteChanges();
    buttons();
    if (editor && editor.text() !== textOf(cells[editing])) editor.set(textOf(cells[editing]));
    progress.textContent = "Another tab changed the code; this page now has the same.";
    say(progress.textContent);
  });
  set({});
  // The book's own scripts come after this one; another page may have changed the code since.
  noteChanges();
  document.addEventListener("DOMContentLoaded", () => {
    noteChanges();
    recall();
    const { task, parts, seeds } = rows.at(-1) ?? { ...state, seeds: [state.seed] };
    Object.assign(state, { task, parts, seed: seeds[0], text: tasks[task].examples[0] }); // as they were left
    set({});
    openLink();
  });
  window.addEventListener("hashchange", openLink);
  window.addEventListener("pageshow", noteChanges);
  return { set, code: () => editor?.text(), read: () => ({ ...state, running: Boolean(running), rows, moments, seen, progress: progress.textContent }) };
};
