"use strict";
// Tables that are filled again and again without being made anew.

/** A table with a caption, column heads and a head in each row; it scrolls sideways if it must. */
class Table {
  constructor(parent, { caption, columns, numbers = [], className }) {
    this.numbers = new Set(numbers);
    this.heads = columns.map((column, index) => make("th",
      { scope: "col", ...(this.numbers.has(index) ? { class: "number" } : {}) }, column));
    this.body = make("tbody");
    const table = make("table", className ? { class: className } : {},
      make("caption", {}, caption), make("thead", {}, make("tr", {}, ...this.heads)), this.body);
    this.root = make("div", { class: "scroll" }, table);
    this.caption = caption;
    new ResizeObserver(() => this.noteScrolling()).observe(this.root);
    parent.append(this.root);
  }

  /** Reached by keyboard only where there is something to scroll to. */
  noteScrolling() {
    const scrolls = this.root.scrollWidth > this.root.clientWidth;
    const attributes = { tabindex: "0", role: "region", "aria-label": this.caption };
    for (const [name, value] of Object.entries(attributes)) {
      if (scrolls) this.root.setAttribute(name, value); else this.root.removeAttribute(name);
    }
  }

  /**
   * A cell is text or {text, note, className, share, color, buttons}: a note stands below, a share
   * from 0 to 1 is drawn as a bar, a button is {label, act, className}.
   */
  fill(rows) {
    while (this.body.rows.length > rows.length) this.body.lastElementChild.remove();
    rows.forEach((cells, index) => {
      const row = this.body.rows[index] || this.append(cells.length);
      cells.forEach((cell, column) => this.fillCell(row.cells[column], cell, column));
    });
    this.noteScrolling();
  }

  append(count) {
    const row = make("tr");
    for (let column = 0; column < count; column += 1) {
      const text = make("span", { class: "text" });
      row.append(column === 0 ? make("th", { scope: "row" }, text) : make("td", {}, text));
    }
    this.body.append(row);
    return row;
  }

  fillCell(element, cell, column) {
    const { text, note, className = "", share, color, buttons }
      = typeof cell === "object" ? cell : { text: cell };
    const isNumeric = this.numbers.has(column) ? "number" : "";
    setClass(element, [isNumeric, className].filter(Boolean).join(" "));
    setText(element.querySelector(":scope > .text"), text ?? "–");
    this.decorate(element, "note", note !== undefined, small => setText(small, note), "append");
    this.decorate(element, "gauge", share !== undefined, bar => {
      if (!bar.firstChild) bar.append(make("i"));
      bar.firstChild.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
    }, "prepend");
    this.decorate(element, "swatch", color !== undefined, swatch => {
      swatch.style.background = `var(${color})`;
    }, "prepend");
    if (buttons) this.fillButtons(element, buttons);
  }

  /** A button that stays keeps the focus. */
  fillButtons(element, buttons) {
    const found = [...element.querySelectorAll(":scope > button")];
    found.slice(buttons.length).forEach(button => button.remove());
    buttons.forEach(({ label, act, className = "" }, index) => {
      const button = found[index] || make("button", { type: "button" });
      if (!found[index]) element.append(button);
      setText(button, label);
      setClass(button, className);
      button.onclick = act;
    });
  }

  decorate(element, name, isWanted, update, place) {
    let found = element.querySelector(`:scope > .${name}`);
    if (!isWanted) { found?.remove(); return; }
    if (!found) {
      found = make("span", { class: name });
      // Of an ornament, what it shows stands in the text as well.
      if (name !== "note") found.setAttribute("aria-hidden", "true");
      element[place](found);
    }
    update(found);
  }
}
