// What comes with the built book after a click: the translators' weights, and Python for the cells of its pages. All of it are scripts
// whose strings carry one byte a character: unlike fetch, a script may be loaded from a folder, too. Read as windows-1252 every byte is a
// character of its own.
const loader = (() => {
  // The characters that windows-1252 gives to the bytes 0x80–0x9F, where they are not U+0080–U+009F themselves.
  const ODD = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019,
    0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
  ];
  const BYTE = new Uint8Array(0x2123).map((_, code) => code);
  ODD.forEach((code, i) => {
    if (code) BYTE[code] = 0x80 + i;
  });
  const toBytes = (text) => {
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = BYTE[text.charCodeAt(i)];
    return bytes;
  };

  const CRC = new Uint32Array(256).map((_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n;
  });
  const crc32 = (bytes) => {
    let sum = 0xffffffff;
    for (let i = 0; i < bytes.length; i++) sum = CRC[(sum ^ bytes[i]) & 255] ^ (sum >>> 8);
    return (sum ^ 0xffffffff) >>> 0;
  };

  // Run one script that hands its content to `receiveFile`. A server may name another charset for scripts, and that would
  // win; over http the script is fetched first and run from memory, where its charset is ours.
  window.receiveFile = (content) => document.currentScript.receive(content);
  const run = async (url, again) => {
    let address = url;
    if (!url.startsWith("file:")) {
      const answer = await fetch(url, { cache: again ? "reload" : "default" });
      if (!answer.ok) throw new Error(String(answer.status));
      address = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: "text/javascript;charset=windows-1252" }));
    }
    const tag = document.createElement("script");
    tag.charset = "windows-1252";
    try {
      return await new Promise((resolve, reject) => {
        tag.receive = resolve;
        // after `load` nothing more comes: the script did not run to its end
        tag.onload = () => reject(new Error("cut off"));
        tag.onerror = () => reject(new Error("absent"));
        tag.src = address;
        document.head.append(tag);
      });
    } finally {
      tag.remove();
      if (address !== url) URL.revokeObjectURL(address);
    }
  };

  // Where the built book keeps such files, from any of its pages; null where there is no book around.
  const folder = (name) => {
    const root = document.documentElement.dataset.content_root;
    return root === undefined ? null : new URL(`${root}_static/${name}/`, document.baseURI).href;
  };

  const script = async (base, name, again) => {
    try {
      return await run(base + name, again);
    } catch (reason) {
      throw new Error(`The file ${name} could not be loaded from this book (${reason.message}). Press again when you are online. If this book is your own build, build it again.`, {
        cause: reason,
      });
    }
  };

  // All files by name. `kept` holds the parts that arrived whole, so that a second try asks for the others alone.
  const load = async (base, kept, progress, again = false) => {
    kept.list ??= await script(base, "list.js", again);
    kept.parts ??= [];
    const { files, parts } = kept.list,
      total = files.reduce((sum, file) => sum + file.bytes, 0);
    let done = 0;
    for (const [n, part] of parts.entries()) {
      if (!kept.parts[n]) {
        const bytes = toBytes(await script(base, part.name, again));
        if (bytes.length !== part.bytes || crc32(bytes) !== part.crc32) {
          throw new Error(
            `Part ${n + 1} of ${parts.length} is damaged: its checksum is not the one it was written with. Try again, or build the book again.`,
          );
        }
        kept.parts[n] = bytes;
      }
      done += part.bytes;
      progress(done, total);
      await new Promise((resolve) => setTimeout(resolve)); // let the page draw
    }
    const all = new Uint8Array(total);
    kept.parts.reduce((at, bytes) => {
      all.set(bytes, at);
      return at + bytes.length;
    }, 0);
    let at = 0;
    return Object.fromEntries(files.map(({ name, bytes }) => [name, all.subarray(at, (at += bytes))]));
  };

  return { folder, script, load };
})();
