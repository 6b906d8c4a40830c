// What has been read to its end, predicted, solved and reviewed: marks in the contents, counts on the welcome page, a button that forgets.
// Kept in this browser alone; what the pages' other scripts ask of it they find in `book`.
window.book = (() => {
  // The first two editions kept these under the first name, by other numbers of the exercises.
  const today = (id) => (window.bookNumbers || {})[id] || id;
  const renamed = (held, name, value = (it) => it) => Object.fromEntries(Object.entries(held ?? {}).map(([id, it]) => [name(id), value(it)]));
  const calls = (text) => String(text).replace(/\b((?:check|hint)\(\s*["'])(\d+\.\d+)/g, (_, call, id) => call + today(id));
  const MOVED = {
    "xformer-solved": ["xformer-done", (solved) => renamed(solved, today)],
    "xformer-code": ["xformer-typed", (pages) => renamed(pages, String, (cells) => renamed(cells, today, calls))],
  };
  const make = (name, cls, text = "") => Object.assign(document.createElement(name), { className: cls, textContent: text });
  return {
    make,
    button(text, act, cls = "live-button") {
      const made = make("button", cls, text);
      made.type = "button";
      made.addEventListener("click", act);
      return made;
    },
    load(key, empty = {}) {
      try {
        const value = JSON.parse(bookStore.local.getItem(key));
        if (value && typeof value === "object" && Array.isArray(value) === Array.isArray(empty)) return value;
      } catch {
        /* not ours: it counts as nothing */
      }
      return empty;
    },
    // Of things kept by name those of the earlier editions, as they are kept today.
    moved: (kept) =>
      Object.fromEntries(
        Object.entries(MOVED)
          .filter(([old]) => kept[old])
          .map(([old, [now, move]]) => [now, move(kept[old])]),
      ),
    // What is there under today's name stays; a page of an earlier edition, still open in another tab, may have kept more since.
    moveAll() {
      for (const [old, [now]] of Object.entries(MOVED)) {
        if (bookStore.local.getItem(old) === null) continue;
        const { [now]: value } = this.moved({ [old]: this.load(old) });
        for (const [name, held] of Object.entries(this.load(now))) value[name] = held === true ? held : { ...value[name], ...held };
        if (this.keep(now, value)) bookStore.local.removeItem(old);
      }
    },
    // Whether the browser took it.
    keep(key, value) {
      const kept = bookStore.local.setItem(key, JSON.stringify(value));
      dispatchEvent(new Event("xformer-progress"));
      return kept;
    },
    // Another tab kept something, or a step back showed a page again as it was left.
    news(act) {
      addEventListener("storage", act);
      addEventListener("pageshow", (event) => event.persisted && act());
    },
    // A day of the reader's calendar, 2026-03-29, also of what was once kept to the millisecond.
    day(date) {
      const at = new Date(date);
      return /^\d{4}-\d\d-\d\d$/.test(date)
        ? date
        : [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
    },
    // What review.js keeps of a question, whole enough for FSRS to go on from.
    isCard: (card) =>
      [card?.due, card?.last_review].every((date) => /^\d{4}-\d\d-\d\d/.test(date) && Date.parse(date)) &&
      card.stability > 0 &&
      card.difficulty >= 1 &&
      ["stability", "difficulty", "scheduled_days", "reps", "lapses", "state"].every(
        (part) => card[part] >= 0 && Number.isFinite(card[part]),
      ),
  };
})();

window.book.moveAll();

(() => {
  const KEY = "xformer-read",
    PAGE = /\/chapters\/((?:\d\d[a-z]?|w\d)_\w+)/;
  const { make, load: kept } = window.book;
  const page = (address) => (PAGE.exec(address) || [])[1];
  const load = () => new Set(kept(KEY, []));
  const save = (read) => window.book.keep(KEY, [...read]);

  // Said once while the tab is open. What a cell could not keep it says itself, and where the theme begins with its colours nothing is lost.
  addEventListener("xformer-unkept", ({ detail: { key, full } }) => {
    if (key === "mode" ? document.readyState !== "complete" : !key.startsWith("xformer-") || key === "xformer-typed") return;
    if (bookStore.session.getItem("xformer-told")) return;
    bookStore.session.setItem("xformer-told", "1");
    const why = full ? "This browser's storage is full" : "This browser does not let the book keep anything";
    const note = make("div", "book-note", ""),
      before = document.activeElement;
    note.setAttribute("role", "status");
    const shut = window.book.button(
      "Close",
      () => {
        note.remove();
        if (before?.isConnected) before.focus({ preventScroll: true });
      },
      "",
    );
    document.body.append(note);
    note.append(make("span", "", `${why}: what you read, say, solve and set lasts until you leave this page.`), shut);
  });

  // Of a page's predictions, exercises and questions: how many were done, of how many, in which words.
  function parts(name) {
    const [askable, solvable, asked] = (window.bookTotals || {})[name] || [[], [], []];
    const said = kept("xformer-predicted")[name] || {},
      solved = kept("xformer-done"),
      reviewed = kept("xformer-reviewed");
    return [
      [askable.filter((key) => said[key]).length, askable.length, "predictions said"],
      [solvable.filter((id) => solved[id]).length, solvable.length, "exercises solved here"],
      [asked.filter((id) => reviewed[id]).length, asked.length, "questions answered"],
    ].filter(([done]) => done);
  }

  function tick(read) {
    document.querySelectorAll("nav.bd-links .read-tick").forEach((mark) => mark.remove());
    for (const link of document.querySelectorAll("nav.bd-links a[href]")) {
      const name = page(link.href),
        begun = name ? parts(name) : [];
      if (!read.has(name) && !begun.length) continue;
      const mark = make("span", "read-tick", "");
      const sign = make("span", "", read.has(name) ? "\u00a0\u2713" : "\u00a0");
      sign.setAttribute("aria-hidden", "true");
      mark.append(sign);
      for (const [done, all] of begun) {
        const dot = make("span", "read-part");
        dot.style.setProperty("--done", Math.min(1, done / all));
        sign.append(dot);
      }
      const words = [...(read.has(name) ? ["read"] : []), ...begun.map(([done, all, what]) => `${done} of ${all} ${what}`)].join(", ");
      mark.append(make("span", "read-words", ` (${words})`));
      mark.title = words;
      link.append(mark);
    }
  }

  function countParts(read) {
    document.querySelectorAll(".read-count, .read-forget").forEach((old) => old.remove());
    let head = null,
      table = null;
    const parts = new Map();
    for (const row of document.querySelectorAll("article tbody tr:not(#your-progress tr)")) {
      const link = row.querySelector("a[href]");
      if (link && head && page(link.href)) parts.get(head).push(page(link.href));
      if (!link && row.querySelector("strong")) {
        head = row.querySelector("strong");
        table = row.closest("table");
        parts.set(head, []);
      }
    }
    if (!table || !read.size) return;
    for (const [title, pages] of parts) {
      title.after(make("span", "read-count", ` · ${pages.filter((name) => read.has(name)).length} of ${pages.length} read`));
    }
    table.after(
      window.book.button(
        "Forget what I have read",
        () => {
          save(new Set());
          table.focus();
        },
        "read-forget",
      ),
    );
  }

  function show() {
    const read = load();
    tick(read);
    if (/\/chapters\/(index(\.html)?)?$/.test(location.pathname)) countParts(read);
  }

  function watch() {
    const name = page(location.pathname),
      end = document.querySelector(".prev-next-footer, footer");
    if (!name || !end || load().has(name)) return;
    const eye = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting) || !scrollY) return;
      eye.disconnect();
      save(load().add(name));
    });
    eye.observe(end);
  }

  // Closed sections: a link into one opens it, and a switch in the page's head, which is remembered, opens all.
  function fold() {
    const sections = [...document.querySelectorAll("details.more")],
      start = document.querySelector("details.start");
    for (const { parentElement } of sections) {
      document.querySelector(`.page-toc a[href="#${parentElement.id}"]`)?.classList.add("more");
    }
    const named = (hash) => {
      try {
        return decodeURIComponent(hash.slice(1));
      } catch {
        return ""; // an address that somebody cut names nothing
      }
    };
    const reveal = () => {
      const target = document.getElementById(named(location.hash));
      if (!target?.closest("details.more")) return;
      for (let box = target; box; box = box.parentElement) if (box.matches("details.more")) box.open = true;
      target.scrollIntoView();
    };
    addEventListener("hashchange", reveal);
    if (sections.length && start) {
      const group = make("div", "reach");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "How much of the page");
      const choose = (all) => {
        for (const one of sections) one.open = all;
        for (const button of group.children) button.setAttribute("aria-pressed", String((button.value === "all") === all));
      };
      for (const [value, text] of [
        ["core", "Core"],
        ["all", "All"],
      ]) {
        const button = window.book.button(
          text,
          () => {
            window.book.keep("xformer-reach", { all: value === "all" });
            choose(value === "all");
          },
          "",
        );
        button.value = value;
        group.append(button);
      }
      start.before(group);
      choose(kept("xformer-reach").all === true);
    }
    reveal();
  }

  // The last line of a page can show the checks that stand behind its numbers.
  function checks() {
    const line = document.querySelector("p.checked");
    const show = () => button.setAttribute("aria-pressed", String(document.body.classList.toggle("with-claims")));
    const button = window.book.button("Show the checks", show, "");
    button.setAttribute("aria-pressed", "false");
    line?.append(" ", button);
  }

  addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.body.classList.add("no-notes");
  });
  for (const kind of ["pointerover", "focusin"]) {
    addEventListener(kind, (event) => {
      if (event.target.matches(".term")) document.body.classList.remove("no-notes");
    });
  }
  addEventListener("xformer-progress", show);
  window.book.news(show);
  show();
  watch();
  fold();
  checks();
})();
