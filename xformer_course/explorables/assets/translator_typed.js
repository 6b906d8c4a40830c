// The work around the model, as xformer_lib.translation does it: a text becomes plain sentences that the model can read, and what is
// no letter of the model's is lifted out; each answer gets it back. Patterns and tables come from the Python modules, as data.
const typedWith = ({ patterns, breaks, space, twins, titles, endings, signs, holes, shouted }) => {
  const first = Object.fromEntries(Object.entries(patterns).map(([name, source]) => [name, new RegExp(source, "u")]));
  const every = Object.fromEntries(Object.entries(patterns).map(([name, source]) => [name, new RegExp(source, "gu")]));
  const BREAKS = breaks.map((source) => new RegExp(source, "gu")),
    READABLE = new RegExp(`^(?:${patterns.READABLE})$`, "u"),
    BEFORE = new RegExp(`^[${space}]+`, "u"),
    BEHIND = new RegExp(`[${space}]+$`, "u"),
    ONE_SIGN = new RegExp(`[${signs}]`, "gu");
  const endStrip = (text) => text.replace(BEHIND, ""),
    strip = (text) => endStrip(text).replace(BEFORE, "");
  const isLetter = (letter) => /\p{L}/u.test(letter),
    isSmall = (letter) => /\p{Lowercase}/u.test(letter),
    isCapital = (letter) => /\p{Uppercase}/u.test(letter);
  const capitalize = (word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase();
  const holesOf = (text) => text.match(every.HOLE) || [],
    wordsOf = (text) => text.match(every.WORD) || [];

  // ---------------------------------------------------------------- what people type, as xformer_lib.data.typed
  const plain = (letter) => {
    if (READABLE.test(letter) || first.RAISED.test(letter)) return letter;
    const compatible = letter.normalize("NFKC");
    return READABLE.test(compatible) ? compatible : letter;
  };
  const simplify = (typed) => {
    const text = Array.from(typed.normalize("NFC"), (letter) => twins[letter.codePointAt(0)] ?? letter).join("");
    return READABLE.test(text) ? text : Array.from(text, plain).join("");
  };
  const isKnown = (word, words) => words.has(word) || words.has(word.toLowerCase()) || words.has(capitalize(word));
  // Parts without empty texts, and with texts that follow each other as one.
  const joined = (parts) => {
    const found = [];
    for (const part of parts) {
      if (typeof part === "string" && typeof found.at(-1) === "string") found.push(found.pop() + part);
      else if (part) found.push(part);
    }
    return found;
  };
  // A text, cut at capitalised words that are not known.
  const names = (text, words) => {
    const parts = [];
    let end = 0;
    for (const { 0: name, index } of words.size ? text.matchAll(every.NAME) : []) {
      const titled = first.TITLE.test(text.slice(0, index));
      if (name.length > 1 && isCapital(name[0]) && (titled || !wordsOf(name).every((word) => isKnown(word, words)))) {
        parts.push(text.slice(end, index), { text: name, kind: "name" });
        end = index + name.length;
      }
    }
    return [...parts, text.slice(end)];
  };
  // A line as texts that the model can read, and items {text, kind} that it cannot, in their order.
  const takeOut = (typed, words) => {
    const line = simplify(typed),
      parts = [];
    let end = 0;
    for (const { 0: text, index, groups } of line.matchAll(every.TAKEN)) {
      const group = Object.keys(groups).find((name) => groups[name] !== undefined),
        unseen = group === "other" && !strip(text.replace(every.UNSEEN, "")),
        kind = { face: "symbol", other: isLetter(text) ? "script" : "symbol" }[group] || group;
      parts.push(...names(line.slice(end, index), words), unseen ? "" : { text, kind });
      end = index + text.length;
    }
    return joined([...parts, ...names(line.slice(end), words)]);
  };
  const putBack = (text, items) => {
    const left = new Map(items.slice(0, signs.length).map((item, n) => [signs[n], item.text]));
    const said = text.replace(ONE_SIGN, (sign) => {
      const item = left.get(sign) ?? "";
      left.delete(sign);
      return item;
    });
    return left.size ? [endStrip(said), ...left.values()].join(" ") : said;
  };

  // ---------------------------------------------------------------- sentences, as xformer_lib.data._sentences
  const splitSentences = (line) => {
    const found = [];
    let begin = 0;
    for (const { 0: text, 1: marks = "", 2: gap, 3: dash, index } of line.matchAll(every.END)) {
      const end = index + text.length;
      if (marks && !ends(line.slice(begin, index), marks, line.slice(end).replace(/^["'([]+/, ""))) continue;
      found.push([line.slice(begin, index + marks.length), gap ?? dash]);
      begin = end;
    }
    const text = endStrip(line.slice(begin));
    return begin < line.length ? [...found, [text, line.slice(begin + text.length)]] : found;
  };
  const ends = (before, marks, after) => {
    const word = before.split(first.BEFORE_WORD).at(-1).toLowerCase(),
      small = isSmall(after.slice(0, 1)),
      closed = /["')]$/.test(marks);
    if (!marks.startsWith(".")) return !(small && closed);
    if (titles.includes(word) || (word.length === 1 && isLetter(word) && word !== "i")) return false;
    return !(small && (endings.includes(word) || marks.startsWith("..") || closed));
  };

  // ---------------------------------------------------------------- the plan of a text, as xformer_lib.translation
  const isSentence = (part) => typeof part !== "string";
  // {parts, sentences, notes}; a part is a text that stays, or a sentence {text, items, shouted}.
  const cut = (typed, { fits, signed, words }) => {
    const parts = [],
      carried = new Set();
    let broken = 0;
    typed
      .replace(/ +$/, "")
      .split(first.LINE_END)
      .forEach((line, number) => {
        if (number) parts.push("\n");
        const [holed, items] = withHoles(takeOut(line, signed ? words : new Set()), signed);
        for (const item of items) if (!["number", "name"].includes(item.kind)) carried.add(item.text);
        if (!first.HAS_LETTER.test(holed)) return parts.push(line); // marks, numbers, symbols alone: as they were typed
        for (const [sentence, gap] of splitSentences(holed)) {
          const pieces = partsOf(sentence, items, fits, signed);
          if (!first.HOLE.test(sentence) && pieces.filter(isSentence).length > 1) broken += 1;
          parts.push(...pieces, gap);
        }
      });
    const sentences = parts.filter(isSentence),
      read = new Set(sentences.flatMap(({ text }) => wordsOf(text))),
      strange = words.size ? [...read].filter((word) => word.length > 1 && !isKnown(word, words)) : [],
      notes = [];
    if (carried.size) notes.push(`carried through unchanged: ${[...carried].join(", ")}`);
    if (broken) notes.push(`too long for the model, so read in parts: ${broken} sentence${broken > 1 ? "s" : ""}`);
    if (strange.length) notes.push(`hardly ever read in training: ${strange.join(", ")}`);
    return { parts: joined(parts), sentences, notes };
  };
  // The line with one letter for private use in the place of each item; numbers are text for a model without signs.
  const withHoles = (parts, signed) => {
    const items = [];
    const line = parts.map((part) => {
      if (!isSentence(part)) return part;
      if (part.kind === "number" && !signed) return part.text;
      items.push(part);
      return String.fromCharCode(holes + items.length - 1);
    });
    return [line.join("").replace(every.UNSEEN, ""), items];
  };
  // A sentence in parts; symbols at its ends stay out of the model's sight.
  const partsOf = (sentence, items, fits, signed) => {
    const itemOf = (hole) => items[hole.charCodeAt(0) - holes],
      filled = (text) => text.replace(every.HOLE, (hole) => itemOf(hole).text),
      kept = (text) => (!signed || holesOf(text).every((hole) => itemOf(hole).kind === "symbol") ? text : ""),
      inParts = (texts) => texts.flatMap((text) => (text ? partsOf(text, items, fits, signed) : []));
    if (!first.HAS_LETTER.test(sentence)) return [filled(sentence)];
    const [before, after] = [first.HEAD, first.TAIL].map((edge) => kept(sentence.match(edge)[0])),
      core = sentence.slice(before.length, sentence.length - after.length),
      places = Array.from(core.matchAll(every.HOLE), ({ index }) => index);
    let middle;
    if (places.length > (signed ? signs.length : 0)) {
      const place = places[signed ? signs.length : 0];
      middle = inParts(signed ? [core.slice(0, place), core.slice(place)] : [core.slice(0, place), core[place], core.slice(place + 1)]);
    } else if (fits(core)) {
      middle = [sentenceOf(core, holesOf(core).map(itemOf), signed)];
    } else {
      middle = inParts(halves(core, fits));
    }
    return [filled(before), ...middle, filled(after)];
  };
  // Signs in place of the holes, small letters if it was shouted; a model without signs gets the capitals that it has always read.
  const sentenceOf = (core, items, signed) => {
    let text = core.replace(every.BESIDE, " "),
      next = 0;
    const letters = Array.from(text).filter(isLetter),
      loud = letters.length >= shouted && !letters.some(isSmall);
    if (loud) text = text.toLowerCase();
    if (!signed) text = (text[0].toUpperCase() + text.slice(1)).replace(every.SMALL_I, "I");
    return { text: text.replace(every.HOLE, () => signs[next++]), items, shouted: loud };
  };
  // The longest beginning that fits, cut behind a comma or the like, else at a space; and the rest.
  const halves = (core, fits) => {
    let low = 1,
      high = core.length - 1;
    while (low < high) {
      const middle = Math.floor((low + high + 1) / 2);
      if (fits(core.slice(0, middle))) low = middle;
      else high = middle - 1;
    }
    for (const one of BREAKS) {
      const end = Array.from(core.slice(0, low).matchAll(one), ({ 0: text, index }) => index + text.length)
        .filter((place) => 2 * place > low)
        .at(-1);
      if (end) return [core.slice(0, end), core.slice(end)];
    }
    return [core.slice(0, low), core.slice(low)];
  };

  // The model's answer with its items again, and the whole text with an answer for each sentence.
  const finish = (sentence, answer) => putBack(sentence.shouted ? answer.toUpperCase() : answer, sentence.items);
  const misplaced = ({ items }, answer) => items.filter((_, n) => !answer.includes(signs[n])).map((item) => item.text);
  const join = ({ parts }, answers) => {
    let next = 0;
    return parts.map((part) => (isSentence(part) ? finish(part, answers[next++]) : part)).join("");
  };
  return { signs, simplify, takeOut, putBack, splitSentences, cut, finish, misplaced, join };
};
