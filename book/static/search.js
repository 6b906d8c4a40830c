// The search page: titles before mentions, in the order of the book; the words around a hit, also from a folder; for a near miss a
// proposal. Index, stems and the frame of the page are Sphinx's, whose own lookup ends at a word such as "constructor".
(() => {
  const BASE = loader.folder("text"),
    ORDER = [/^chapters\/\d/, /^chapters\/[^/]+$/, /^chapters\/back\//, /^/]; // chapters, workshop, reference, solutions
  const stemmer = new Stemmer();
  const split = (text) => splitQuery(text.toLowerCase());
  const own = (table, key) => (Object.hasOwn(table, key) ? [table[key]].flat() : []);
  const read = async (name) => JSON.parse(await loader.script(BASE, `${name}.js`));

  // The pages in which a stem stands or, if there are none, a longer one that holds it.
  const pagesWith = (stem) => {
    const { terms, titleterms } = Search._index,
      all = (keys) => new Set([terms, titleterms].flatMap((table) => keys(table).flatMap((key) => own(table, key))));
    const exact = all(() => [stem]);
    return exact.size || stem.length < 3 ? exact : all((table) => Object.keys(table).filter((key) => key.includes(stem)));
  };

  // One hit a page, {file, rank, section, id}: its title, or a section's, or a mention.
  const find = (query, stems) => {
    const { docnames, titles, alltitles } = Search._index,
      words = ` ${split(query).join(" ")}`,
      found = new Map();
    const offer = (file, rank, section = "", id = "") => {
      const old = found.get(file);
      if (!old || rank < old.rank || (rank === old.rank && section.length < old.section.length))
        found.set(file, { file, rank, section, id });
    };
    for (const [title, places] of Object.entries(alltitles)) {
      const inside = split(title),
        begin = inside.map((word) => stemmer.stemWord(word));
      const fits = stems.length && stems.every((stem) => begin.some((one) => (stem.length < 3 ? one === stem : one.startsWith(stem))));
      if (!fits && !(words.trim() && ` ${inside.join(" ")}`.includes(words))) continue;
      for (const [file, id] of places) titles[file] === title ? offer(file, 0) : offer(file, 1, title, `#${id}`);
    }
    const mentions = stems.map(pagesWith);
    for (const file of mentions[0] ?? []) if (mentions.every((some) => some.has(file))) offer(file, 2);
    const group = ({ file }) => ORDER.findIndex((one) => one.test(docnames[file]));
    return [...found.values()].sort((a, b) => a.rank - b.rank || group(a) - group(b) || (docnames[a.file] < docnames[b.file] ? -1 : 1));
  };

  // Some words of the page around those that were asked for.
  const excerpt = async ({ file, rank, id }, asked) => {
    const parts = await read(Search._index.docnames[file]),
      has = (text) => asked.filter((word) => text.toLowerCase().includes(word)).length;
    const [, text] =
      rank < 2 ? (parts.find(([name]) => `#${name}` === id) ?? parts[0]) : parts.reduce((a, b) => (has(b[1]) > has(a[1]) ? b : a));
    const places = asked.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0),
      begin = Math.max(0, text.lastIndexOf(" ", Math.min(...places, text.length) - 90) + 1),
      from = places.length ? begin : 0;
    return `${from ? "… " : ""}${text.slice(from, from + 240)}${from + 240 < text.length ? " …" : ""}`;
  };

  // How many letters must be changed, added, left out or swapped, if no more than `most`.
  const distance = (a, b, most) => {
    if (Math.abs(a.length - b.length) > most) return Infinity;
    let [before, last] = [[], Array.from({ length: b.length + 1 }, (_, n) => n)];
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) {
        row[j] = Math.min(row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
        if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
      }
      [before, last] = [last, row];
    }
    return last[b.length] <= most ? last[b.length] : Infinity;
  };
  const proposal = async (query) => {
    const words = await read("words");
    const better = split(query).map((word) => {
      if (stopwords.includes(word) || pagesWith(stemmer.stemWord(word)).size) return word;
      let [best, least] = [word, Infinity];
      for (const one of words) {
        const far = distance(word, one, word.length < 6 ? 1 : 2);
        if (far < least) [best, least] = [one, far]; // of equals, the more frequent
      }
      return best;
    });
    return better.join(" ") === split(query).join(" ") ? "" : better.join(" ");
  };

  Search.query = async (query) => {
    const [, stems, , asked] = Search._parseQuery(query);
    const { docnames, titles } = Search._index,
      { make } = window.book;
    const hits = find(query, [...stems]);
    const items = hits.map((hit) => {
      const item = make("li", ""),
        link = make("a", "");
      link.href = `${docnames[hit.file]}.html${hit.id}`;
      link.innerHTML = hit.section ? `${titles[hit.file]} > ${hit.section}` : titles[hit.file];
      item.append(link);
      return item;
    });
    Search.output.append(...items);
    _finishSearch(hits.length);
    try {
      const better = hits.length ? "" : await proposal(query);
      if (better) {
        const link = Object.assign(make("a", "", better), { href: `?q=${encodeURIComponent(better)}` }),
          line = make("p", "search-proposal", "Did you mean ");
        line.append(link, "?");
        Search.status.after(line);
      }
      for (const [n, item] of items.entries()) {
        const text = make("p", "context", await excerpt(hits[n], [...asked, ...stems]));
        item.append(text);
        asked.forEach((word) => _highlightText(text, word, "highlighted"));
      }
    } catch (error) {
      Search.status.append(` ${error.message}`);
    }
  };
})();
