"use strict";
// Numbers as people read them, and elements whose text is never markup.

const byID = id => document.getElementById(id);

/** An element with attributes; children are elements or text. */
const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

const drawingNamespace = document.querySelector("svg").namespaceURI;

const makeDrawn = (name, attributes = {}, text) => {
  const element = document.createElementNS(drawingNamespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

/** Leaves equal text alone: a selection survives, and a screen reader is not told again. */
const setText = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

const setClass = (element, name) => {
  if (element.className !== name) element.className = name;
};

const wholeNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const shortNumber = new Intl.NumberFormat("en", {
  notation: "compact", maximumSignificantDigits: 3,
});
const fineNumber = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const percentNumber = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 });
const isNumber = value => typeof value === "number" && Number.isFinite(value);

const plural = (count, word) => `${format.count(count)} ${word}${count === 1 ? "" : "s"}`;

/** Each takes a number that may be missing, and then says so by a dash. */
const format = {
  count: value => !isNumber(value) ? "–"
    : Math.abs(value) < 1e6 ? wholeNumber.format(value) : shortNumber.format(value),
  rate: value => !isNumber(value) ? "–"
    : value === 0 ? "0" : value < 10 ? fineNumber.format(value) : format.count(value),
  seconds: value => {
    if (!isNumber(value)) return "–";
    if (value === 0) return "0 s";
    if (value < 1) return `${value < .01 ? fineNumber.format(value * 1000)
      : wholeNumber.format(value * 1000)} ms`;
    if (value < 120) return `${fineNumber.format(value < 10 ? value : Math.round(value))} s`;
    if (value < 7200) return `${wholeNumber.format(value / 60)} min`;
    if (value < 172800) return `${wholeNumber.format(value / 3600)} h`;
    return `${wholeNumber.format(value / 86400)} days`;
  },
  bytes: value => {
    if (!isNumber(value)) return "–";
    const units = ["B", "KiB", "MiB", "GiB"];
    const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
    const shown = value / 1024 ** power;
    return `${shown < 10 && power > 0 ? fineNumber.format(shown) : wholeNumber.format(shown)} `
      + units[power];
  },
  /** Never "100%" for what is not all of it, nor "0%" for what is something. */
  share: value => {
    if (!isNumber(value)) return "–";
    if (value > .999 && value < 1) return "> 99.9%";
    if (value > 0 && value < .001) return "< 0.1%";
    return percentNumber.format(value);
  },
  time: date => date.toLocaleTimeString("en-GB"),
};

/** The samples of `/status.json`; a family that is missing has none. */
class Metrics {
  constructor(families) { this.families = families || {}; }

  samples(name, labels = {}) {
    const wanted = Object.entries(labels);
    return (this.families[name] || [])
      .filter(sample => wanted.every(([key, value]) => sample[key] === value));
  }

  /** Undefined, not zero, when there is no sample. */
  sum(name, labels, isWanted = () => true) {
    const values = this.samples(name, labels).filter(isWanted)
      .map(sample => sample.value).filter(isNumber);
    return values.length ? values.reduce((sum, value) => sum + value, 0) : undefined;
  }

  max(name) {
    const values = this.samples(name).map(sample => sample.value).filter(isNumber);
    return values.length ? Math.max(...values) : undefined;
  }

  /** The sums by a label, as a map in the order of the samples. */
  by(name, label) {
    const sums = new Map();
    for (const sample of this.samples(name)) {
      const key = sample[label];
      if (key !== undefined) sums.set(key, (sums.get(key) || 0) + (sample.value || 0));
    }
    return sums;
  }
}

const last = list => list?.[list.length - 1];

/** The mean of the last `count` numbers of a column; undefined when there are none. */
const mean = (column, count = Infinity) => {
  const values = (column || []).slice(-count).filter(isNumber);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : undefined;
};

/** The sum of columns, point by point. */
const total = columns => columns.length === 0 ? [] : columns[0].map((_, index) =>
  columns.reduce((sum, column) => sum + (column[index] || 0), 0));
