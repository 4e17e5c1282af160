// A table of any length: only the rows that are on the screen exist. The window scrolls, not a box in it.

import { h, put, set } from "./dom.js";

/**
 * @template T
 * @typedef {{
 *   name: string,
 *   label: string,
 *   title?: string,
 *   sort?: string,
 *   numeric?: boolean,
 *   make: () => HTMLElement,
 *   fill: (cell: HTMLElement, item: T) => void,
 * }} Column `name` is the class of its cells; `sort` what the address says when sorted by it; `make` makes the content of a cell
 * once, `fill` shows an item in it
 */

/**
 * @template T
 * @typedef {{ element: HTMLElement, cells: HTMLElement[], item: T | null, key: string }} Row
 */

// rows beyond the screen, so that quick scrolling shows no gaps
const SPARE = 8;

/** @template T */
export class Table {
  /**
   * @param {{
   *   label: string,
   *   columns: Column<T>[],
   *   keyOf: (item: T) => string,
   *   open: (item: T) => void,
   *   sorted: (sort: string) => void,
   *   shown?: (items: T[]) => void,
   * }} how `open`: the reader chose a row; `sorted`: a column's head was chosen; `shown`: told which rows are on the screen
   */
  constructor(how) {
    this.how = how;
    /** @type {T[]} */
    this.items = [];
    /** @type {string | null} key of the selected row */
    this.selected = null;
    /** @type {Row<T>[]} */
    this.rows = [];
    this.height = 0;
    this.body = h("div.rows", { role: "rowgroup" });
    this.heads = how.columns.map((column) => this.#head(column));
    this.element = h(
      "div.table",
      {
        role: "grid",
        tabindex: "0",
        "aria-label": how.label,
        "aria-readonly": "true",
        onkeydown: (/** @type {KeyboardEvent} */ event) => this.#key(event),
      },
      h(
        "div.heads",
        { role: "rowgroup" },
        h("div.row", { role: "row", "aria-rowindex": "1" }, this.heads),
      ),
      this.body,
    );
    this.paint = () => this.#paint(false);
    this.resized = () => {
      this.height = 0;
      this.#paint(false);
    };
    addEventListener("scroll", this.paint, { passive: true });
    addEventListener("resize", this.resized);
  }

  close() {
    removeEventListener("scroll", this.paint);
    removeEventListener("resize", this.resized);
  }

  /**
   * Other items, or the same in another order.
   * @param {T[]} items
   */
  show(items) {
    this.items = items;
    set(this.element, "aria-rowcount", items.length + 1);
    this.#paint(true);
  }

  /** The items are the same, their values are not. */
  refresh() {
    this.#paint(true);
  }

  /** @param {string} sort with `-` before it the greatest first */
  setSort(sort) {
    const name = sort.replace(/^-/, "");
    this.how.columns.forEach((column, at) => {
      const order = column.sort !== name ? null : sort.startsWith("-") ? "descending" : "ascending";
      set(this.heads[at], "aria-sort", order);
    });
    this.sort = sort;
  }

  /** @param {Column<T>} column */
  #head(column) {
    const { sort, label, title } = column;
    const content = sort
      ? h("button", {
        type: "button",
        tabindex: "-1",
        title: title ?? `Sort by ${label.toLowerCase()}`,
        onclick: () => this.how.sorted(this.sort === `-${sort}` ? sort : `-${sort}`),
      }, label)
      : h("span", { title }, label);
    return h("div", { class: this.#cell(column), role: "columnheader" }, content);
  }

  /** @param {Column<T>} column */
  #cell(column) {
    return `cell ${column.name}${column.numeric ? " number" : ""}`;
  }

  /** @returns {Row<T>} */
  #make() {
    const cells = this.how.columns.map((column) => column.make());
    const element = h(
      "div.row",
      { role: "row" },
      cells.map((cell, at) => h("div", { class: this.#cell(this.how.columns[at]), role: "gridcell" }, cell)),
    );
    /** @type {Row<T>} */
    const row = { element, cells, item: null, key: "" };
    element.addEventListener("click", (event) => {
      if (!row.item || event.defaultPrevented) return;
      this.select(row.key);
      // links and buttons in a row do what they do
      if (event.target instanceof Element && event.target.closest("a, button")) return;
      if (getSelection()?.toString()) return;
      this.how.open(row.item);
    });
    return row;
  }

  /** @param {string | null} key */
  select(key) {
    this.selected = key;
    for (const row of this.rows) this.#mark(row);
  }

  /** @param {Row<T>} row */
  #mark(row) {
    const chosen = row.key !== "" && row.key === this.selected;
    set(row.element, "aria-selected", chosen ? "true" : "false");
    if (chosen) set(this.element, "aria-activedescendant", row.element.id);
  }

  /** @param {boolean} values whether values may have changed, too */
  #paint(values) {
    if (!this.element.isConnected) return;
    const total = this.items.length;
    if (!this.height) this.height = this.#measure();
    const top = this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.min(total, Math.floor(-top / this.height) - SPARE));
    const last = Math.min(total, Math.ceil((innerHeight - top) / this.height) + SPARE);
    const wanted = Math.max(0, last - first);
    const height = `${total * this.height}px`;
    if (this.body.style.height !== height) this.body.style.height = height;
    while (this.rows.length < wanted) {
      const row = this.#make();
      row.element.id = `row-${this.rows.length}`;
      this.rows.push(row);
      this.body.append(row.element);
    }
    // an item keeps its row while it is on the screen, so that nothing moves that has not moved
    const free = new Map(this.rows.map((row) => [row.key, row]));
    /** @type {(Row<T> | undefined)[]} */
    const placed = [];
    for (let at = first; at < last; at++) {
      const key = this.how.keyOf(this.items[at]);
      const row = free.get(key);
      placed.push(row);
      if (row) free.delete(key);
    }
    const spare = this.rows.filter((row) => !placed.includes(row));
    for (let at = first; at < last; at++) {
      const item = this.items[at];
      let row = placed[at - first];
      const other = !row;
      row ??= /** @type {Row<T>} */ (spare.pop());
      row.item = item;
      row.key = this.how.keyOf(item);
      if (row.element.hidden) row.element.hidden = false;
      const y = `translateY(${at * this.height}px)`;
      if (row.element.style.transform !== y) row.element.style.transform = y;
      set(row.element, "aria-rowindex", at + 2);
      if (values || other) {
        this.how.columns.forEach((column, number) => column.fill(row.cells[number], item));
      }
      this.#mark(row);
    }
    for (const row of spare) {
      row.item = null;
      row.key = "";
      row.element.hidden = true;
    }
    this.how.shown?.(this.items.slice(first, last));
  }

  #measure() {
    const probe = h("div.row");
    put(this.body, ...this.rows.map((row) => row.element), probe);
    const height = probe.getBoundingClientRect().height;
    probe.remove();
    return height || 40;
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.metaKey || event.ctrlKey || event.altKey || !this.items.length) return;
    const at = this.items.findIndex((item) => this.how.keyOf(item) === this.selected);
    const page = Math.max(1, Math.floor(innerHeight / this.height) - 4);
    /** @type {Record<string, number>} */
    const steps = {
      ArrowDown: at + 1,
      j: at + 1,
      ArrowUp: at < 0 ? 0 : at - 1,
      k: at < 0 ? 0 : at - 1,
      PageDown: Math.max(0, at) + page,
      PageUp: at - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (event.key in steps) {
      event.preventDefault();
      this.move(Math.max(0, Math.min(this.items.length - 1, steps[event.key])));
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      this.how.open(this.items[at]);
    } else if (event.key === "Escape") {
      this.select(null);
      set(this.element, "aria-activedescendant", null);
    }
  }

  /** Select the row at this position, and scroll to it. @param {number} at */
  move(at) {
    if (!this.items.length) return;
    this.selected = this.how.keyOf(this.items[at]);
    const top = this.body.getBoundingClientRect().top + at * this.height;
    const headed = this.heads[0].getBoundingClientRect().bottom;
    const above = Math.max(headed, 0);
    if (top < above) scrollBy(0, top - above);
    else if (top + this.height > innerHeight) scrollBy(0, top + this.height - innerHeight + 8);
    this.#paint(false);
  }
}
