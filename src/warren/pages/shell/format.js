// Numbers and times as people read them: separators of the reader's language, times of the reader's zone.

const number = new Intl.NumberFormat();
const few = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const brief = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const share = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 0 });
const exact = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "long",
});
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** 1,240 @param {number} value */
export const count = (value) => number.format(value);

/** Messages a second: whole ones, unless there are few. @param {number} value */
export const rate = (value) => (value < 10 ? few : number).format(value < 10 ? value : Math.round(value));

/** 1.2K, for axes @param {number} value */
export const short = (value) => brief.format(value);

/** 33 %: never 100 % for what is not whole. @param {number} value from 0 to 1 */
export const percent = (value) => share.format(value < 1 ? Math.min(value, 0.99) : value);

/** "1 partition", "2 partitions" @param {number} value @param {string} one @param {string} [many] */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** With date and zone. @param {number} ms */
export const exactTime = (ms) => exact.format(ms);

/** Hours and minutes. @param {number} ms */
export const hourMinute = (ms) => clock.format(ms);

/** With seconds. @param {number} ms */
export const timeOfDay = (ms) => clockSeconds.format(ms);

/**
 * "6 min 10 s", "3 h 2 min", "2 d 4 h": two units at most.
 * @param {number} ms
 */
export function duration(ms) {
  const rounded = Math.max(0, Math.round(ms / SECOND)) * SECOND;
  /** @type {[number, string][]} */
  const units = [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]];
  const first = units.findIndex(([length]) => rounded >= length);
  if (first < 0) return "0 s";
  const parts = [];
  let left = rounded;
  for (const [length, unit] of units.slice(first, first + 2)) {
    const many = Math.floor(left / length);
    left -= many * length;
    if (many) parts.push(`${many} ${unit}`);
  }
  return parts.join(" ");
}

/**
 * A sentence of the server for people: separators in its numbers, and minutes where it has many seconds.
 * @param {string} sentence
 */
export function readable(sentence) {
  return sentence
    .replace(
      /(?<![\d.])(\d+(?:\.\d+)?) s\b/g,
      (whole, seconds) => Number(seconds) < 10 ? whole : duration(Number(seconds) * SECOND),
    )
    .replace(/(?<![\d.,])\d{4,}(?![\d.]*\d)/g, (digits) => count(Number(digits)));
}

/**
 * The same with one unit, for narrow columns: "6 min".
 * @param {number} ms
 */
export function about(ms) {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / SECOND))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}
