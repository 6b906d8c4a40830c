// What this browser remembers of the book: pages read, predictions said, exercises solved, questions answered, code typed, runs of the laboratory. Shown, handed out,
// taken back, forgotten.
(() => {
  const place = document.getElementById("your-progress");
  if (!place) return;
  const { make, day, isCard } = window.book;
  // What each key holds; anything else, from a file or from this browser, counts as nothing.
  const of = (fits) => (value) => value !== null && typeof value === "object" && !Array.isArray(value) && Object.values(value).every(fits);
  const text = (value) => typeof value === "string";
  const SHAPES = {
    "xformer-read": (value) => Array.isArray(value) && value.every(text),
    "xformer-predicted": of(of((said) => Array.isArray(said) && said.length === 2 && text(said[0]) && typeof said[1] === "boolean")),
    "xformer-done": of((value) => value === true),
    "xformer-reviewed": of(isCard),
    "xformer-typed": of(of(text)),
    "xformer-laboratory": (value) => Array.isArray(value) && value.every((row) => text(row?.id)),
  };
  const KEYS = Object.keys(SHAPES),
    LISTS = ["xformer-read", "xformer-laboratory"];
  const load = (key, empty) => {
    const value = window.book.load(key, empty ?? (LISTS.includes(key) ? [] : {}));
    return SHAPES[key](value) ? value : empty;
  };
  const link = (text, href) => Object.assign(make("a", "", text), { href });
  const CHAPTER = /chapters\/((?:\d\d[a-z]?|w\d)_\w+)/;

  function table() {
    const read = new Set(load("xformer-read", [])),
      predicted = load("xformer-predicted", {}),
      solved = load("xformer-done", {}),
      reviewed = load("xformer-reviewed", {});
    const rows = new Map();
    const row = (number) =>
      rows.get(number) || rows.set(number, { read: 0, said: 0, right: 0, solved: 0, reviewed: 0, due: 0 }).get(number);
    for (const name of read) row(name.slice(0, 2)).read += 1;
    for (const id of Object.keys(solved)) row(id.split(".")[0].padStart(2, "0")).solved += 1;
    const today = day(new Date());
    for (const [name, [askable, , asked]] of Object.entries(window.bookTotals || {})) {
      for (const [, right] of askable.map((key) => predicted[name]?.[key]).filter(Boolean)) {
        row(name.slice(0, 2)).said += 1;
        row(name.slice(0, 2)).right += right ? 1 : 0;
      }
      for (const id of asked)
        if (reviewed[id]) {
          const one = row(name.slice(0, 2));
          one.reviewed += 1;
          one.due += day(reviewed[id].due) <= today ? 1 : 0;
        }
    }
    if (!rows.size)
      return make(
        "p",
        "",
        "Nothing yet: read a page to its end, say a prediction, solve an exercise in its page, or answer its questions.",
      );
    const titles = new Map(
      [...document.querySelectorAll("nav.bd-links a[href]")]
        .map((link) => [
          CHAPTER.exec(link.href)?.[1],
          [...link.childNodes]
            .filter((part) => !part.classList?.contains("read-tick"))
            .map((part) => part.textContent)
            .join("")
            .trim(),
        ])
        .filter(([name]) => name && /^(\d\d|w\d)_/.test(name))
        .map(([name, title]) => [name.slice(0, 2), [title, `${name}.html`]]),
    );
    const made = make("table", "table"),
      head = made.createTHead().insertRow(),
      body = made.createTBody();
    for (const text of ["chapter", "pages read", "predicted right", "solved here", "answered", "due"])
      head.append(Object.assign(make("th", "", text), { scope: "col" }));
    for (const [number, one] of [...rows].sort()) {
      const line = body.insertRow();
      const [title, address] = titles.get(number) || [number, ""],
        due = one.due ? link(one.due, "back/review.html") : 0;
      for (const text of [
        address ? link(title, address) : title,
        one.read,
        one.said ? `${one.right} of ${one.said}` : 0,
        one.solved,
        one.reviewed,
        due,
      ])
        line.insertCell().append(text);
    }
    return made;
  }

  function save() {
    const kept = Object.fromEntries(
      KEYS.filter((key) => bookStore.local.getItem(key) !== null)
        .map((key) => [key, load(key, null)])
        .filter(([, value]) => value),
    );
    const file = link("", URL.createObjectURL(new Blob([JSON.stringify(kept, null, 1)], { type: "application/json" })));
    file.download = "attention-and-the-transformer.json";
    file.click();
    setTimeout(() => URL.revokeObjectURL(file.href), 60000);
  }

  // All of a file, or nothing of it.
  async function bring(file) {
    let given = null;
    try {
      given = JSON.parse(await file.text());
      given = { ...window.book.moved(given), ...given };
    } catch {
      /* not a file of ours */
    }
    const held = KEYS.filter((key) => Object.hasOwn(given ?? {}, key)),
      odd = held.find((key) => !SHAPES[key](given[key]));
    if (!held.length || odd)
      return `This file is not one that the button beside it wrote${odd ? ` (${odd} lacks something, or has a wrong value)` : ""}. Nothing was changed.`;
    const before = held.map((key) => [key, bookStore.local.getItem(key)]);
    if (held.every((key) => bookStore.local.setItem(key, JSON.stringify(given[key])))) return "Taken.";
    for (const [key, value] of before)
      if (value === null) bookStore.local.removeItem(key);
      else bookStore.local.setItem(key, value);
    return "It could not be taken: this browser keeps no more. Nothing was changed.";
  }

  const bar = make("div", "live-bar"),
    said = make("span", "live-status"),
    pick = Object.assign(make("input", ""), { type: "file", accept: "application/json", hidden: true });
  said.setAttribute("role", "status");
  const count = make("div", ""),
    show = () => count.replaceChildren(table());
  const tell = (words) => {
    dispatchEvent(new Event("xformer-progress"));
    said.textContent = words;
  };
  pick.addEventListener("change", async () => {
    if (pick.files[0]) tell(await bring(pick.files[0]));
    pick.value = ""; // the same file may be tried again
  });
  const acts = {
    "Save to a file": save,
    "Take from a file": () => pick.click(),
    "Forget everything": () => {
      if (!confirm("Forget what you read, predicted, solved, answered, typed and trained in this book?")) return;
      for (const key of KEYS) bookStore.local.removeItem(key);
      tell("Forgotten.");
    },
  };
  bar.append(...Object.entries(acts).map(([text, act]) => window.book.button(text, act)), pick, said);
  place.replaceChildren(count, bar);
  addEventListener("xformer-progress", show);
  window.book.news(show);
  show();
})();
