/** Transit over MessagePack: the bytes of values (values.mjs), and back. */

import { Read, Written } from "./cache.mjs";
import { refuse } from "./malformed.mjs";
import { Keyed, MAX_DEPTH, Tagged, isComposite, isOf64Bits, isUuid } from "./values.mjs";
import { halvesOf, valueOfArray, valueOfMap, valueOfText } from "./values.mjs";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }); // ignoring it means: it is text like all else

// ---- reading ---------------------------------------------------------------------------------------------------------

/** The value of these bytes, all of them. A Keyed in it knows the deepest level that it `reaches`. */
export function read(bytes) {
  const reader = new Reader(bytes);
  const value = reader.value(1);
  reader.end();
  return value;
}

class Reader {
  #bytes;
  #at = 0;
  #cache = new Read();

  /**
   * The deepest level of what has been read of the array or map that is being read. A map with arrays or maps for keys counts
   * twice, since a payload writes it as two arrays [SA-65].
   */
  #reaches = 0;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  end() {
    if (this.#at < this.#bytes.length) {
      refuse("trailing", `${this.#bytes.length - this.#at} bytes are left over`);
    }
  }

  /** The next value, which is at this level if it is an array or a map. */
  value(level, isKey = false) {
    const head = this.#take(1)[0];
    if (head >= 0x80 && head < 0x90) return this.#map(head & 0x0f, level);
    if (head >= 0x90 && head < 0xa0) return this.#array(head & 0x0f, level);
    if (head >= 0xa0 && head < 0xc0) return this.#text(head & 0x1f, isKey);
    switch (head) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xca: return this.#take(4).readFloatBE();
      case 0xcb: return this.#take(8).readDoubleBE();
      case 0xd9: case 0xda: case 0xdb: return this.#text(this.#size(head - 0xd9), isKey);
      case 0xdc: case 0xdd: return this.#array(this.#size(head - 0xdb), level);
      case 0xde: case 0xdf: return this.#map(this.#size(head - 0xdd), level);
      default: return this.#integer(head) ?? refuse("bad_type", `Transit has nothing that begins with ${head.toString(16)}`);
    }
  }

  /** The integer that this head begins, or undefined. */
  #integer(head) {
    if (head < 0x80) return BigInt(head);
    if (head >= 0xe0) return BigInt(head - 0x100);
    if (head >= 0xcc && head <= 0xce) return BigInt(this.#size(head - 0xcc));
    if (head === 0xcf) return this.#take(8).readBigUInt64BE();
    if (head >= 0xd0 && head <= 0xd2) return BigInt.asIntN(8 << (head - 0xd0), BigInt(this.#size(head - 0xd0)));
    return head === 0xd3 ? this.#take(8).readBigInt64BE() : undefined;
  }

  #take(size) {
    if (size > this.#bytes.length - this.#at) {
      refuse("truncated", `need ${size} bytes, have ${this.#bytes.length - this.#at}`);
    }
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  /** An unsigned integer of 1, 2 or 4 bytes: 2 to the power of `width`. */
  #size(width) {
    return this.#take(2 ** width).readUIntBE(0, 2 ** width);
  }

  #text(size, isKey) {
    let text;
    try {
      text = utf8.decode(this.#take(size));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      refuse("bad_value", "a string is no UTF-8");
    }
    return valueOfText(this.#cache.full(text, isKey) ?? refuse("bad_value", `the cache has no ${text}`));
  }

  #array(size, level) {
    return this.#nested(level, size, () => {
      const items = [];
      while (items.length < size) {
        const isHalves = items.length === 1 && size === 2 && items[0] === "~#u";
        items.push(isHalves ? this.#halves() : this.value(level + 1));
      }
      return valueOfArray(items);
    });
  }

  #map(size, level) {
    return this.#nested(level, 2 * size, () => {
      const entries = [];
      while (entries.length < size) {
        const key = this.value(level + 1, true);
        entries.push([key, size === 1 && key === "~#u" ? this.#halves() : this.value(level + 1)]);
      }
      if (entries.some(([key]) => isComposite(key))) {
        this.#reaches += 1;
      }
      return valueOfMap(entries);
    });
  }

  /** The array in a uuid is not counted [SA-65]. It holds integers of MessagePack, and nothing that is written otherwise. */
  #halves() {
    const head = this.#take(1)[0];
    const size = head === 0xdc || head === 0xdd ? this.#size(head - 0xdb) : head - 0x90;
    const half = () => this.#integer(this.#take(1)[0]) ?? refuse("bad_value", "half of a uuid is an integer");
    return size === 2 ? [half(), half()] : refuse("bad_value", "a uuid has two halves");
  }

  /** Reads an array or a map of so many values, which are not there if there are not as many bytes. */
  #nested(level, size, contents) {
    if (level > MAX_DEPTH) {
      refuse("too_large", `arrays and maps nest at most ${MAX_DEPTH} deep`);
    }
    if (size > this.#bytes.length - this.#at) {
      refuse("truncated", `need ${size} values, have ${this.#bytes.length - this.#at} bytes`);
    }
    const around = this.#reaches;
    this.#reaches = level;
    const value = contents();
    if (value instanceof Keyed) {
      value.reaches = this.#reaches;
    }
    this.#reaches = Math.max(around, this.#reaches);
    return value;
  }
}

// ---- writing ---------------------------------------------------------------------------------------------------------

/** The canonical bytes of a value [SA-61]. */
export function write(value) {
  const writer = new Writer();
  writer.value(value);
  return Buffer.concat(writer.pieces);
}

class Writer {
  pieces = [];
  #cache = new Written();

  value(value) {
    if (value === null) this.#head(0xc0);
    else if (typeof value === "boolean") this.#head(value ? 0xc3 : 0xc2);
    else if (typeof value === "bigint") this.#integer(value);
    else if (typeof value === "number") this.#float(value);
    else if (isUuid(value)) this.#array(["~#u", halvesOf(value)]);
    else if (typeof value === "string") this.#text(value, false);
    else if (Array.isArray(value)) this.#array(value);
    else if (value instanceof Tagged) this.#array([value.tag, value.value]);
    else this.#map(value.entries);
  }

  /** A byte, and an unsigned integer of so many more behind it. */
  #head(byte, width = 0, number = 0) {
    const head = Buffer.alloc(1 + width, byte);
    if (width > 0) head.writeUIntBE(number, 1, width);
    this.pieces.push(head);
  }

  #integer(value) {
    if (!isOf64Bits(value)) {
      this.#text(`~n${value}`, false);
    } else if (value >= -0x20n && value < 0x80n) {
      this.#head(Number(value) & 0xff);
    } else {
      const width = [0, 1, 2, 3].find((size) => {
        const bits = 8 * 2 ** size;
        return value === (value < 0n ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value));
      });
      const bytes = Buffer.alloc(8);
      bytes.writeBigUInt64BE(BigInt.asUintN(64, value));
      this.#head((value < 0n ? 0xd0 : 0xcc) + width);
      this.pieces.push(bytes.subarray(8 - 2 ** width));
    }
  }

  #float(value) {
    const bytes = Buffer.alloc(9, 0xcb);
    bytes.writeDoubleBE(value, 1);
    this.pieces.push(bytes);
  }

  #text(text, isKey) {
    if (/\p{Surrogate}/u.test(text)) {
      refuse("bad_value", "half a character has no UTF-8");
    }
    const bytes = Buffer.from(this.#cache.shortened(text, isKey), "utf8");
    this.#sized(bytes.length, 0xa0, 32, [0xd9, 0xda, 0xdb]);
    this.pieces.push(bytes);
  }

  #array(items) {
    this.#sized(items.length, 0x90, 16, [null, 0xdc, 0xdd]);
    items.forEach((item) => this.value(item));
  }

  /** Keys are strings; a uuid is none of two halves here. */
  #map(entries) {
    this.#sized(entries.length, 0x80, 16, [null, 0xde, 0xdf]);
    for (const [key, value] of entries) {
      this.#text(key, true);
      this.value(value);
    }
  }

  /** The shortest head for so many bytes or values: in its byte below `fixed`, else in 1, 2 or 4 bytes behind it. */
  #sized(size, byte, fixed, heads) {
    const width = [0, 1, 2].find((power) => heads[power] !== null && size < 2 ** (8 * 2 ** power));
    if (size < fixed) this.#head(byte + size);
    else this.#head(heads[width], 2 ** width, size);
  }
}
