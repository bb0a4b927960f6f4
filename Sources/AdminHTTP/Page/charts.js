"use strict";
// Drawings of the last minutes: SVG by hand, with their numbers beside them as a table.

const HEIGHT = 152;
const MARGIN = { top: 8, right: 4, bottom: 20 };
const LETTER = 6.5;

/** One drawing. `lines` are {name, color, dash?}; values come with `show`. */
class Chart {
  constructor(parent, { title, unit, lines, isStacked, isLogarithmic, isWhole, write }) {
    Object.assign(this, { title, unit, lines, isStacked, isLogarithmic, isWhole, write });
    const id = `chart-${parent.childElementCount}`;
    this.heading = make("h3", { id }, title);
    this.moment = make("p", { class: "moment" });
    this.drawing = makeDrawn("svg", { role: "img" });
    this.legend = make("ul", { class: "legend" });
    this.table = new Table(make("div"), {
      caption: `${title}, one row a minute`,
      columns: ["Time", ...lines.map(line => line.name)],
      numbers: lines.map((_, index) => index + 1),
    });
    this.details = make("details", {}, make("summary", {}, "Show as a table"), this.table.root);
    this.details.addEventListener("toggle", () => this.fillTable());
    this.values = lines.map(line => {
      const value = make("b");
      this.legend.append(make("li", {}, swatchOf(line), `${line.name} `, value));
      return value;
    });
    parent.append(make("figure", { "aria-labelledby": id },
      make("div", { class: "head" }, this.heading, this.moment),
      this.drawing, this.legend, this.details));
    this.drawing.addEventListener("pointermove", event => this.point(event));
    this.drawing.addEventListener("pointerleave", () => this.select(undefined));
    new ResizeObserver(() => this.draw()).observe(this.drawing);
  }

  /** `at` are seconds of uptime, `now` the uptime, `columns` one list for each line. */
  show({ at, now, span, columns }) {
    const isNews = last(at) !== last(this.at || []) || now < this.now;
    Object.assign(this, { at, now, span, columns });
    this.drawnAt = Date.now();
    if (isNews || !this.isDrawn) this.draw();
    this.writeLegend();
  }

  draw() {
    const width = this.drawing.clientWidth;
    if (!this.at || width === 0) return;
    this.isDrawn = true;
    this.end = last(this.at) ?? this.now;
    const scale = this.isLogarithmic ? logarithmic(this.columns)
      : linear(this.heights(), this.isWhole ? 4 : 1);
    const letters = Math.max(...scale.ticks.map(tick => this.write(tick).length));
    this.left = Math.ceil(letters * LETTER) + 8;
    this.x = second => this.left
      + (width - this.left - MARGIN.right) * (1 - (this.end - second) / this.span);
    const bottom = HEIGHT - MARGIN.bottom;
    this.y = value => bottom - (bottom - MARGIN.top) * scale.share(value);
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.drawing.replaceChildren(
      ...this.axes(scale.ticks, width),
      ...(this.isStacked ? this.areas() : this.columns.map((column, index) =>
        this.line(column, this.lines[index]))));
    this.cursor = makeDrawn("line",
      { class: "cursor", y1: MARGIN.top, y2: bottom, visibility: "hidden" });
    this.drawing.append(this.cursor);
    this.drawing.setAttribute("aria-label", this.description());
    this.fillTable();
  }

  heights() { return this.isStacked ? [total(this.columns)] : this.columns; }

  axes(ticks, width) {
    const parts = [];
    for (const tick of ticks) {
      const y = Math.round(this.y(tick)) + .5;
      parts.push(
        makeDrawn("line", { class: "grid", x1: this.left, x2: width, y1: y, y2: y }),
        makeDrawn("text", { x: this.left - 6, y: y + 3.5, "text-anchor": "end" },
          this.write(tick)));
    }
    for (let minutes = Math.floor(this.span / 60); minutes >= 0; minutes -= 5) {
      const anchor = minutes === 0 ? "end" : minutes * 60 >= this.span ? "start" : "middle";
      parts.push(makeDrawn("text",
        { x: this.x(this.end - minutes * 60), y: HEIGHT - 4, "text-anchor": anchor },
        minutes === 0 ? "now" : `−${minutes} min`));
    }
    if (this.now < this.span) {
      const x = this.x(0);
      parts.push(
        makeDrawn("line",
          { class: "began", x1: x, x2: x, y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
        makeDrawn("text", x > width / 2
          ? { x: x - 5, y: MARGIN.top + 8, "text-anchor": "end" }
          : { x: x + 5, y: MARGIN.top + 8 }, "started"));
    }
    return parts;
  }

  /** Stacked from the bottom in the order of the lines. */
  areas() {
    let below = this.at.map(() => 0);
    return this.columns.map((column, index) => {
      const above = below.map((base, point) => base + (column[point] || 0));
      const edge = (values, order) => order.map(point =>
        `${this.x(this.at[point]).toFixed(1)},${this.y(values[point]).toFixed(1)}`).join("L");
      const forth = this.at.map((_, point) => point);
      const path = forth.length > 1 && above.some((value, point) => value > below[point])
        ? `M${edge(above, forth)}L${edge(below, forth.slice().reverse())}Z` : "";
      below = above;
      const color = `var(${this.lines[index].color})`;
      return makeDrawn("path", { d: path, fill: color });
    });
  }

  /** Broken where there is no number. */
  line(column, { color, dash }) {
    let path = "";
    let isDown = false;
    column.forEach((value, point) => {
      if (!isNumber(value)) { isDown = false; return; }
      const place = `${this.x(this.at[point]).toFixed(1)} ${this.y(value).toFixed(1)}`;
      // A lone point would have no length; a stroke with round caps shows it.
      path += isDown ? `L${place}` : `M${place}h.01`;
      isDown = true;
    });
    return makeDrawn("path", { d: path, fill: "none", stroke: `var(${color})`, "stroke-width": 1.6,
      "stroke-linecap": "round", "stroke-linejoin": "round", "stroke-dasharray": dash || "none" });
  }

  point(event) {
    const frame = this.drawing.getBoundingClientRect();
    const inner = frame.width - this.left - MARGIN.right;
    const share = (event.clientX - frame.left - this.left) / inner;
    const second = this.end - this.span * (1 - share);
    let best;
    this.at?.forEach((at, index) => {
      if (best === undefined || Math.abs(at - second) < Math.abs(this.at[best] - second)) {
        best = index;
      }
    });
    this.select(best);
  }

  select(index) {
    this.selected = index;
    if (this.cursor) {
      const x = index === undefined ? 0 : this.x(this.at[index]);
      this.cursor.setAttribute("x1", x);
      this.cursor.setAttribute("x2", x);
      this.cursor.setAttribute("visibility", index === undefined ? "hidden" : "visible");
    }
    this.writeLegend();
  }

  timeOf(second) { return format.time(new Date(this.drawnAt - (this.now - second) * 1000)); }

  writeLegend() {
    const index = this.selected ?? this.at.length - 1;
    setText(this.moment, this.selected === undefined ? this.unit
      : `${this.unit}, ${this.timeOf(this.at[index])}`);
    this.values.forEach((element, line) =>
      setText(element, this.write(this.columns[line]?.[index])));
  }

  /** What a person who does not see the drawing should know of it. */
  description() {
    const parts = this.lines.map(({ name }, index) => {
      const values = (this.columns[index] || []).filter(isNumber);
      if (values.length === 0 || (this.isStacked && Math.max(...values) === 0)) return undefined;
      return `${name}: now ${this.write(last(values))}, `
        + `lowest ${this.write(Math.min(...values))}, highest ${this.write(Math.max(...values))}`;
    }).filter(part => part !== undefined);
    return `${this.title}, ${this.unit}. ${parts.join(". ") || "No data yet"}.`;
  }

  /** Only while it is open. */
  fillTable() {
    if (!this.details.open || !this.at) return;
    const step = 12;
    const rows = [];
    for (let end = this.at.length; end > 0; end -= step) {
      const from = Math.max(0, end - step);
      rows.push([this.timeOf(this.at[end - 1]),
        ...this.lines.map((_, line) => this.write(mean(this.columns[line]?.slice(from, end))))]);
    }
    this.table.fill(rows);
  }
}

const swatchOf = ({ color, dash }) => {
  const swatch = makeDrawn("svg", { "aria-hidden": "true", viewBox: "0 0 16 8" });
  swatch.append(makeDrawn("line", { x1: 1, x2: 15, y1: 4, y2: 4, stroke: `var(${color})`,
    "stroke-width": dash ? 2 : 4, "stroke-dasharray": dash || "none" }));
  return swatch;
};

/** From zero to a round number that is at least `least`. */
const linear = (columns, least) => {
  const top = Math.max(least, ...columns.flat().filter(isNumber));
  const power = 10 ** Math.floor(Math.log10(top));
  const step = [.2, .5, 1, 2, 5].map(part => part * power).find(part => top / part <= 4) || power;
  const end = Math.ceil(top / step) * step;
  const ticks = [];
  for (let tick = 0; tick <= end + step / 2; tick += step) ticks.push(tick);
  return { share: value => value / end, ticks };
};

/** From the power of ten below the smallest number to the one above the largest. */
const logarithmic = columns => {
  const values = columns.flat().filter(value => isNumber(value) && value > 0);
  const low = Math.floor(Math.log10(Math.min(.01, ...values)));
  const high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(.1, ...values))));
  const ticks = [];
  for (let power = low; power <= high; power += 1) ticks.push(10 ** power);
  const share = value => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low);
  return { share, ticks };
};
