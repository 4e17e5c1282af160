// Elements without markup: every text becomes a text node, so that a name from Kafka is never anything else.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, unknown>} Attributes */

/**
 * An element: h("a.name", { href, onclick }, "text", child).
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T | `${T}.${string}`} what tag and classes
 * @param {Attributes | null} [attributes] `on...` are listeners; null and false leave an attribute out
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(what, attributes, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = /** @type {HTMLElementTagNameMap[T]} */ (document.createElement(tag));
  if (classes.length) element.className = classes.join(" ");
  return fill(element, attributes, children);
}

/**
 * An element of a drawing.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T | `${T}.${string}`} what
 * @param {Attributes | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(what, attributes, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = /** @type {SVGElementTagNameMap[T]} */ (document.createElementNS(SVG, tag));
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return fill(element, attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes | null | undefined} attributes
 * @param {(Child | Child[])[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  return children.flat().filter((each) => each !== null && each !== undefined && each !== false).map((each) =>
    each instanceof Node ? each : String(each)
  );
}

/**
 * Other children in place of those that are there.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function put(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Set a text only where it is another one: what does not change is not painted again.
 * @param {Node} node
 * @param {string | number} text
 */
export function say(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/**
 * Set an attribute only where it is another one; null removes it.
 * @param {Element} element
 * @param {string} name
 * @param {string | number | null} value
 */
export function set(element, name, value) {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, String(value));
  }
}
