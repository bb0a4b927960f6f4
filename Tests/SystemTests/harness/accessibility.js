// A list of what is wrong with the page as it is drawn now; for `Browser.run`.
const problems = [];
const blame = (element, text) => problems.push(
  `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}`
  + ` "${(element.textContent || "").trim().slice(0, 40)}": ${text}`);
const all = selector => [...document.querySelectorAll(selector)];
const isVisible = element => element.checkVisibility({ visibilityProperty: true });

// Structure.
if (!document.documentElement.lang) problems.push("no language");
if (!document.title) problems.push("no title");
for (const selector of ["main", "body > header", "body > footer", "h1"]) {
  if (all(selector).length !== 1) problems.push(`${selector}: ${all(selector).length}`);
}
let level = 0;
for (const heading of all("h1, h2, h3, h4").filter(isVisible)) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) blame(heading, `level ${next} after ${level}`);
  level = next;
}
const ids = all("[id]").map(element => element.id);
ids.filter((id, index) => ids.indexOf(id) !== index)
  .forEach(id => problems.push(`twice: ${id}`));
for (const name of ["aria-labelledby", "aria-controls"]) {
  for (const element of all(`[${name}]`)) {
    if (!document.getElementById(element.getAttribute(name))) blame(element, `${name} to nothing`);
  }
}

// Names.
const nameOf = element => element.getAttribute("aria-label")
  || document.getElementById(element.getAttribute("aria-labelledby"))?.textContent
  || element.textContent.trim();
for (const element of all("a, button, summary, nav, section, [role=region]")) {
  if (isVisible(element) && !nameOf(element)) blame(element, "has no name");
}
for (const element of all("ul[id]").filter(isVisible)) {
  if (!nameOf(element)) blame(element, "has no name");
}
for (const drawing of all("svg")) {
  const isNamed = drawing.getAttribute("role") === "img" && drawing.getAttribute("aria-label");
  if (isVisible(drawing) && !isNamed && drawing.getAttribute("aria-hidden") !== "true") {
    blame(drawing, "is neither described nor hidden");
  }
}
for (const table of all("table").filter(isVisible)) {
  if (!table.caption?.textContent) blame(table, "has no caption");
  for (const head of table.querySelectorAll("th")) {
    if (!["col", "row"].includes(head.scope)) blame(head, "has no scope");
  }
  for (const row of table.tBodies[0].rows) {
    if (row.cells[0].tagName !== "TH") blame(row, "has no head");
  }
}
if (all("[role=status], [aria-live]").length !== 1) problems.push("not one live region");

// Colors, against what is painted behind.
const parse = text => {
  const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
  return { red, green, blue, alpha };
};
const luminance = ({ red, green, blue }) => {
  const [r, g, b] = [red, green, blue].map(part => part / 255)
    .map(part => (part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4));
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = (one, other) => {
  const [high, low] = [luminance(one), luminance(other)].sort((left, right) => right - left);
  return (high + .05) / (low + .05);
};
const backgroundOf = element => {
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color.alpha === 1) return color;
  }
  return { red: 255, green: 255, blue: 255 };
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !isVisible(element)) continue;
  if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const color = parse(element instanceof SVGElement ? style.fill : style.color);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const ratio = contrast(color, backgroundOf(element));
  if (ratio < (isLarge ? 3 : 4.5)) blame(element, `contrast ${ratio.toFixed(2)}`);
}
for (const shape of all("svg path[d], .legend line, .gauge i, .swatch").filter(isVisible)) {
  const style = getComputedStyle(shape);
  const paint = shape instanceof SVGElement
    ? (style.stroke !== "none" ? style.stroke : style.fill) : style.backgroundColor;
  const ratio = contrast(parse(paint), backgroundOf(shape.closest("figure, .scroll, header")));
  if (ratio < 3) problems.push(`${shape.outerHTML.slice(0, 60)}: contrast ${ratio.toFixed(2)}`);
}

// Fingers, and narrow windows.
for (const element of all("a, button, summary").filter(isVisible)) {
  const { width, height } = element.getBoundingClientRect();
  const isSkip = element.className === "skip";
  if (!isSkip && (width < 24 || height < 24)) blame(element, `${width} x ${height} is too small`);
}
const { scrollWidth, clientWidth } = document.documentElement;
if (scrollWidth > clientWidth) problems.push(`${scrollWidth} wide in ${clientWidth}`);
for (const box of all(".scroll").filter(isVisible)) {
  if (box.scrollWidth > box.clientWidth && box.tabIndex !== 0) blame(box, "scrolls without focus");
}
return problems;
