// The book's byte-level tokenizer: text to ids and back, the same ids as xformer_lib.data.tokenizer gives.
const tokens = (() => {
  // Inside the vocabulary each byte is a printable character: itself if it is one, else one from 256 on.
  const LETTER_OF = [],
    BYTE_OF = new Map();
  for (let byte = 0, moved = 256; byte < 256; byte++) {
    const plain = (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
    LETTER_OF.push(String.fromCharCode(plain ? byte : moved++));
    BYTE_OF.set(LETTER_OF[byte], byte);
  }

  // A word takes the space before it; an apostrophe closes the word before it. White space is spelt out, for \s of JavaScript
  // has U+FEFF and lacks U+0085.
  const SPACE = "\\t-\\r\\x85\\p{Z}",
    LETTER = "\\p{L}\\p{M}";
  const WORDS = new RegExp(
    [` ?[${LETTER}]+'?`, " ?\\p{N}", ` ?[^${SPACE}${LETTER}\\p{N}]+`, `[${SPACE}]+(?![^${SPACE}])`, `[${SPACE}]+`].join("|"),
    "gu",
  );
  const HALF = /\p{Surrogate}/u; // half of a pair: no character

  const GAP = new RegExp(`[${SPACE}\\x1c-\\x1f]+`, "gu");

  const SPECIALS = 4; // <pad> <bos> <eos> <unk>
  const PAIR = 2 ** 20; // more than there are ids

  class Tokenizer {
    constructor({ model }) {
      this.letters = [];
      for (const [token, id] of Object.entries(model.vocab)) this.letters[id] = token;
      this.merges = new Map();
      model.merges.forEach((merge, rank) => {
        const [left, right] = typeof merge === "string" ? merge.split(" ") : merge;
        this.merges.set(model.vocab[left] * PAIR + model.vocab[right], [rank, model.vocab[left + right]]);
      });
      this.byteIds = LETTER_OF.map((letter) => model.vocab[letter]);
      this.known = new Map();
    }

    get size() {
      return this.letters.length;
    }

    straight(text) {
      return text.replace(/[\u2018\u2019]/g, "'").replace(/[\u201c\u201d]/g, '"');
    }

    // A typed sentence as the corpus was made plain: straight quotes, single spaces, none at the ends.
    plain(text) {
      return this.straight(text).replace(GAP, " ").replace(/^ | $/g, "");
    }

    encode(text) {
      if (HALF.test(text)) throw new Error("The text has half of a surrogate pair, which is no character; type it again.");
      const ids = [];
      for (const [word] of text.normalize("NFC").matchAll(WORDS)) for (const id of this.#word(word)) ids.push(id);
      return ids;
    }

    // Byte-pair encoding of one word: the pair that was learned first is joined first, the leftmost of equals.
    #word(word) {
      if (this.known.has(word)) return this.known.get(word);
      const ids = [...new TextEncoder().encode(word)].map((byte) => this.byteIds[byte]);
      while (ids.length > 1) {
        let best = Infinity,
          place = -1,
          joined = 0;
        for (let i = 0; i + 1 < ids.length; i++) {
          const merge = this.merges.get(ids[i] * PAIR + ids[i + 1]);
          if (merge !== undefined && merge[0] < best) [best, joined, place] = [...merge, i];
        }
        if (place < 0) break;
        ids.splice(place, 2, joined);
      }
      if (this.known.size > 5000) this.known.clear();
      this.known.set(word, ids);
      return ids;
    }

    bytes(ids) {
      return Uint8Array.from(ids.filter((id) => id >= SPECIALS).flatMap((id) => [...this.letters[id]].map((one) => BYTE_OF.get(one))));
    }

    decode(ids) {
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes(ids));
    }

    // A piece as a person reads it: ▁ for a space, <0x..> for a loose byte.
    piece(id) {
      if (id < SPECIALS) return this.letters[id];
      const bytes = this.bytes([id]);
      try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replaceAll(" ", "▁");
      } catch {
        return Array.from(bytes, (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
      }
    }

    pieces(ids) {
      return ids.map((id) => this.piece(id));
    }
  }
  return { Tokenizer };
})();
